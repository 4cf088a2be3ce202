//! `sys.dm_os_enumerate_filesystem(folder, pattern)`: the files and folders in a folder of the
//! server and in its folders. A pattern is a name in which `*` matches any characters and `?`
//! one.

use sos::sys::{PathFacts, folder_names, path_facts};
use types::date::Moment;
use types::{DataType, Value};

use super::dm_os_file_exists::path_of;
use metadata::column::{BIGINT, BIT, Column, INT, big, bit, col, int, nv, opt, rows, shape, text};
use metadata::{Rows, Scope, SystemView};

const DATETIME2: DataType = DataType::DateTime2(7);
/// Deepest folder that is entered, and most entries that are returned.
const LEVELS_MAX: usize = 32;
const ENTRIES_MAX: usize = 100_000;

struct Entry {
    folder: String,
    name: String,
    level: usize,
    facts: PathFacts,
}

const COLUMNS: &[Column<Entry>] = &[
    opt("full_filesystem_path", nv(512), |r| text(&join(&r.folder, &r.name))),
    opt("parent_directory", nv(512), |r| text(&r.folder)),
    opt("file_or_directory_name", nv(512), |r| text(&r.name)),
    opt("level", INT, |r| int(r.level)),
    col("is_directory", BIT, |r| bit(r.facts.is_folder)),
    col("is_read_only", BIT, |r| bit(r.facts.is_read_only)),
    // Linux has none of these attributes, except for names that begin with a dot.
    col("is_system", BIT, |_| bit(false)),
    col("is_hidden", BIT, |r| bit(r.name.starts_with('.'))),
    col("has_integrity_stream", BIT, |_| bit(false)),
    col("is_temporary", BIT, |_| bit(false)),
    col("is_sparse", BIT, |_| bit(false)),
    opt("creation_time", DATETIME2, |r| time(r.facts.seconds[0])),
    opt("last_access_time", DATETIME2, |r| time(r.facts.seconds[1])),
    opt("last_write_time", DATETIME2, |r| time(r.facts.seconds[2])),
    opt("size_in_bytes", BIGINT, |r| big(r.facts.bytes)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_enumerate_filesystem",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 2,
};

fn time(seconds: Option<u64>) -> Value {
    let seconds = seconds.and_then(|seconds| i64::try_from(seconds).ok());
    seconds
        .and_then(|seconds| Moment::from_unix(seconds, 0).to_value(&DATETIME2).ok())
        .unwrap_or(Value::Null)
}

fn join(folder: &str, name: &str) -> String {
    if folder.ends_with('/') { format!("{folder}{name}") } else { format!("{folder}/{name}") }
}

fn read(scope: &Scope<'_>) -> Rows {
    let argument = |place: usize| path_of(scope.arguments.get(place));
    let (Some(folder), Some(pattern)) = (argument(0), argument(1)) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    enumerate(&folder, &pattern, 0, &mut found);
    rows(COLUMNS, found)
}

fn enumerate(folder: &str, pattern: &str, level: usize, found: &mut Vec<Entry>) {
    let mut names = folder_names(folder).unwrap_or_default();
    names.sort();
    for name in names {
        let path = join(folder, &name);
        let Some(facts) = path_facts(&path) else { continue };
        // A link may lead back: it is shown and not followed.
        let is_folder = facts.is_folder && !facts.is_link;
        if matches(name.as_bytes(), pattern.as_bytes()) && found.len() < ENTRIES_MAX {
            found.push(Entry { folder: folder.to_owned(), name, level, facts });
        }
        if is_folder && level < LEVELS_MAX && found.len() < ENTRIES_MAX {
            enumerate(&path, pattern, level + 1, found);
        }
    }
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
