//! The entries of a folder, with what is known of each.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use super::{PathFacts, SysCause, call};
use crate::sched::{Unblocked, blocking};
use crate::wait::WaitType;

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

/// Runs calls about files and folders for a request. They may block for as long as a network's file
/// system likes, so a worker hands its scheduler over for them. Not to be nested.
pub fn off_scheduler<T>(calls: impl FnOnce() -> T) -> T {
    let mut done = None;
    blocking(WaitType::PreemptiveFileOps, || {
        done = Some(calls());
        Unblocked::Now
    });
    done.expect("blocking runs its closure once")
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
