//! `OsDisk`: a [`Disk`] that is a folder of the file system, by Linux system calls.
//!
//! Each call may block the thread, so each is a wait: a worker hands its scheduler over for it.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{self, AtFlags, Dir, FallocateFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};

use super::disk::path_names;
use super::{Disk, DiskFile, DiskLock, Fd, LockError, Open, SyncMethod, SysCause, call};
use crate::sched::{Unblocked, blocking};
use crate::wait::WaitType;

/// Permissions of new files and folders: the owner's alone, because they hold the users' data.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
const FOLDER_MODE: Mode = Mode::RWXU;

/// Bytes of zeros in one write, where the file system cannot allocate.
const ZEROS: usize = 64 * 1024;

/// Direct I/O takes buffers at multiples of this address.
const DIRECT_ALIGN: usize = 4096;

/// Longest text of a lock file that is read: a process id and a line end.
const LOCK_TEXT_MAX: usize = 16;

/// A [`Disk`] in a folder of the file system. The folder is held open, so that it stays the same
/// one when it is renamed.
#[derive(Debug)]
pub struct OsDisk(Fd);

/// A file of [`OsDisk`].
#[derive(Debug)]
struct OsFile {
    fd: Fd,
    how: Open,
    /// Whether it passes the system's cache, which takes buffers at certain addresses only.
    is_direct: bool,
    wait: WaitType,
}

/// The descriptor that has the lock; closing it ends the lock.
#[derive(Debug)]
struct OsLock {
    _fd: Fd,
}

impl DiskLock for OsLock {}

/// Makes system calls as a wait. A signal that interrupts one repeats it.
fn waiting<T>(
    wait: WaitType,
    cause: SysCause,
    mut calls: impl FnMut() -> Result<T, Errno>,
) -> io::Result<T> {
    let mut done = Err(Errno::INTR);
    blocking(wait, || {
        done = call(cause, || retry_on_intr(&mut calls));
        Unblocked::Now
    });
    Ok(done?)
}

/// Makes a call of the disk that belongs to no opened file.
fn of_disk<T>(cause: SysCause, calls: impl FnMut() -> Result<T, Errno>) -> io::Result<T> {
    waiting(WaitType::IoCompletion, cause, calls)
}

/// Returns the path as the system takes it; `.` for the disk's folder.
fn checked(path: &str) -> io::Result<&str> {
    Ok(if path_names(path)?.is_empty() { "." } else { path })
}

/// Fills the buffer until the file ends; returns the number of bytes.
fn read_all(fd: &Fd, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
    let mut filled = 0;
    while filled < into.len() {
        let at = offset + filled as u64;
        match retry_on_intr(|| pread(fd, &mut into[filled..], at))? {
            0 => break,
            bytes => filled += bytes,
        }
    }
    Ok(filled)
}

fn write_all(fd: &Fd, mut offset: u64, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let written = retry_on_intr(|| pwrite(fd, bytes, offset))?;
        if written == 0 {
            // The system's contract has no such result; repeating it might never end.
            return Err(Errno::IO);
        }
        offset += written as u64;
        bytes = &bytes[written..];
    }
    Ok(())
}

/// Writes a range to the device, and waits until it is there.
fn write_range(fd: &Fd, offset: u64, len: u64) -> Result<(), Errno> {
    const FLAGS: u32 = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let number = |n: u64| i64::try_from(n).map_err(|_| Errno::INVAL);
    let (fd, offset, len) = (fd.as_fd().as_raw_fd(), number(offset)?, number(len)?);
    // SAFETY: the descriptor is open, and the call touches no memory of the process.
    let result = unsafe { libc::sync_file_range(fd, offset, len, FLAGS) };
    let error = (result != 0).then(io::Error::last_os_error);
    match error.and_then(|error| Errno::from_io_error(&error)) {
        // Where it is not allowed, as in some containers, `sync` writes everything.
        None | Some(Errno::NOSYS | Errno::PERM | Errno::SPIPE | Errno::OPNOTSUPP) => Ok(()),
        Some(error) => Err(error),
    }
}

fn byte_count(fd: &Fd) -> Result<u64, Errno> {
    // A length is never negative.
    Ok(u64::try_from(fs::fstat(fd)?.st_size).unwrap_or(0))
}

/// Bytes at an address that direct I/O accepts.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Aligned {
    fn new(len: usize) -> Self {
        let memory = vec![0; len + DIRECT_ALIGN];
        let start = memory.as_ptr().align_offset(DIRECT_ALIGN);
        Self { memory, start, len }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

/// Writes zeros from the file's end to `end`.
fn extend(fd: &Fd, end: u64) -> Result<(), Errno> {
    let mut zeros = Aligned::new(ZEROS);
    let mut at = byte_count(fd)?;
    while at < end {
        let bytes = usize::try_from(end - at).unwrap_or(ZEROS).min(ZEROS);
        write_all(fd, at, &zeros.bytes()[..bytes])?;
        at += bytes as u64;
    }
    Ok(())
}

impl OsDisk {
    /// Opens the disk in a folder that exists.
    ///
    /// # Errors
    /// The system's error: [`io::ErrorKind::NotFound`], [`io::ErrorKind::NotADirectory`].
    pub fn open(folder: &str) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = of_disk(SysCause::FileRead, || fs::open(folder, flags, Mode::empty()))?;
        Ok(Self(fd.into()))
    }

    /// Opens the disk in a folder, which is made with those above it if it does not exist.
    ///
    /// # Errors
    /// The system's error.
    pub fn make(folder: &str) -> io::Result<Self> {
        call(SysCause::FileWrite, || std::fs::create_dir_all(folder))?;
        Self::open(folder)
    }

    fn folder(&self, path: &str) -> Result<Fd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(fs::openat(&self.0, path, flags, Mode::empty())?.into())
    }

    fn is_folder(&self, path: &str) -> Result<bool, Errno> {
        let mode = fs::statat(&self.0, path, AtFlags::empty())?.st_mode;
        Ok(FileType::from_raw_mode(mode).is_dir())
    }
}

impl Disk for OsDisk {
    fn make_folder(&self, path: &str) -> io::Result<()> {
        let path = checked(path)?;
        of_disk(SysCause::FileWrite, || fs::mkdirat(&self.0, path, FOLDER_MODE))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let path = checked(folder)?;
        let mut names = of_disk(SysCause::FileRead, || {
            let entries = Dir::read_from(self.folder(path)?)?;
            entries.map(|entry| Ok(entry?.file_name().to_owned())).collect::<Result<Vec<_>, _>>()
        })?;
        names.retain(|name| ![&b"."[..], b".."].contains(&name.to_bytes()));
        names.sort();
        let text = |name: std::ffi::CString| {
            name.into_string().map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
        };
        names.into_iter().map(text).collect()
    }

    fn open_with(
        &self,
        path: &str,
        how: Open,
        sync: SyncMethod,
        wait: WaitType,
    ) -> io::Result<Box<dyn DiskFile>> {
        let path = checked(path)?;
        // Without NONBLOCK, opening a pipe would wait for its writer. Files do not heed it.
        let flags = OFlags::CLOEXEC | OFlags::NONBLOCK;
        let flags = match sync {
            SyncMethod::Fdatasync => flags,
            SyncMethod::Dsync => flags | OFlags::DSYNC,
            SyncMethod::DirectDsync => flags | OFlags::DSYNC | OFlags::DIRECT,
        };
        let (cause, flags) = match how {
            Open::Read => (SysCause::FileRead, flags | OFlags::RDONLY),
            Open::Write => (SysCause::FileRead, flags | OFlags::RDWR),
            Open::Create => {
                (SysCause::FileWrite, flags | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
            }
        };
        let fd = waiting(wait, cause, || {
            let fd = Fd::from(fs::openat(&self.0, path, flags, FILE_MODE)?);
            match FileType::from_raw_mode(fs::fstat(&fd)?.st_mode) {
                FileType::RegularFile => Ok(fd),
                FileType::Directory => Err(Errno::ISDIR),
                _ => Err(Errno::INVAL),
            }
        })?;
        let is_direct = sync == SyncMethod::DirectDsync;
        Ok(Box::new(OsFile { fd, how, is_direct, wait }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (checked(from)?, checked(to)?);
        of_disk(SysCause::FileWrite, || {
            // The system would rename folders as well, where this trait has files alone.
            if self.is_folder(from)? || to == "." {
                return Err(Errno::ISDIR);
            }
            match fs::renameat(&self.0, from, &self.0, to) {
                // The target is a folder above the file.
                Err(Errno::NOTEMPTY) => Err(Errno::ISDIR),
                done => done,
            }
        })
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let path = checked(path)?;
        of_disk(SysCause::FileWrite, || fs::unlinkat(&self.0, path, AtFlags::empty()))
    }

    fn remove_folder(&self, path: &str) -> io::Result<()> {
        let path = checked(path)?;
        of_disk(SysCause::FileWrite, || fs::unlinkat(&self.0, path, AtFlags::REMOVEDIR))
    }

    fn sync_folder(&self, path: &str) -> io::Result<()> {
        let path = checked(path)?;
        of_disk(SysCause::FileSync, || fs::fsync(&self.folder(path)?))
    }

    fn lock(&self, path: &str) -> Result<Box<dyn DiskLock>, LockError> {
        let path = checked(path)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let (fd, is_free) = of_disk(SysCause::FileWrite, || {
            let fd = Fd::from(fs::openat(&self.0, path, flags, FILE_MODE)?);
            match fs::flock(&fd, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => Ok((fd, true)),
                Err(Errno::WOULDBLOCK) => Ok((fd, false)),
                Err(error) => Err(error),
            }
        })?;
        if !is_free {
            let mut text = [0; LOCK_TEXT_MAX];
            let bytes = of_disk(SysCause::FileRead, || read_all(&fd, 0, &mut text))?;
            let text = str::from_utf8(&text[..bytes]).ok();
            return Err(LockError::Held(text.and_then(|text| text.trim_end().parse().ok())));
        }
        let text = format!("{}\n", std::process::id());
        of_disk(SysCause::FileWrite, || {
            write_all(&fd, 0, text.as_bytes())?;
            fs::ftruncate(&fd, text.len() as u64)
        })?;
        Ok(Box::new(OsLock { _fd: fd }))
    }
}

impl OsFile {
    /// Makes calls that change the file, if it is open for that.
    fn change(&self, calls: impl FnMut() -> Result<(), Errno>) -> io::Result<()> {
        match self.how {
            Open::Read => Err(io::ErrorKind::PermissionDenied.into()),
            Open::Write | Open::Create => waiting(self.wait, SysCause::FileWrite, calls),
        }
    }
}

impl DiskFile for OsFile {
    fn len(&self) -> io::Result<u64> {
        waiting(self.wait, SysCause::FileRead, || byte_count(&self.fd))
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        if self.is_direct {
            let mut aligned = Aligned::new(into.len());
            let bytes = aligned.bytes();
            let read = waiting(self.wait, SysCause::FileRead, || {
                // A file's end need not be a multiple of a block, so one call reads up to it.
                retry_on_intr(|| pread(&self.fd, &mut *bytes, offset))
            })?;
            into[..read].copy_from_slice(&bytes[..read]);
            return Ok(read);
        }
        waiting(self.wait, SysCause::FileRead, || read_all(&self.fd, offset, into))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.is_direct && !bytes.as_ptr().addr().is_multiple_of(DIRECT_ALIGN) {
            let mut aligned = Aligned::new(bytes.len());
            aligned.bytes().copy_from_slice(bytes);
            return self.change(|| write_all(&self.fd, offset, aligned.bytes()));
        }
        self.change(|| write_all(&self.fd, offset, bytes))
    }

    fn sync(&self) -> io::Result<()> {
        waiting(self.wait, SysCause::FileSync, || fs::fdatasync(&self.fd))
    }

    fn write_back(&self, offset: u64, len: u64) -> io::Result<()> {
        waiting(self.wait, SysCause::FileWrite, || write_range(&self.fd, offset, len))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(|| fs::ftruncate(&self.fd, len))
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        self.change(|| match fs::fallocate(&self.fd, FallocateFlags::empty(), offset, len) {
            Err(Errno::OPNOTSUPP) => extend(&self.fd, offset.saturating_add(len)),
            done => done,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `allocate` does where the file system has no such call.
    #[test]
    fn zeros_extend_a_file_whose_file_system_cannot_allocate() {
        let path = std::env::temp_dir().join(format!("sos-extend-{}", std::process::id()));
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let fd = Fd::from(fs::open(&path, flags, FILE_MODE).unwrap());
        fs::unlink(&path).unwrap();
        write_all(&fd, 0, b"abc").unwrap();
        let end = 2 * ZEROS as u64 + 1;
        extend(&fd, end).unwrap();
        extend(&fd, 1).unwrap();
        assert_eq!(byte_count(&fd).unwrap(), end, "it is never cut");
        let mut bytes = vec![1; 3 * ZEROS];
        assert_eq!(read_all(&fd, 0, &mut bytes).unwrap() as u64, end);
        assert_eq!(&bytes[..4], b"abc\0");
        assert!(bytes[4..=2 * ZEROS].iter().all(|byte| *byte == 0));
    }
}
