//! Files: written or read from front to back, or read at any offset; folders; and files that get
//! their name only when they are complete.

use std::fs::{self, DirEntry, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{PathFacts, SysCause, call};

/// A new file that is written from front to back.
#[derive(Debug)]
pub(crate) struct FileWriter(File);

impl FileWriter {
    /// Creates a file, which must not exist yet.
    pub(crate) fn create(path: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        call(SysCause::FileWrite, || options.open(path)).map(Self)
    }

    /// Appends all of `bytes`.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        call(SysCause::FileWrite, || self.0.write_all(bytes))
    }
}

/// A file that is read from front to back.
#[derive(Debug)]
pub(crate) struct FileReader(File);

impl FileReader {
    /// Opens a file at its start.
    pub(crate) fn open(path: &str) -> io::Result<Self> {
        call(SysCause::FileRead, || OpenOptions::new().read(true).open(path)).map(Self)
    }

    /// Reads until the buffer is full or the file ends; returns the number of bytes.
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

/// A file that can be read at any offset.
#[derive(Debug)]
pub struct RandomReader {
    file: File,
    len: u64,
}

impl RandomReader {
    /// Opens a file; its length is the present one.
    ///
    /// # Errors
    /// The error that the system reports; [`io::ErrorKind::InvalidInput`] for a folder, a pipe or
    /// the like.
    pub fn open(path: &str) -> io::Result<Self> {
        call(SysCause::FileRead, || {
            let metadata = fs::metadata(path)?;
            if !metadata.is_file() {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            Ok(Self { file: OpenOptions::new().read(true).open(path)?, len: metadata.len() })
        })
    }

    /// Returns the length in bytes that it had when it was opened.
    #[must_use]
    pub const fn byte_count(&self) -> u64 {
        self.len
    }

    /// Fills `into` with the bytes from `offset` on.
    ///
    /// # Errors
    /// The error that the system reports; [`io::ErrorKind::UnexpectedEof`] if the file ends before.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        call(SysCause::FileRead, || self.file.read_exact_at(into, offset))
    }
}

/// Returns the names in a folder, in no order.
///
/// # Errors
/// The error that the system reports.
pub fn folder_names(path: &str) -> io::Result<Vec<String>> {
    call(SysCause::FileRead, || {
        let entries = fs::read_dir(path)?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    })
}

/// A name in a folder.
#[derive(Clone, Debug)]
pub struct FolderEntry {
    /// The name. Bytes that are not UTF-8 are shown by U+FFFD.
    pub name: String,
    /// The path, as the system takes it.
    pub path: PathBuf,
    /// What is at the path.
    pub facts: PathFacts,
}

/// The entries of a folder, as far as they were read.
#[derive(Clone, Debug, Default)]
pub struct FolderEntries {
    /// The entries, in no order.
    pub entries: Vec<FolderEntry>,
    /// Whether the folder may have more: `most` was reached, or `stops` ended the reading.
    pub is_cut: bool,
}

/// Reads at most `most` entries of a folder. Before each, `stops` says whether to end early. Entries
/// that disappear in between are left out.
///
/// # Errors
/// The error that the system reports for the folder.
pub fn folder_entries(
    path: &Path,
    most: usize,
    stops: &dyn Fn() -> bool,
) -> io::Result<FolderEntries> {
    call(SysCause::FileRead, || {
        let mut read = FolderEntries::default();
        for entry in fs::read_dir(path)? {
            if read.entries.len() >= most || stops() {
                read.is_cut = true;
                break;
            }
            read.entries.extend(with_facts(&entry?));
        }
        Ok(read)
    })
}

/// Returns an entry with its facts; those of a link are of what it leads to, if that is there.
fn with_facts(entry: &DirEntry) -> Option<FolderEntry> {
    let path = entry.path();
    let own = entry.metadata().ok()?;
    let is_link = own.is_symlink();
    let found = if is_link { fs::metadata(&path).unwrap_or(own) } else { own };
    let name = entry.file_name().to_string_lossy().into_owned();
    Some(FolderEntry { name, path, facts: PathFacts::new(&found, is_link) })
}

/// Returns the absolute path of a file or folder that exists, without links.
///
/// # Errors
/// The error that the system reports.
pub fn real_path(path: &str) -> io::Result<std::path::PathBuf> {
    call(SysCause::FileRead, || fs::canonicalize(path))
}

/// Returns whether the path is a folder.
#[must_use]
pub fn is_folder(path: &str) -> bool {
    call(SysCause::FileRead, || fs::metadata(path).is_ok_and(|metadata| metadata.is_dir()))
}

/// Creates a folder and its missing parents; returns whether it is new.
///
/// # Errors
/// The error that the system reports.
pub fn make_folder(path: &str) -> io::Result<bool> {
    if is_folder(path) {
        return Ok(false);
    }
    call(SysCause::FileWrite, || fs::create_dir_all(path)).map(|()| true)
}

/// Removes an empty folder.
///
/// # Errors
/// The error that the system reports.
pub fn remove_folder(path: &str) -> io::Result<()> {
    call(SysCause::Control, || fs::remove_dir(path))
}

/// A file that appears under its name only when it is complete: until then it has a temporary name,
/// and without [`Self::keep`] it is deleted when dropped.
#[derive(Debug)]
pub struct NewFile {
    file: FileWriter,
    /// The folder, and below the path of the file until it is kept.
    folder: String,
    temporary: String,
    kept: bool,
}

impl NewFile {
    /// Creates a file in a folder, with a temporary name.
    ///
    /// # Errors
    /// The error that the system reports; [`io::ErrorKind::AlreadyExists`] if the name is taken.
    pub fn begin(folder: &str, name: &str) -> io::Result<Self> {
        let temporary = format!("{folder}/{name}");
        let file = FileWriter::create(&temporary)?;
        Ok(Self { file, folder: folder.to_owned(), temporary, kept: false })
    }

    /// Appends all of `bytes`.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write(bytes)
    }

    /// Makes the contents durable and gives the file its name.
    ///
    /// # Errors
    /// The error that the system reports; the file is deleted then.
    pub fn keep(mut self, name: &str) -> io::Result<()> {
        call(SysCause::FileSync, || self.file.0.sync_all())?;
        let path = format!("{}/{name}", self.folder);
        call(SysCause::FileWrite, || fs::rename(&self.temporary, path))?;
        self.kept = true;
        // The name is durable once the folder is.
        call(SysCause::FileSync, || File::open(&self.folder)?.sync_all())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.kept {
            // An error here is not reported: the code that drops the file already has one.
            drop(remove_file(&self.temporary));
        }
    }
}

/// Deletes a file.
///
/// # Errors
/// The error that the system reports.
pub fn remove_file(path: &str) -> io::Result<()> {
    call(SysCause::Control, || fs::remove_file(path))
}

/// The number of the CPU that the calling thread is on. Does not enter the kernel.
pub(crate) fn cpu_number() -> u32 {
    // SAFETY: the call has no arguments and no side effects.
    let number = unsafe { libc::sched_getcpu() };
    u32::try_from(number).unwrap_or(0)
}
