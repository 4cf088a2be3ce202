//! The walk over a folder and the folders in it, for `sys.dm_os_enumerate_filesystem` and
//! `xp_dirtree`.
//!
//! A worker hands its scheduler over while a folder is read. KILL and attentions end the walk between
//! two names. What is too large is an error: a list that is cut off in silence would be taken for
//! the whole. A folder that may not be read, or has gone, is listed without its content.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use sos::sys::{FolderEntries, FolderEntry, PathFacts, folder_entries, off_scheduler};
use types::{Error, Result};

use session::stop::cancelled;

/// Most names that a walk looks at, whether they match or not.
const NAMES_MAX: usize = if cfg!(test) { 60 } else { 1_000_000 };
/// Most names that it returns.
const FOUND_MAX: usize = if cfg!(test) { 20 } else { 100_000 };
/// The number under which SQL Server reports what its procedures of files could not do.
const FAILED: i32 = 22_048;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The name of the procedure or view, for errors.
    pub asker: &'static str,
    /// The folder to begin at.
    pub folder: &'a str,
    /// A name in which `*` matches any characters and `?` one.
    pub pattern: &'a str,
    /// Number of levels of folders to read; `None` for all.
    pub levels: Option<usize>,
}

/// A file or folder that matches.
#[derive(Clone, Debug)]
pub struct Found {
    /// Path of the folder that it is in.
    pub folder: String,
    /// Its name.
    pub name: String,
    /// Number of folders between it and the first one.
    pub level: usize,
    /// What is known of it.
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
/// 22048 if more than a million names would be looked at, more than 100,000 match, or a path is
/// longer than the system allows; the error of a cancelled statement.
pub fn walk(search: &Search<'_>, stops: &dyn Fn() -> bool) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    let mut left = NAMES_MAX;
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
            if found.len() == FOUND_MAX {
                let text = format!("more than {FOUND_MAX} names match '{}'", search.pattern);
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
        return Err(too_much(search, &format!("it holds more than {NAMES_MAX} names")));
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
    use std::cell::Cell;

    use super::*;

    /// A folder for one test, removed with all that is in it.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("clearway-walk-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("a folder can be made");
            Self(path)
        }

        fn text(&self) -> &str {
            self.0.to_str().expect("the path is UTF-8")
        }

        /// Makes files `file0`, `file1` .. in a folder of the place.
        fn fill(&self, folder: &str, count: usize) {
            let folder = self.0.join(folder);
            std::fs::create_dir_all(&folder).expect("a folder can be made");
            for number in 0..count {
                std::fs::write(folder.join(format!("file{number}")), "x").expect("a file is made");
            }
        }

        fn search<'a>(&'a self, pattern: &'a str, levels: Option<usize>) -> Search<'a> {
            Search { asker: "walk", folder: self.text(), pattern, levels }
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    fn names(found: &[Found]) -> Vec<(&str, usize)> {
        found.iter().map(|found| (found.name.as_str(), found.level)).collect()
    }

    #[test]
    fn patterns_match_names() {
        let is = |name: &str, pattern: &str| matches(name.as_bytes(), pattern.as_bytes());
        assert!(is("a.bak", "*") && is("a.bak", "*.bak") && is("a.bak", "?.b*"));
        assert!(is("aab", "*ab") && is("", "*") && is("abc", "a*b*c"));
        assert!(!is("a.bak", "*.trn") && !is("a", "??") && !is("abc", "a*b"));
    }

    #[test]
    fn names_come_in_order_and_levels_end_the_walk() {
        let place = Place::new("order");
        place.fill("b/c", 1);
        place.fill("a", 2);
        std::os::unix::fs::symlink("nowhere", place.0.join("link")).expect("a link is made");
        let all = walk(&place.search("*", None), &|| false).expect("it is small");
        let wanted =
            [("a", 0), ("file0", 1), ("file1", 1), ("b", 0), ("c", 1), ("file0", 2), ("link", 0)];
        assert_eq!(names(&all), wanted);
        let top = walk(&place.search("*", Some(1)), &|| false).expect("it is small");
        assert_eq!(names(&top), [("a", 0), ("b", 0), ("link", 0)]);
        let files = walk(&place.search("file?", Some(2)), &|| false).expect("it is small");
        assert_eq!(names(&files), [("file0", 1), ("file1", 1)]);
        let none = Search { folder: "/no/such/folder", ..place.search("*", None) };
        assert!(walk(&none, &|| false).expect("nothing is there").is_empty());
    }

    #[test]
    fn too_many_names_are_an_error_even_if_none_matches() {
        let place = Place::new("many");
        place.fill("a", NAMES_MAX / 2);
        let few = walk(&place.search("none", None), &|| false).expect("they are few");
        assert!(few.is_empty());
        place.fill("b", NAMES_MAX / 2);
        let error = walk(&place.search("none", None), &|| false).expect_err("they are many");
        assert_eq!(error.number, FAILED);
        assert!(error.message.contains("more than 60 names"), "{error:?}");
        let top = walk(&place.search("*", Some(1)), &|| false).expect("the first level is small");
        assert_eq!(names(&top), [("a", 0), ("b", 0)]);
    }

    #[test]
    fn too_many_matches_are_an_error() {
        let place = Place::new("matches");
        place.fill("a", FOUND_MAX);
        assert_eq!(
            walk(&place.search("file*", None), &|| false).expect("it fits").len(),
            FOUND_MAX
        );
        let error = walk(&place.search("*", None), &|| false).expect_err("the folder is one more");
        assert!(error.message.contains("more than 20 names match '*'"), "{error:?}");
    }

    #[test]
    fn a_cancelled_request_ends_the_walk_between_two_names() {
        let place = Place::new("cancelled");
        place.fill("a", 10);
        let looks = Cell::new(0);
        let stops = || {
            looks.set(looks.get() + 1);
            looks.get() > 6
        };
        let error = walk(&place.search("*", None), &stops).expect_err("it is cancelled");
        assert_eq!(error.number, session::stop::INTERNAL);
        assert!(looks.get() < 10, "it went on for {} looks", looks.get());
    }
}
