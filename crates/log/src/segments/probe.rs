//! `probe_sync`: measures the ways in which writes become durable, at start, and chooses one.
//!
//! The times decide between the methods with the system's cache. Direct writes are preferred: a flush
//! is most of what a durable commit costs, and they cost the least CPU.

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

/// Direct writes are used if they take at most this share of that method's time, in percent: they
/// cost a third less CPU, because nothing is copied to the cache of the system (docs/decisions/0419).
const DIRECT_UP_TO_PERCENT: u64 = 150;

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

/// Returns direct writes if they are not much slower than the best other method, which is the usual one
/// unless another wins clearly.
fn choose(median_ns: &[Option<u64>; SyncMethod::ALL.len()]) -> SyncMethod {
    let [usual, dsync, direct] = *median_ns;
    let takes_at_most = |one: Option<u64>, percent: u64, other: Option<u64>| {
        one.zip(other).is_some_and(|(one, other)| one * 100 <= other * percent)
    };
    let (buffered, buffered_ns) = match takes_at_most(dsync, WINS_BELOW_PERCENT, usual) {
        true => (SyncMethod::Dsync, dsync),
        false => (SyncMethod::Fdatasync, usual),
    };
    match takes_at_most(direct, DIRECT_UP_TO_PERCENT, buffered_ns) {
        true => SyncMethod::DirectDsync,
        false => buffered,
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
    fn direct_writes_are_used_unless_they_are_much_slower() {
        let cases = [
            ([Some(100), Some(80), Some(150)], SyncMethod::DirectDsync),
            ([Some(100), Some(80), Some(151)], SyncMethod::Fdatasync),
            ([Some(100), Some(75), Some(112)], SyncMethod::DirectDsync),
            ([Some(100), Some(75), Some(113)], SyncMethod::Dsync),
            ([Some(100), Some(76), None], SyncMethod::Fdatasync),
            ([Some(100), Some(60), None], SyncMethod::Dsync),
            ([Some(100), None, None], SyncMethod::Fdatasync),
            ([None, Some(1), None], SyncMethod::Fdatasync),
        ];
        for (median_ns, expected) in cases {
            assert_eq!(choose(&median_ns), expected, "{median_ns:?}");
        }
    }
}
