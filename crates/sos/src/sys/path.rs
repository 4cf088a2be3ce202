//! What the file system reports about a path: whether it is there, what it is, and how much space
//! is free.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{SysCause, call};

/// A file or folder.
#[derive(Clone, Debug)]
pub struct PathFacts {
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Whether the path is a symbolic link; the other facts are those of what it leads to.
    pub is_link: bool,
    /// Whether it may not be written.
    pub is_read_only: bool,
    /// Length of a file in bytes.
    pub bytes: u64,
    /// Seconds since 1970 of its creation, last access and last change, as far as they are known.
    pub seconds: [Option<u64>; 3],
}

/// Returns what is at a path; `None` if nothing is, or it may not be seen.
#[must_use]
pub fn path_facts(path: &str) -> Option<PathFacts> {
    let found = call(SysCause::FileRead, || fs::metadata(path)).ok()?;
    let is_link = call(SysCause::FileRead, || fs::symlink_metadata(path))
        .is_ok_and(|found| found.is_symlink());
    let seconds = |time: std::io::Result<SystemTime>| {
        Some(time.ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs())
    };
    Some(PathFacts {
        is_folder: found.is_dir(),
        is_link,
        is_read_only: found.permissions().readonly(),
        bytes: if found.is_dir() { 0 } else { found.len() },
        seconds: [seconds(found.created()), seconds(found.accessed()), seconds(found.modified())],
    })
}

/// Returns the bytes that are free for this process on the file system of a path.
#[must_use]
pub fn free_bytes(path: &str) -> Option<u64> {
    let found = call(SysCause::FileRead, || rustix::fs::statvfs(path)).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}
