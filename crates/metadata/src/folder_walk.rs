//! The walk over a folder and the folders in it, for `sys.dm_os_enumerate_filesystem` and
//! `xp_dirtree`.
//!
//! A worker hands its scheduler over while a folder is read. KILL and attentions end the walk between
//! two names. What is too large is an error: a list that is cut off in silence would be taken for
//! the whole. A folder that may not be read, or has gone, is listed without its content.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use sos::sched::{Unblocked, blocking};
use sos::sys::{FolderEntries, FolderEntry, PathFacts, folder_entries};
use sos::wait::WaitType;
use types::{Error, Result};

use session::stop::cancelled;

/// The number under which SQL Server reports what its procedures of files could not do.
const FAILED: i32 = 22_048;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The name of the procedure or view, for errors.
    pub asker: &'static str,
    /// The folder that the walk begins at.
    pub folder: &'a str,
    /// A name in which `*` matches any characters and `?` one.
    pub pattern: &'a str,
    /// Number of levels of folders to read; `None` for all.
    pub levels: Option<usize>,
    /// Beyond these it fails.
    pub bounds: Bounds,
}

/// How much a walk may do.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Most names that it looks at, whether they match or not.
    pub names: usize,
    /// Most names that it returns.
    pub found: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { names: 1_000_000, found: 100_000 }
    }
}

/// A file or folder that matches.
#[derive(Clone, Debug)]
pub struct Found {
    /// Path of the folder that it is in.
    pub folder: String,
    /// Its name in that folder.
    pub name: String,
    /// Number of folders between it and the first one.
    pub level: usize,
    /// What is known of the file or folder.
    pub facts: PathFacts,
}

/// A folder whose entries are being looked at.
struct Open {
    path: String,
    entries: IntoIter<FolderEntry>,
}

/// Returns what matches, in the order of names, the content of a folder after the folder. `stops`
/// says whether the request is cancelled.
///
/// # Errors
/// 22048 for more names than the bounds allow, or a path that is longer than the system allows; the
/// error of a cancelled statement.
pub fn walk(search: &Search<'_>, stops: &dyn Fn() -> bool) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    let mut left = search.bounds.names;
    let first = PathBuf::from(search.folder);
    let mut open = vec![read(search, &first, search.folder, &mut left, stops)?];
    while let Some(level) = open.len().checked_sub(1) {
        let Some(FolderEntry { name, path, facts }) = open[level].entries.next() else {
            open.pop();
            continue;
        };
        let shown = join(&open[level].path, &name);
        // A link may lead back: it is shown and not followed.
        let is_entered = facts.is_folder && !facts.is_link;
        if matches(name.as_bytes(), search.pattern.as_bytes()) {
            if found.len() == search.bounds.found {
                let most = search.bounds.found;
                let text = format!("more than {most} names match '{}'", search.pattern);
                return Err(too_much(search, &text));
            }
            found.push(Found { folder: open[level].path.clone(), name, level, facts });
        }
        if is_entered && search.levels.is_none_or(|levels| level + 1 < levels) {
            open.push(read(search, &path, &shown, &mut left, stops)?);
        }
    }
    Ok(found)
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

/// Reads a folder, away from the scheduler. `left` is the number of names that may still be read.
fn read(
    search: &Search<'_>,
    path: &Path,
    shown: &str,
    left: &mut usize,
    stops: &dyn Fn() -> bool,
) -> Result<Open> {
    if stops() {
        return Err(cancelled());
    }
    let read = off_scheduler(|| folder_entries(path, *left, stops));
    let FolderEntries { mut entries, is_cut } = match read {
        Ok(read) => read,
        Err(error) if error.kind() == ErrorKind::InvalidFilename => {
            return Err(too_much(search, &format!("the path '{shown}' is too long")));
        }
        Err(_) => FolderEntries::default(),
    };
    if stops() {
        return Err(cancelled());
    }
    if is_cut {
        return Err(too_much(search, &format!("it holds more than {} names", search.bounds.names)));
    }
    *left -= entries.len();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Open { path: shown.to_owned(), entries: entries.into_iter() })
}

fn too_much(search: &Search<'_>, why: &str) -> Error {
    let Search { asker, folder, .. } = search;
    let text = format!(
        "{asker}() did not list '{folder}' to its end, because {why}. Name a smaller folder or \
         fewer levels."
    );
    Error::custom(FAILED, 16, 1, text)
}

/// Returns the path of a name in a folder.
#[must_use]
pub fn join(folder: &str, name: &str) -> String {
    if folder.ends_with('/') { format!("{folder}{name}") } else { format!("{folder}/{name}") }
}

/// Returns whether a name matches a pattern.
fn matches(name: &[u8], pattern: &[u8]) -> bool {
    let (mut at, mut place) = (0, 0);
    // Where the last `*` is, and how far it has reached in the name.
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        match pattern.get(place) {
            Some(b'*') => {
                star = Some((place, at));
                place += 1;
            }
            Some(b'?') => (at, place) = (at + 1, place + 1),
            Some(byte) if *byte == name[at] => (at, place) = (at + 1, place + 1),
            _ => match star {
                Some((of, reached)) => {
                    star = Some((of, reached + 1));
                    (at, place) = (reached + 1, of + 1);
                }
                None => return false,
            },
        }
    }
    pattern[place..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_names() {
        let is = |name: &str, pattern: &str| matches(name.as_bytes(), pattern.as_bytes());
        assert!(is("a.bak", "*") && is("a.bak", "*.bak") && is("a.bak", "?.b*"));
        assert!(is("aab", "*ab") && is("", "*") && is("abc", "a*b*c"));
        assert!(!is("a.bak", "*.trn") && !is("a", "??") && !is("abc", "a*b"));
    }
}
