//! `DiskCounts`: counts reads and writes of the files of the log and of checkpoints, for
//! `sys.dm_io_virtual_file_stats`. It is a hook around a database's disk.

use std::io;
use std::sync::Arc;

use sos::clock;
use sos::sync::{AtomicU64, Ordering};
use sos::sys::Disk;

use crate::folder::LOG;
use crate::hooked_disk::{DiskCall, DiskHook, HookedCall, HookedDisk};

/// Reads and writes of a database's files since the start.
#[derive(Debug, Default)]
pub struct DiskCounts {
    /// Counts of the files of the log.
    pub log: FileCounts,
    /// Counts of all other files: those of checkpoints.
    pub data: FileCounts,
}

/// Reads and writes of some files.
#[derive(Debug, Default)]
pub struct FileCounts {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    read_ticks: AtomicU64,
    writes: AtomicU64,
    written_bytes: AtomicU64,
    write_ticks: AtomicU64,
    errors: AtomicU64,
}

/// A reading of [`FileCounts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSums {
    /// Number of reads that succeeded.
    pub reads: u64,
    /// Bytes that the reads returned.
    pub read_bytes: u64,
    /// Time that they took, in ns.
    pub read_ns: u64,
    /// Number of writes that succeeded.
    pub writes: u64,
    /// Bytes that the writes wrote.
    pub written_bytes: u64,
    /// Time that they took, and the syncs that made them durable, in ns.
    pub write_ns: u64,
    /// Number of reads, writes and syncs that failed.
    pub errors: u64,
}

impl DiskCounts {
    /// Returns the sums over all files.
    #[must_use]
    pub fn sum(&self) -> FileSums {
        let (log, data) = (self.log.read(), self.data.read());
        FileSums {
            reads: log.reads + data.reads,
            read_bytes: log.read_bytes + data.read_bytes,
            read_ns: log.read_ns + data.read_ns,
            writes: log.writes + data.writes,
            written_bytes: log.written_bytes + data.written_bytes,
            write_ns: log.write_ns + data.write_ns,
            errors: log.errors + data.errors,
        }
    }
}

impl FileCounts {
    /// Returns the counts so far.
    #[must_use]
    pub fn read(&self) -> FileSums {
        // Relaxed, here and below: statistics, which order nothing.
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        FileSums {
            reads: of(&self.reads),
            read_bytes: of(&self.read_bytes),
            read_ns: clock::ticks_to_ns(of(&self.read_ticks)),
            writes: of(&self.writes),
            written_bytes: of(&self.written_bytes),
            write_ns: clock::ticks_to_ns(of(&self.write_ticks)),
            errors: of(&self.errors),
        }
    }

    fn time<T>(&self, ticks: &AtomicU64, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let began = clock::now_ticks();
        let done = call();
        add(ticks, clock::now_ticks().saturating_sub(began));
        if done.is_err() {
            add(&self.errors, 1);
        }
        done
    }
}

fn add(count: &AtomicU64, n: u64) {
    count.fetch_add(n, Ordering::Relaxed);
}

fn bytes(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

impl DiskCounts {
    /// Puts counts around a disk.
    pub(crate) fn around(disk: Arc<dyn Disk>) -> (Arc<dyn Disk>, Arc<Self>) {
        let counts = Arc::<Self>::default();
        (Arc::new(HookedDisk::new(disk, Arc::clone(&counts))), counts)
    }
}

impl DiskHook for DiskCounts {
    fn around(
        &self,
        call: HookedCall<'_>,
        run: &mut dyn FnMut() -> io::Result<usize>,
    ) -> io::Result<usize> {
        let is_log = call.path.split('/').next() == Some(LOG);
        let counts = if is_log { &self.log } else { &self.data };
        match call.call {
            DiskCall::Read => {
                let read = counts.time(&counts.read_ticks, run)?;
                add(&counts.reads, 1);
                add(&counts.read_bytes, bytes(read));
                Ok(read)
            }
            DiskCall::Write => {
                let written = counts.time(&counts.write_ticks, run)?;
                add(&counts.writes, 1);
                add(&counts.written_bytes, bytes(written));
                Ok(written)
            }
            DiskCall::Sync | DiskCall::WriteBack => counts.time(&counts.write_ticks, run),
            DiskCall::Open
            | DiskCall::Create
            | DiskCall::List
            | DiskCall::Len
            | DiskCall::SetLen
            | DiskCall::Allocate
            | DiskCall::MakeFolder
            | DiskCall::Rename
            | DiskCall::Remove
            | DiskCall::RemoveFolder
            | DiskCall::SyncFolder
            | DiskCall::Lock => run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use sos::sys::Open;
    use sos::wait::WaitType;

    use super::*;

    #[test]
    fn reads_and_writes_are_counted_by_folder() {
        let shared = simdisk::SimDisk::new(7);
        let (disk, counts) = DiskCounts::around(Arc::new(shared));
        disk.make_folder(LOG).expect("the disk works");
        let log = disk.open("log/1", Open::Create, WaitType::WriteLog).expect("it is new");
        log.write_at(0, &[1; 100]).expect("the disk works");
        log.sync().expect("the disk works");
        let data = disk.open("data", Open::Create, WaitType::IoCompletion).expect("it is new");
        data.write_at(0, &[1; 10]).expect("the disk works");
        let mut into = [0; 64];
        data.read_at(0, &mut into).expect("the disk works");
        let (log, data) = (counts.log.read(), counts.data.read());
        assert_eq!((log.writes, log.written_bytes, log.reads), (1, 100, 0));
        assert_eq!((data.writes, data.written_bytes), (1, 10));
        assert_eq!((data.reads, data.read_bytes, data.errors), (1, 10, 0));
        assert_eq!(counts.sum().writes, 2);
    }
}
