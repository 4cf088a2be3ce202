//! `CountedDisk`: a disk that counts reads and writes of the files of the log and of checkpoints, for
//! `sys.dm_io_virtual_file_stats`.

use std::io;
use std::sync::Arc;

use sos::clock;
use sos::sync::{AtomicU64, Ordering};
use sos::sys::{Disk, DiskFile, DiskLock, LockError, Open, SyncMethod};
use sos::wait::WaitType;

use crate::folder::LOG;

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

/// A disk whose files are counted.
#[derive(Debug)]
pub(crate) struct CountedDisk {
    disk: Arc<dyn Disk>,
    counts: Arc<DiskCounts>,
}

/// A file of it.
#[derive(Debug)]
struct CountedFile {
    file: Box<dyn DiskFile>,
    counts: Arc<DiskCounts>,
    is_log: bool,
}

impl CountedDisk {
    pub(crate) fn new(disk: Arc<dyn Disk>) -> Self {
        Self { disk, counts: Arc::default() }
    }

    pub(crate) fn counts(&self) -> &Arc<DiskCounts> {
        &self.counts
    }
}

impl Disk for CountedDisk {
    fn make_folder(&self, path: &str) -> io::Result<()> {
        self.disk.make_folder(path)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.disk.list(folder)
    }

    fn open_with(
        &self,
        path: &str,
        how: Open,
        sync: SyncMethod,
        wait: WaitType,
    ) -> io::Result<Box<dyn DiskFile>> {
        let file = self.disk.open_with(path, how, sync, wait)?;
        let is_log = path.split('/').next() == Some(LOG);
        Ok(Box::new(CountedFile { file, counts: Arc::clone(&self.counts), is_log }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn remove_folder(&self, path: &str) -> io::Result<()> {
        self.disk.remove_folder(path)
    }

    fn sync_folder(&self, path: &str) -> io::Result<()> {
        self.disk.sync_folder(path)
    }

    fn lock(&self, path: &str) -> Result<Box<dyn DiskLock>, LockError> {
        self.disk.lock(path)
    }
}

impl CountedFile {
    fn counts(&self) -> &FileCounts {
        if self.is_log { &self.counts.log } else { &self.counts.data }
    }
}

impl DiskFile for CountedFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let counts = self.counts();
        let read = counts.time(&counts.read_ticks, || self.file.read_at(offset, into))?;
        add(&counts.reads, 1);
        add(&counts.read_bytes, bytes(read));
        Ok(read)
    }

    fn write_at(&self, offset: u64, from: &[u8]) -> io::Result<()> {
        let counts = self.counts();
        counts.time(&counts.write_ticks, || self.file.write_at(offset, from))?;
        add(&counts.writes, 1);
        add(&counts.written_bytes, bytes(from.len()));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let counts = self.counts();
        counts.time(&counts.write_ticks, || self.file.sync())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        self.file.allocate(offset, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_are_counted_by_folder() {
        let shared = simdisk::SimDisk::new(7);
        let disk = CountedDisk::new(Arc::new(shared));
        disk.make_folder(LOG).expect("the disk works");
        let log = disk.open("log/1", Open::Create, WaitType::WriteLog).expect("it is new");
        log.write_at(0, &[1; 100]).expect("the disk works");
        log.sync().expect("the disk works");
        let data = disk.open("data", Open::Create, WaitType::IoCompletion).expect("it is new");
        data.write_at(0, &[1; 10]).expect("the disk works");
        let mut into = [0; 64];
        data.read_at(0, &mut into).expect("the disk works");
        let (log, data) = (disk.counts().log.read(), disk.counts().data.read());
        assert_eq!((log.writes, log.written_bytes, log.reads), (1, 100, 0));
        assert_eq!((data.writes, data.written_bytes), (1, 10));
        assert_eq!((data.reads, data.read_bytes, data.errors), (1, 10, 0));
        assert_eq!(disk.counts().sum().writes, 2);
    }
}
