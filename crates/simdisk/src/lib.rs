//! A simulated disk: a [`Disk`] in memory on which a test cuts the power and injects faults.
//!
//! What it does depends on its seed and on the calls alone, so a failure is repeated by its seed,
//! as long as one thread calls at a time. No server contains this crate.
//!
//! ```
//! use simdisk::SimDisk;
//! use sos::sys::{Disk, Open};
//! use sos::wait::WaitType;
//!
//! let disk = SimDisk::new(7);
//! let file = disk.open("log", Open::Create, WaitType::WriteLog).unwrap();
//! file.write_at(0, b"batch").unwrap();
//! file.sync().unwrap();
//! disk.sync_folder("").unwrap();
//! file.write_at(5, b"lost, or not").unwrap();
//! disk.crash();
//! assert!(file.sync().is_err());
//! disk.restart();
//! assert!(disk.files()["log"].as_ref().unwrap().starts_with(b"batch"));
//! ```
//!
//! | to test                          | call                                                       |
//! |----------------------------------|------------------------------------------------------------|
//! | a power loss now, or in a call   | [`SimDisk::crash`], [`SimDisk::crash_at`], then `restart`  |
//! | kill -9                          | [`SimDisk::kill`], then `restart`: no change is lost       |
//! | a call that fails with EIO       | [`SimDisk::fail`]                                          |
//! | a full disk                      | [`SimDisk::set_room`]                                      |
//! | decay of what was durable        | [`SimDisk::flip_bit`]                                      |
//! | a disk that does not answer      | [`SimDisk::hold_reads`]                                    |
//! | what is on the disk now          | [`SimDisk::files`]                                         |
//! | what was called, for a message   | [`SimDisk::trace`]                                         |
//!
//! # What a power loss keeps
//!
//! - Of a file, what was synced. Of the later changes none, all, the first ones with the last of
//!   them torn, or for each sector of 512 bytes and for the length another number of them. Each
//!   byte was written there at some time, or is a zero.
//! - Of a folder, the names that `sync_folder` made durable. Of the later changes any.
//!
//! So after a file's `sync` alone its name may be gone, and after a rename from one folder to
//! another the file may have both names or none, until both folders are synced.
//!
//! # What is not modelled
//!
//! Time: no call waits but for [`SimDisk::hold_reads`], so the wait type of an opened file has no
//! meaning here. Room for names and folders. Sectors that are damaged by the power loss itself: use [`SimDisk::flip_bit`].

#![forbid(unsafe_code)]

mod contents;
mod error;
mod fault;
mod random;
mod state;
mod tree;

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use sos::lock::{SpinClass, SpinLock};
use sos::park;
use sos::sync::Arc;
use sos::sys::{Disk, DiskFile, DiskLock, LockError, Open, SyncMethod};
use sos::wait::WaitType;

pub use fault::{Call, Fault};
pub use random::Random;
use state::{Down, Made, State};
use tree::NodeId;

/// How long a read that is held sleeps between two looks.
const HOLD_PAUSE: Duration = Duration::from_millis(1);

/// A simulated disk. A clone is the same disk.
#[derive(Clone, Debug)]
pub struct SimDisk(Arc<SpinLock<State>>);

/// An open file of [`SimDisk`], in one life of the machine.
#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    node: NodeId,
    path: String,
    how: Open,
    sync: SyncMethod,
    life: u64,
}

/// A locked file of [`SimDisk`], in one life of the machine.
#[derive(Debug)]
struct SimLock {
    disk: SimDisk,
    node: NodeId,
    life: u64,
}

impl SimDisk {
    /// Creates an empty disk.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(SpinLock::new(SpinClass::ServerOther, State::new(seed))))
    }

    /// Cuts the power now: each call fails until [`Self::restart`].
    pub fn crash(&self) {
        self.0.lock().go_down(Down::Power);
    }

    /// Cuts the power in the `operation`-th [operation](Call::is_operation) from now, 1 being the
    /// next one. That one fails, and has been done, in part or not at all.
    ///
    /// # Panics
    /// For 0, which is not an operation to come.
    pub fn crash_at(&self, operation: u64) {
        assert!(operation > 0, "the first operation from now is 1");
        self.0.lock().crash_at(operation);
    }

    /// Ends the process as kill -9 does: each call fails until [`Self::restart`].
    pub fn kill(&self) {
        self.0.lock().go_down(Down::Process);
    }

    /// Returns whether the power is cut or the process ended.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.0.lock().is_down()
    }

    /// Starts the machine again, as a power loss leaves the disk, or the process after
    /// [`Self::kill`]. Files opened before fail from now on; locks and faults to come are gone.
    ///
    /// # Panics
    /// If neither was ended before.
    pub fn restart(&self) {
        self.0.lock().restart();
    }

    /// Lets calls fail with EIO. Several faults count calls independently.
    pub fn fail(&self, fault: Fault) {
        self.0.lock().fail(fault);
    }

    /// Sets how many bytes of room the files may take, in blocks of 4096; none for no limit. A
    /// write beyond that fails with ENOSPC, after the part for which there is room.
    pub fn set_room(&self, bytes: Option<u64>) {
        self.0.lock().set_room(bytes);
    }

    /// Returns the bytes of room that the files take.
    #[must_use]
    pub fn room_taken(&self) -> u64 {
        self.0.lock().room_taken()
    }

    /// Lets reads of files below a path wait from now on, `None` for no reads: as a disk that is slow.
    pub fn hold_reads(&self, below: Option<&str>) {
        self.0.lock().held = below.map(str::to_owned);
    }

    /// Inverts a bit of a file, in what is durable as well. The bit is 0 to 7.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; [`io::ErrorKind::InvalidInput`] if the file is shorter.
    pub fn flip_bit(&self, path: &str, offset: usize, bit: u8) -> io::Result<()> {
        self.0.lock().flip_bit(path, offset, bit)
    }

    /// Copies all files by path, and the folders, which have no bytes. After a power loss this is
    /// what was left only once [`Self::restart`] has run.
    #[must_use]
    pub fn files(&self) -> BTreeMap<String, Option<Vec<u8>>> {
        self.0.lock().files()
    }

    /// Returns how many [operations](Call::is_operation) were made so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.0.lock().operations()
    }

    /// Returns the last calls and events, a line each, the oldest first; at most 4096.
    #[must_use]
    pub fn trace(&self) -> Vec<String> {
        self.0.lock().trace()
    }
}

impl Disk for SimDisk {
    fn make_folder(&self, path: &str) -> io::Result<()> {
        let made = Made::new(Call::MakeFolder, path);
        self.0.lock().make(&made, |state| state.tree.make_folder(path), |_| ())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let made = Made::new(Call::List, folder);
        self.0.lock().make(&made, |state| state.tree.list(folder), |_| ())
    }

    fn open_with(
        &self,
        path: &str,
        how: Open,
        sync: SyncMethod,
        _: WaitType,
    ) -> io::Result<Box<dyn DiskFile>> {
        let call = match how {
            Open::Read | Open::Write => Call::Open,
            Open::Create => Call::Create,
        };
        let mut state = self.0.lock();
        let node = state.make(
            &Made::new(call, path),
            |state| match how {
                Open::Read | Open::Write => state.tree.open_file(path),
                Open::Create => state.tree.create_file(path),
            },
            |_| (),
        )?;
        let life = state.opened(node);
        drop(state);
        let (disk, path) = (self.clone(), path.to_owned());
        Ok(Box::new(SimFile { disk, node, path, how, sync, life }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let made = Made::new(Call::Rename, from).with(|| format!("to {to}"));
        self.0.lock().make(&made, |state| state.tree.rename(from, to), |_| ())
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let made = Made::new(Call::Remove, path);
        self.0.lock().make(&made, |state| state.tree.remove(path), |_| ())
    }

    fn remove_folder(&self, path: &str) -> io::Result<()> {
        let made = Made::new(Call::RemoveFolder, path);
        self.0.lock().make(&made, |state| state.tree.remove_folder(path), |_| ())
    }

    fn sync_folder(&self, path: &str) -> io::Result<()> {
        let made = Made::new(Call::SyncFolder, path);
        self.0.lock().make(
            &made,
            |state| state.tree.sync_folder(path),
            |state| {
                // A path without a folder has no names to lose.
                drop(state.tree.fail_sync_folder(path, &mut state.random));
            },
        )
    }

    fn lock(&self, path: &str) -> Result<Box<dyn DiskLock>, LockError> {
        let made = Made::new(Call::Lock, path);
        let mut state = self.0.lock();
        let node = state.make(&made, |state| state.lock(path), |_| ())??;
        let life = state.life();
        drop(state);
        Ok(Box::new(SimLock { disk: self.clone(), node, life }))
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.0.lock().unlock(self.node, self.life);
    }
}

impl DiskLock for SimLock {}

impl SimFile {
    /// Makes a call that does nothing if it fails.
    fn make<T>(
        &self,
        made: &Made<'_>,
        run: impl FnOnce(&mut State) -> io::Result<T>,
    ) -> io::Result<T> {
        self.make_or_fail(made, run, |_| ())
    }

    /// Makes a call; `fail` does what is left of it when it fails.
    fn make_or_fail<T>(
        &self,
        made: &Made<'_>,
        run: impl FnOnce(&mut State) -> io::Result<T>,
        fail: impl FnOnce(&mut State),
    ) -> io::Result<T> {
        let mut state = self.disk.0.lock();
        if state.life() != self.life {
            return Err(error::down());
        }
        state.make(made, run, fail)
    }

    fn check_writable(&self) -> io::Result<()> {
        match self.how {
            Open::Read => Err(io::ErrorKind::PermissionDenied.into()),
            Open::Write | Open::Create => Ok(()),
        }
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        self.disk.0.lock().closed(self.node, self.life);
    }
}

impl DiskFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        let made = Made::new(Call::Len, &self.path);
        self.make(&made, |state| Ok(state.tree.file(self.node).len() as u64))
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let bytes = into.len();
        let is_held = || {
            let state = self.disk.0.lock();
            state.held.as_ref().is_some_and(|below| self.path.starts_with(below))
        };
        while is_held() {
            park::sleep(HOLD_PAUSE, WaitType::IoCompletion, None);
        }
        let made = Made::new(Call::Read, &self.path).with(|| format!("at {offset}, {bytes} bytes"));
        self.make(&made, |state| Ok(state.tree.file(self.node).read(offset, into)))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.check_writable()?;
        let made = Made::new(Call::Write, &self.path)
            .with(|| format!("at {offset}, {} bytes", bytes.len()));
        self.make_or_fail(
            &made,
            |state| {
                state.write(self.node, offset, bytes)?;
                if self.sync.is_write_through() {
                    state.tree.file(self.node).sync();
                }
                Ok(())
            },
            |state| {
                let part = state.random.index(bytes.len() + 1);
                // The caller gets the device's error already.
                drop(state.write(self.node, offset, &bytes[..part]));
                if self.sync.is_write_through() {
                    state.tree.file(self.node).fail_sync(&mut state.random);
                }
            },
        )
    }

    fn sync(&self) -> io::Result<()> {
        let made = Made::new(Call::Sync, &self.path);
        self.make_or_fail(
            &made,
            |state| {
                state.tree.file(self.node).sync();
                Ok(())
            },
            |state| state.tree.file(self.node).fail_sync(&mut state.random),
        )
    }

    fn write_back(&self, offset: u64, len: u64) -> io::Result<()> {
        let made =
            Made::new(Call::WriteBack, &self.path).with(|| format!("at {offset}, {len} bytes"));
        self.make(&made, |_| Ok(()))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        let made = Made::new(Call::SetLen, &self.path).with(|| format!("to {len}"));
        self.make(&made, |state| state.tree.file(self.node).set_len(len))
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        self.check_writable()?;
        let made =
            Made::new(Call::Allocate, &self.path).with(|| format!("at {offset}, {len} bytes"));
        self.make(&made, |state| {
            let room = state.room_left();
            state.tree.file(self.node).allocate(offset, len, room)
        })
    }
}
