//! Files that are written from front to back, and read likewise.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;

use super::{SysCause, call};

/// A new file, to be written from front to back.
#[derive(Debug)]
pub(crate) struct FileWriter(File);

impl FileWriter {
    /// Makes a file that must not exist yet.
    pub(crate) fn create(path: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        call(SysCause::FileWrite, || options.open(path)).map(Self)
    }

    /// Writes all of it.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        call(SysCause::FileWrite, || self.0.write_all(bytes))
    }
}

/// A file that is read from front to back.
#[derive(Debug)]
pub(crate) struct FileReader(File);

impl FileReader {
    /// Opens it.
    pub(crate) fn open(path: &str) -> io::Result<Self> {
        call(SysCause::FileRead, || OpenOptions::new().read(true).open(path)).map(Self)
    }

    /// Reads until the buffer is full or the file ends; returns how much that is.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            match call(SysCause::FileRead, || self.0.read(&mut into[filled..])) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

/// A file of which any part can be read.
#[derive(Debug)]
pub struct RandomReader {
    file: File,
    len: u64,
}

impl RandomReader {
    /// Opens it; its length is what it has now.
    ///
    /// # Errors
    /// What the system says of it; [`io::ErrorKind::InvalidInput`] for what is no file, such as a
    /// folder or a pipe.
    pub fn open(path: &str) -> io::Result<Self> {
        call(SysCause::FileRead, || {
            let metadata = fs::metadata(path)?;
            if !metadata.is_file() {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            Ok(Self { file: OpenOptions::new().read(true).open(path)?, len: metadata.len() })
        })
    }

    /// Returns its length in bytes when it was opened.
    #[must_use]
    pub const fn byte_count(&self) -> u64 {
        self.len
    }

    /// Fills `into` with what begins at `offset`.
    ///
    /// # Errors
    /// What the system says of it; [`io::ErrorKind::UnexpectedEof`] where the file ends before.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        call(SysCause::FileRead, || self.file.read_exact_at(into, offset))
    }
}

/// The names in a folder.
///
/// # Errors
/// What the system says of it.
pub fn folder_names(path: &str) -> io::Result<Vec<String>> {
    call(SysCause::FileRead, || {
        let entries = fs::read_dir(path)?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    })
}

/// Tells whether there is a folder of this name.
#[must_use]
pub fn is_folder(path: &str) -> bool {
    call(SysCause::FileRead, || fs::metadata(path).is_ok_and(|metadata| metadata.is_dir()))
}

/// Makes a folder, with those that it lies in; tells whether it is new.
///
/// # Errors
/// What the system says of it.
pub fn make_folder(path: &str) -> io::Result<bool> {
    if is_folder(path) {
        return Ok(false);
    }
    call(SysCause::FileWrite, || fs::create_dir_all(path)).map(|()| true)
}

/// Removes a folder that has nothing in it.
///
/// # Errors
/// What the system says of it.
pub fn remove_folder(path: &str) -> io::Result<()> {
    call(SysCause::Control, || fs::remove_dir(path))
}

/// A file that others see when it is whole: until then it has another name, and without
/// [`Self::keep`] it goes.
#[derive(Debug)]
pub struct NewFile {
    file: FileWriter,
    /// The folder, and the name that it has in it until it is kept.
    folder: String,
    temporary: String,
    kept: bool,
}

impl NewFile {
    /// Makes a file in a folder; `name` is the one for now.
    ///
    /// # Errors
    /// What the system says of it; [`io::ErrorKind::AlreadyExists`] where the name is taken.
    pub fn begin(folder: &str, name: &str) -> io::Result<Self> {
        let temporary = format!("{folder}/{name}");
        let file = FileWriter::create(&temporary)?;
        Ok(Self { file, folder: folder.to_owned(), temporary, kept: false })
    }

    /// Writes all of it behind what there is.
    ///
    /// # Errors
    /// What the system says of it.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write(bytes)
    }

    /// Makes what has been written durable, and gives the file its name.
    ///
    /// # Errors
    /// What the system says of it; the file is gone then.
    pub fn keep(mut self, name: &str) -> io::Result<()> {
        call(SysCause::FileSync, || self.file.0.sync_all())?;
        let path = format!("{}/{name}", self.folder);
        call(SysCause::FileWrite, || fs::rename(&self.temporary, path))?;
        self.kept = true;
        // The name is durable when its folder is.
        call(SysCause::FileSync, || File::open(&self.folder)?.sync_all())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.kept {
            // Nobody is left to tell: who gives a file up has an error of their own.
            drop(remove_file(&self.temporary));
        }
    }
}

/// Removes a file.
///
/// # Errors
/// What the system says of it.
pub fn remove_file(path: &str) -> io::Result<()> {
    call(SysCause::Control, || fs::remove_file(path))
}

/// The number of the CPU that the calling thread is on. Does not enter the kernel.
pub(crate) fn cpu_number() -> u32 {
    // SAFETY: takes and touches nothing.
    let number = unsafe { libc::sched_getcpu() };
    u32::try_from(number).unwrap_or(0)
}
