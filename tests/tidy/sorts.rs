//! Sorts of rows let other requests run and end when their statement is cancelled.
//!
//! A sort of the standard library does neither by itself. In the crates that work on the rows of a
//! statement, each one is inside `plan::sort::interruptible`, or listed here with what bounds it.

use std::collections::BTreeSet;

use super::{root, sources};

/// Crates that work on the rows of a statement.
const CRATES: &[&str] = &["ddl", "executor", "functions", "vectorized"];

/// Files that sort otherwise, and what bounds their sorts.
const BOUNDED: &[(&str, &str)] = &[
    ("crates/ddl/src/disable.rs", "the indexes of a table"),
    ("crates/ddl/src/partition.rs", "the boundaries of a partition function"),
    ("crates/ddl/src/switch.rs", "the columns of a table"),
    ("crates/executor/src/profile.rs", "the names in a profile"),
    ("crates/executor/src/query/scan.rs", "the values of an IN list"),
    ("crates/functions/src/characters.rs", "the characters of an argument, and a table of forms"),
    ("crates/functions/src/collations.rs", "the collations"),
    ("crates/vectorized/src/kernel/list.rs", "the values of an IN list"),
    ("crates/vectorized/src/keys.rs", "the rows of a batch"),
    ("crates/vectorized/src/scan.rs", "the conditions of a scan"),
];

/// Lines above a sort in which `interruptible` is looked for.
const LINES_ABOVE: usize = 3;

#[test]
fn sorts_of_rows_can_be_interrupted() {
    let mut bounded: BTreeSet<&(&str, &str)> = BTreeSet::new();
    for (path, text) in sources() {
        let place = path.strip_prefix(root()).expect("below the root").to_string_lossy();
        let is_row_code =
            CRATES.iter().any(|name| place.starts_with(&format!("crates/{name}/src/")));
        if !is_row_code || place.ends_with("tests.rs") {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines: Vec<&str> = code.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let is_sort = line.contains(".sort_") || line.contains(".sort()");
            let above = &lines[number.saturating_sub(LINES_ABOVE)..number];
            if !is_sort || above.iter().any(|line| line.contains("interruptible")) {
                continue;
            }
            let listed = BOUNDED.iter().find(|(file, _)| *file == place);
            let line_number = number + 1;
            assert!(listed.is_some(), "{place}:{line_number}: a sort of rows is not interruptible");
            bounded.extend(listed);
        }
    }
    for entry in BOUNDED {
        assert!(bounded.contains(entry), "{} sorts nothing: take it off the list", entry.0);
    }
}
