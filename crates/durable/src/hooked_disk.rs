//! `HookedDisk`: a disk around another one, whose calls all go through one hook.
//!
//! ```text
//! caller ─► HookedDisk ─► hook: before ─► the disk's call ─► hook: after ─► caller
//! ```
//!
//! A hook counts calls, or delays or orders them in a test. It sees what is called and on which path, and
//! cannot change what the call does.

use std::{fmt, io};

use sos::sync::Arc;
use sos::sys::{Disk, DiskFile, DiskLock, LockError, Open, SyncMethod};
use sos::wait::WaitType;

/// The calls of a disk and its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskCall {
    /// Opening a file that exists.
    Open,
    /// Opening a new file.
    Create,
    /// The names in a folder.
    List,
    /// The length of a file.
    Len,
    /// Reading from a file.
    Read,
    /// Writing to a file.
    Write,
    /// Making a file durable.
    Sync,
    /// Writing a range of a file to the device, which makes nothing durable.
    WriteBack,
    /// Setting a file's length.
    SetLen,
    /// Taking room for a range of a file.
    Allocate,
    /// Creating a folder in another one.
    MakeFolder,
    /// Giving a file another name.
    Rename,
    /// Removing a file's name.
    Remove,
    /// Removing an empty folder.
    RemoveFolder,
    /// Making the names in a folder durable.
    SyncFolder,
    /// Locking a file, which may create it.
    Lock,
}

/// A call that a [`DiskHook`] is around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookedCall<'p> {
    /// Which call of the disk or the file it is.
    pub call: DiskCall,
    /// The path: of a rename the old name, of an opened file the name by which it was opened.
    pub path: &'p str,
    /// How writes of the file become durable; [`SyncMethod::Fdatasync`] where there is no file.
    pub sync: SyncMethod,
}

/// What a [`HookedDisk`] does around each call.
pub trait DiskHook: fmt::Debug + Send + Sync {
    /// Makes a call by `run`, once, and returns what that does: how many bytes were read or written, and
    /// 0 for all other calls.
    ///
    /// # Errors
    /// That of `run`. The caller gets the original one; another error counts if `run` was not called.
    fn around(
        &self,
        call: HookedCall<'_>,
        run: &mut dyn FnMut() -> io::Result<usize>,
    ) -> io::Result<usize>;
}

/// A disk with a hook around all its calls.
#[derive(Debug)]
pub struct HookedDisk<H> {
    disk: Arc<dyn Disk>,
    hook: Arc<H>,
}

/// A file of it.
#[derive(Debug)]
struct HookedFile<H> {
    file: Box<dyn DiskFile>,
    hook: Arc<H>,
    path: Box<str>,
    sync: SyncMethod,
}

/// Makes a call inside a hook. `bytes` says how many bytes it has read or written.
fn around<T, E: From<io::Error>>(
    hook: &impl DiskHook,
    call: HookedCall<'_>,
    bytes: impl Fn(&T) -> usize,
    run: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let (mut run, mut done) = (Some(run), None);
    let hooked = hook.around(call, &mut || {
        done = run.take().map(|run| run());
        match &done {
            Some(Ok(value)) => Ok(bytes(value)),
            // The error itself goes past the hook, because it may be of another type.
            Some(Err(_)) | None => Err(io::ErrorKind::Other.into()),
        }
    });
    match (done, hooked) {
        (Some(done), _) => done,
        (None, Err(error)) => Err(error.into()),
        (None, Ok(_)) => Err(io::Error::other("a hook made no call").into()),
    }
}

impl<H: DiskHook> HookedDisk<H> {
    /// Puts a hook around a disk.
    pub fn new(disk: Arc<dyn Disk>, hook: Arc<H>) -> Self {
        Self { disk, hook }
    }

    fn around<T, E: From<io::Error>>(
        &self,
        (call, path): (DiskCall, &str),
        run: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let call = HookedCall { call, path, sync: SyncMethod::Fdatasync };
        around(&*self.hook, call, |_| 0, run)
    }
}

impl<H: DiskHook + 'static> Disk for HookedDisk<H> {
    fn make_folder(&self, path: &str) -> io::Result<()> {
        self.around((DiskCall::MakeFolder, path), || self.disk.make_folder(path))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.around((DiskCall::List, folder), || self.disk.list(folder))
    }

    fn open_with(
        &self,
        path: &str,
        how: Open,
        sync: SyncMethod,
        wait: WaitType,
    ) -> io::Result<Box<dyn DiskFile>> {
        let call = match how {
            Open::Read | Open::Write => DiskCall::Open,
            Open::Create => DiskCall::Create,
        };
        let open = || self.disk.open_with(path, how, sync, wait);
        let file = around(&*self.hook, HookedCall { call, path, sync }, |_| 0, open)?;
        Ok(Box::new(HookedFile { file, hook: Arc::clone(&self.hook), path: path.into(), sync }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.around((DiskCall::Rename, from), || self.disk.rename(from, to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.around((DiskCall::Remove, path), || self.disk.remove(path))
    }

    fn remove_folder(&self, path: &str) -> io::Result<()> {
        self.around((DiskCall::RemoveFolder, path), || self.disk.remove_folder(path))
    }

    fn sync_folder(&self, path: &str) -> io::Result<()> {
        self.around((DiskCall::SyncFolder, path), || self.disk.sync_folder(path))
    }

    fn lock(&self, path: &str) -> Result<Box<dyn DiskLock>, LockError> {
        self.around((DiskCall::Lock, path), || self.disk.lock(path))
    }
}

impl<H: DiskHook> HookedFile<H> {
    fn call(&self, call: DiskCall) -> HookedCall<'_> {
        HookedCall { call, path: &self.path, sync: self.sync }
    }

    fn around<T>(&self, call: DiskCall, run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        around(&*self.hook, self.call(call), |_| 0, run)
    }
}

impl<H: DiskHook> DiskFile for HookedFile<H> {
    fn len(&self) -> io::Result<u64> {
        self.around(DiskCall::Len, || self.file.len())
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let read = || self.file.read_at(offset, into);
        around(&*self.hook, self.call(DiskCall::Read), |read| *read, read)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let write = || self.file.write_at(offset, bytes);
        around(&*self.hook, self.call(DiskCall::Write), |()| bytes.len(), write)
    }

    fn sync(&self) -> io::Result<()> {
        self.around(DiskCall::Sync, || self.file.sync())
    }

    fn write_back(&self, offset: u64, len: u64) -> io::Result<()> {
        self.around(DiskCall::WriteBack, || self.file.write_back(offset, len))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.around(DiskCall::SetLen, || self.file.set_len(len))
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        self.around(DiskCall::Allocate, || self.file.allocate(offset, len))
    }
}

#[cfg(test)]
mod tests {
    use sos::lock::{SpinClass, SpinLock};

    use super::*;

    /// Notes what is called, and refuses to remove.
    #[derive(Debug)]
    struct Noting(SpinLock<Vec<(DiskCall, String, Option<usize>)>>);

    impl DiskHook for Noting {
        fn around(
            &self,
            call: HookedCall<'_>,
            run: &mut dyn FnMut() -> io::Result<usize>,
        ) -> io::Result<usize> {
            if call.call == DiskCall::Remove {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            let done = run();
            self.0.lock().push((call.call, call.path.to_owned(), done.as_ref().ok().copied()));
            done
        }
    }

    #[test]
    fn all_calls_go_through_the_hook_and_have_their_own_results() {
        let hook = Arc::new(Noting(SpinLock::new(SpinClass::ServerOther, Vec::new())));
        let disk = HookedDisk::new(Arc::new(simdisk::SimDisk::new(7)), Arc::clone(&hook));
        disk.make_folder("f").unwrap();
        let file = disk.open("f/a", Open::Create, WaitType::IoCompletion).unwrap();
        file.write_at(0, b"three").unwrap();
        file.write_back(0, 5).unwrap();
        file.sync().unwrap();
        let mut into = [0; 9];
        assert_eq!(file.read_at(2, &mut into).unwrap(), 3);
        assert_eq!(file.len().unwrap(), 5);
        let missing = disk.open("f/b", Open::Read, WaitType::IoCompletion).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert_eq!(disk.remove("f/a").unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(disk.list("f").unwrap(), ["a"]);
        let lock = disk.lock("lock").unwrap();
        assert!(matches!(disk.lock("lock"), Err(LockError::Held(_))));
        drop(lock);
        let noted = std::mem::take(&mut *hook.0.lock());
        let noted: Vec<_> =
            noted.iter().map(|(call, path, bytes)| (*call, &**path, *bytes)).collect();
        let expected = [
            (DiskCall::MakeFolder, "f", Some(0)),
            (DiskCall::Create, "f/a", Some(0)),
            (DiskCall::Write, "f/a", Some(5)),
            (DiskCall::WriteBack, "f/a", Some(0)),
            (DiskCall::Sync, "f/a", Some(0)),
            (DiskCall::Read, "f/a", Some(3)),
            (DiskCall::Len, "f/a", Some(0)),
            (DiskCall::Open, "f/b", None),
            (DiskCall::List, "f", Some(0)),
            (DiskCall::Lock, "lock", Some(0)),
            (DiskCall::Lock, "lock", None),
        ];
        assert_eq!(noted, expected);
    }
}
