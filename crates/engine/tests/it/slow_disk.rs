//! A disk whose syncs take time, around a simulated one: as on a real device, commits and scans go on
//! while a group of the log is being written.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use simdisk::SimDisk;
use sos::park;
use sos::sys::{Disk, DiskFile, DiskLock, LockError, Open, SyncMethod};
use sos::wait::WaitType;

/// The part of the disk that is slow: the log.
const SLOW: &str = "log/";

/// A simulated disk with a slow log.
#[derive(Debug)]
pub(crate) struct SlowDisk {
    disk: SimDisk,
    sync: Duration,
}

impl SlowDisk {
    /// Wraps a disk; each sync of a file of the log takes this long.
    pub(crate) fn shared(disk: &SimDisk, sync: Duration) -> Arc<dyn Disk> {
        Arc::new(Self { disk: disk.clone(), sync })
    }
}

/// A file whose syncs take time.
#[derive(Debug)]
struct SlowFile {
    file: Box<dyn DiskFile>,
    sync: Duration,
    is_write_through: bool,
}

impl SlowFile {
    fn wait(&self) {
        park::sleep(self.sync, WaitType::WriteLog, None);
    }
}

impl Disk for SlowDisk {
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
        let is_slow = path.starts_with(SLOW);
        Ok(match is_slow {
            true => {
                let is_write_through = sync.is_write_through();
                Box::new(SlowFile { file, sync: self.sync, is_write_through })
            }
            false => file,
        })
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

impl DiskFile for SlowFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, into)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.is_write_through {
            self.wait();
        }
        self.file.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.wait();
        self.file.sync()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        self.file.allocate(offset, len)
    }
}
