//! `probe_sync`: measures the ways in which writes become durable, at start, and chooses one.

use std::io;

use sos::clock;
use sos::sys::{Disk, Open, SyncMethod, is_disk_full};
use sos::wait::WaitType;

use super::LogError;
use super::names::probe_path;
use crate::BLOCK_BYTES;

/// The most writes per method, and the fewest.
const WRITES: usize = 16;
const WRITES_MIN: usize = 2;

/// A method that has taken this long is not measured further.
const PATIENCE_NS: u64 = 5_000_000;

/// Another method is used if it takes at most this share of the usual one's time, in percent.
const WINS_BELOW_PERCENT: u64 = 75;

/// What the probe has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncProbe {
    /// The method to use.
    pub chosen: SyncMethod,
    /// The median time of a durable write of one block by each method of [`SyncMethod::ALL`]; none
    /// if the disk has no such method, or no room for the probe.
    pub median_ns: [Option<u64>; SyncMethod::ALL.len()],
}

/// Measures each method in the folder of a log. That takes the time of some fifty durable writes,
/// fewer where they are slow.
///
/// # Errors
/// [`LogError::Io`] if the disk fails with the usual method. A full disk is no error.
pub fn probe_sync(disk: &dyn Disk, folder: &str) -> Result<SyncProbe, LogError> {
    let path = probe_path(folder);
    let mut median_ns = [None; SyncMethod::ALL.len()];
    for (method, median_ns) in SyncMethod::ALL.into_iter().zip(&mut median_ns) {
        let measured = remove(disk, &path).and_then(|()| measure(disk, &path, method));
        remove(disk, &path).map_err(LogError::io(&path))?;
        match measured {
            Ok(median) => *median_ns = Some(median),
            // Another method that fails is one that the file system does not have.
            Err(error) if method == SyncMethod::Fdatasync && !is_disk_full(&error) => {
                return Err(LogError::Io { path, error });
            }
            Err(_) => {}
        }
    }
    Ok(SyncProbe { chosen: choose(&median_ns), median_ns })
}

/// Returns the fastest method if it wins clearly, else the usual one.
fn choose(median_ns: &[Option<u64>; SyncMethod::ALL.len()]) -> SyncMethod {
    let found = SyncMethod::ALL.into_iter().zip(median_ns).filter_map(|(m, ns)| Some((m, (*ns)?)));
    let fastest = found.min_by_key(|(_, ns)| *ns);
    match (fastest, median_ns[0]) {
        (Some((method, ns)), Some(usual)) if ns * 100 <= usual * WINS_BELOW_PERCENT => method,
        _ => SyncMethod::Fdatasync,
    }
}

fn remove(disk: &dyn Disk, path: &str) -> io::Result<()> {
    match disk.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns the median time of a durable write into a file whose room is taken, as a segment's is.
fn measure(disk: &dyn Disk, path: &str, method: SyncMethod) -> io::Result<u64> {
    let file = disk.open_with(path, Open::Create, method, WaitType::WriteLog)?;
    file.allocate(0, (WRITES * BLOCK_BYTES) as u64)?;
    file.sync()?;
    let block = [0x5a; BLOCK_BYTES];
    let mut times = Vec::with_capacity(WRITES);
    let until_ns = clock::monotonic_ns() + PATIENCE_NS;
    for number in 0..WRITES {
        if number >= WRITES_MIN && clock::monotonic_ns() > until_ns {
            break;
        }
        let start_ns = clock::monotonic_ns();
        file.write_at((number * BLOCK_BYTES) as u64, &block)?;
        if !method.is_write_through() {
            file.sync()?;
        }
        times.push(clock::monotonic_ns() - start_ns);
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::{SyncMethod, choose};

    #[test]
    fn another_method_has_to_win_clearly() {
        let cases = [
            ([Some(100), Some(80), Some(76)], SyncMethod::Fdatasync),
            ([Some(100), Some(80), Some(75)], SyncMethod::DirectDsync),
            ([Some(100), Some(60), None], SyncMethod::Dsync),
            ([Some(100), None, None], SyncMethod::Fdatasync),
            ([None, Some(1), None], SyncMethod::Fdatasync),
        ];
        for (median_ns, expected) in cases {
            assert_eq!(choose(&median_ns), expected, "{median_ns:?}");
        }
    }
}
