//! Runs the sqllogictest files of `tests/slt` in this process; `make slt` runs them over the wire.
//!
//! A record is lines up to a blank one: `statement ok`, `statement error NUMBER` or `query TYPES
//! [rowsort]`, the statement, and for a query a line `----` followed by one value per line. Lines
//! that begin with `#` are comments. Numbers are compared without trailing zeros of their fraction.

use std::fs;
use std::path::Path;

use engine::session::Session;

use crate::client::{batch, describe, instance, login};

#[test]
fn slt_files_give_what_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/slt");
    let (mut records, mut failures) = (0, Vec::new());
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "slt") {
            continue;
        }
        let mut session = login(&instance());
        let text = fs::read_to_string(&path).unwrap();
        for record in text.split("\n\n") {
            records += 1;
            if let Err(what) = run(&mut session, record) {
                failures.push(format!("{}: {what}\n{record}\n", path.display()));
            }
        }
    }
    assert!(records > 80, "the files have records");
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Runs one record of a file.
fn run(session: &mut Session, record: &str) -> Result<(), String> {
    let mut lines = record.lines().filter(|line| !line.starts_with('#'));
    let head: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let mut statement = String::new();
    for line in lines.by_ref().take_while(|line| *line != "----") {
        statement.push_str(line);
        statement.push('\n');
    }
    let answer = batch(session, &statement);
    let error = answer.errors.first();
    match (head.as_slice(), error) {
        (["statement", "ok"], None) => Ok(()),
        (["statement", "error", number], Some(error)) if error.number.to_string() == *number => {
            Ok(())
        }
        (["query", ..], None) => {
            let mut rows: Vec<Vec<String>> = answer.sets.first().cloned().unwrap_or_default();
            rows.iter_mut().flatten().for_each(|value| *value = shown(value));
            if head.contains(&"rowsort") {
                rows.sort();
            }
            let given: Vec<String> = rows.into_iter().flatten().collect();
            let expected: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
            match given == expected {
                true => Ok(()),
                false => Err(format!("expected {expected:?}, got {given:?}")),
            }
        }
        (_, None) => Err("no error".to_owned()),
        (_, Some(error)) => Err(describe(error)),
    }
}

/// Formats a value as in the files.
fn shown(value: &str) -> String {
    if value.is_empty() {
        return "(empty)".to_owned();
    }
    let is_fraction = value.contains('.') && value.parse::<f64>().is_ok();
    match is_fraction {
        true => value.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => value.to_owned(),
    }
}
