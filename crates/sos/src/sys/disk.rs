//! `Disk`: the seam between what makes a database durable and the files of the system.
//!
//! `OsDisk` implements it by system calls; the crate `simdisk` keeps the files in memory, and there
//! a test cuts the power and injects faults.
//!
//! A path is relative to the folder of the disk, with `/` between its names; the empty path is that
//! folder. A path that is absolute, or has an empty name, `.` or `..` in it, is
//! [`io::ErrorKind::InvalidInput`].
//!
//! # What is durable when
//!
//! | changed by                                      | survives a power loss after               |
//! |-------------------------------------------------|-------------------------------------------|
//! | `write_at`, `set_len`, `allocate`               | `sync` of the file                        |
//! | `open` with [`Open::Create`], `make_folder`     | `sync_folder` of the folder with the name |
//! | `rename`                                        | `sync_folder` of both names' folders      |
//! | `remove`, `remove_folder`                       | `sync_folder` of the folder with the name |
//!
//! In a file that was opened with a write-through [`SyncMethod`], `write_at` is durable when it
//! returns; a failed one is final, as a failed `sync` is.
//!
//! Before that a power loss may keep any part of a change, in any order: some sectors of a write
//! and not others, a rename and not the data of the file. A rename never leaves less than one of
//! the two files under the target's name.
//!
//! # Errors
//!
//! Each call may fail with what the system reports. No space, or no quota, is an error for which
//! [`is_disk_full`] is true. After a failed `write_at`, `set_len` or `allocate`, any part of it may
//! have been done. A failed `sync` is final: the system has dropped the changes that it could not
//! write, a later `sync` succeeds without them, and the file no longer holds what was written
//! ("Can Applications Recover from fsync Failures?", Rebello et al., ATC 2020). So do not repeat it.

use std::{fmt, io};

use crate::wait::WaitType;

/// What an opened file may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// Reading a file that exists. Changing it is [`io::ErrorKind::PermissionDenied`].
    Read,
    /// Reading and changing a file that exists.
    Write,
    /// As [`Self::Write`] for a new, empty file; [`io::ErrorKind::AlreadyExists`] if the name is
    /// taken.
    Create,
}

/// How the writes to a file become durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncMethod {
    /// By `sync`, after any number of writes.
    Fdatasync,
    /// Each write is durable when it returns.
    Dsync,
    /// As [`Self::Dsync`], past the cache of the system: offsets and lengths of reads and writes
    /// are multiples of 4096. Not every file system has it.
    DirectDsync,
}

impl SyncMethod {
    /// All methods, the usual one first.
    pub const ALL: [Self; 3] = [Self::Fdatasync, Self::Dsync, Self::DirectDsync];

    /// Returns the name that views show: that of the call, or of the flags of `open`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fdatasync => "fdatasync",
            Self::Dsync => "O_DSYNC",
            Self::DirectDsync => "O_DIRECT, O_DSYNC",
        }
    }

    /// Returns whether a write is durable without a `sync`.
    #[must_use]
    pub const fn is_write_through(self) -> bool {
        !matches!(self, Self::Fdatasync)
    }
}

/// The folder that a database is in, with all files and folders below it.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Creates a folder, whose parent must exist.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the name is taken, [`io::ErrorKind::NotFound`] if there
    /// is no parent.
    fn make_folder(&self, path: &str) -> io::Result<()>;

    /// Returns the names in a folder, sorted.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], [`io::ErrorKind::NotADirectory`].
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Opens a file. The file's calls, as well as this one, are booked as waits of this type:
    /// [`WaitType::WriteLog`] for a log that is written, else [`WaitType::IoCompletion`].
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], [`io::ErrorKind::IsADirectory`], and see [`Open`].
    fn open(&self, path: &str, how: Open, wait: WaitType) -> io::Result<Box<dyn DiskFile>> {
        self.open_with(path, how, SyncMethod::Fdatasync, wait)
    }

    /// As [`Self::open`], with the way in which writes become durable.
    ///
    /// # Errors
    /// As [`Self::open`]; [`io::ErrorKind::InvalidInput`] if the file system has no such method.
    fn open_with(
        &self,
        path: &str,
        how: Open,
        sync: SyncMethod,
        wait: WaitType,
    ) -> io::Result<Box<dyn DiskFile>>;

    /// Gives a file another name, in the same folder or another. A file that has the name already
    /// is replaced, at one moment. Opened files stay open.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; [`io::ErrorKind::IsADirectory`] if either name is a folder's.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file's name. Its room is free again when nothing has it open.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; [`io::ErrorKind::IsADirectory`] for a folder.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Removes an empty folder.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], [`io::ErrorKind::NotADirectory`],
    /// [`io::ErrorKind::DirectoryNotEmpty`].
    fn remove_folder(&self, path: &str) -> io::Result<()>;

    /// Makes the names in a folder durable: those that are new, changed and gone. Does not sync the
    /// files.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], [`io::ErrorKind::NotADirectory`].
    fn sync_folder(&self, path: &str) -> io::Result<()>;

    /// Locks a file, which is created if there is none, until the lock is dropped or the process
    /// ends, however it ends. The file stays: its text is the id of the process that locked it last.
    ///
    /// # Errors
    /// [`LockError::Held`] if it is locked, by this process or another.
    fn lock(&self, path: &str) -> Result<Box<dyn DiskLock>, LockError>;
}

/// A locked file of a [`Disk`]; dropping it ends the lock.
pub trait DiskLock: fmt::Debug + Send + Sync {}

/// Why a lock file could not be locked.
#[derive(Debug)]
pub enum LockError {
    /// It is locked, by the process of this id if the file's text is readable.
    Held(Option<u32>),
    /// Another error, of the system.
    Io(io::Error),
}

impl From<io::Error> for LockError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// An open file of a [`Disk`]. Threads may use it at the same time.
#[expect(clippy::len_without_is_empty, reason = "the length of a file is asked of the system")]
pub trait DiskFile: fmt::Debug + Send + Sync {
    /// Returns the length in bytes.
    ///
    /// # Errors
    /// The system's error.
    fn len(&self) -> io::Result<u64>;

    /// Fills `into` with the bytes from `offset` on and returns how many those were: fewer than
    /// `into` has room for only where the file ends, 0 at its end and beyond.
    ///
    /// # Errors
    /// The system's error; the contents of `into` are then undefined.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Writes all of `bytes`. A gap between the file's end and `offset` reads as zeros.
    ///
    /// # Errors
    /// Any part may have been written. See [`is_disk_full`].
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes the file's contents and length durable, but not its name.
    ///
    /// # Errors
    /// Final: see the top of this file.
    fn sync(&self) -> io::Result<()>;

    /// Puts a range on the device and waits for that, so that a later `sync` is short. Makes nothing durable.
    ///
    /// # Errors
    /// Final, as that of `sync`.
    fn write_back(&self, offset: u64, len: u64) -> io::Result<()>;

    /// Cuts the file, or extends it by zeros that need no room.
    ///
    /// # Errors
    /// The system's error.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Takes room for a range now, so that writing there cannot fail for lack of it. The file is
    /// extended to the range's end if it is shorter; new bytes are zeros, others stay.
    ///
    /// A file system that cannot do this writes the zeros beyond the end instead; there, a hole
    /// in front of the end gets no room, and no other thread may write beyond the end until then.
    ///
    /// # Errors
    /// See [`is_disk_full`]; [`io::ErrorKind::InvalidInput`] for an empty range.
    fn allocate(&self, offset: u64, len: u64) -> io::Result<()>;
}

/// Returns whether an error means that there is no room now, and that nothing was done: the file
/// system's, the user's quota, or no file descriptor for the file.
#[must_use]
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        || is_out_of_descriptors(error)
}

/// Returns whether an error means that the process, or the machine, has no file descriptor left.
#[must_use]
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Returns the names in a path of a [`Disk`]; none for the disk's folder.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for a path that no disk has: see the top of this file.
pub fn path_names(path: &str) -> io::Result<Vec<&str>> {
    if path.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<_> = path.split('/').collect();
    if path.contains('\0') || names.iter().any(|name| ["", ".", ".."].contains(name)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(names)
}
