//! Runs the scripts of `tests/scripts`.
//!
//! A script is blocks with a blank line between them. Each block begins with a line that says what it
//! is; the lines behind it are a batch, and where rows are expected, they follow a line `----`, with
//! ` | ` between the columns and another `----` before the next result set.
//!
//! ```text
//! feature: INSERT            names what the blocks behind it show, for docs/support.md
//! run                        must give no error
//! query                      must give these rows, in this order
//! error 2627 duplicate key   must give this error, whose text holds these words
//! count 3                    must change so many rows
//! messages                   must give these messages, one a line
//! session b                  goes on in another session (`a` is the first)
//! ```
//! Lines that begin with `--` before a block are comments.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use engine::session::Session;

use crate::client::{Answer, batch, instance, login};

#[test]
fn scripts_give_what_they_say() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts");
    let only = std::env::var("SCRIPT").unwrap_or_default();
    let mut failures = String::new();
    let mut blocks = 0;
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.contains(&only) {
            blocks += run(&name, &std::fs::read_to_string(&path).unwrap(), &mut failures);
        }
    }
    assert!(blocks > 0, "there are scripts");
    assert!(failures.is_empty(), "\n{failures}");
}

fn run(name: &str, text: &str, failures: &mut String) -> usize {
    let instance = instance();
    let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
    let mut current = "a".to_owned();
    let mut feature = String::new();
    let mut count = 0;
    let mut line = 1;
    for block in text.split("\n\n") {
        let at = line;
        line += block.matches('\n').count() + 2;
        let mut lines =
            block.lines().skip_while(|l| l.is_empty() || l.starts_with("--")).peekable();
        while let Some(label) = lines.peek().and_then(|l| l.strip_prefix("feature:")) {
            feature = label.trim().to_owned();
            lines.next();
        }
        let Some(head) = lines.next() else { continue };
        if let Some(session) = head.strip_prefix("session ") {
            current = session.to_owned();
            continue;
        }
        let rest: Vec<&str> = lines.collect();
        let session = sessions.entry(current.clone()).or_insert_with(|| login(&instance));
        count += 1;
        if let Err(problem) = check(session, head, &rest) {
            let sql = rest.join("\n    ");
            writeln!(failures, "{name}:{at} ({feature}): {problem}\n    {sql}\n").unwrap();
        }
    }
    count
}

/// Runs a block and compares.
fn check(session: &mut Session, head: &str, lines: &[&str]) -> Result<(), String> {
    let mut parts = lines.split(|l| *l == "----");
    let sql = parts.next().unwrap_or_default().join("\n");
    let answer = batch(session, &sql);
    let (kind, argument) = head.split_once(' ').unwrap_or((head, ""));
    if kind == "error" {
        return check_error(&answer, argument);
    }
    if let Some(error) = answer.errors.first() {
        return Err(format!("{error}"));
    }
    match kind {
        "run" => Ok(()),
        "query" => {
            let expected: Vec<Vec<String>> =
                parts.map(|set| set.iter().map(|l| (*l).trim_end().to_owned()).collect()).collect();
            let given: Vec<Vec<String>> = answer.sets.iter().map(|s| rows(s)).collect();
            same(&expected, &given)
        }
        "count" => {
            let given = answer.counts.last().map(ToString::to_string).unwrap_or_default();
            same(&argument.to_owned(), &given)
        }
        "messages" => {
            let expected: Vec<String> = parts.flatten().map(|l| (*l).to_owned()).collect();
            let given: Vec<String> = answer.messages.iter().map(|m| m.message.clone()).collect();
            same(&expected, &given)
        }
        _ => Err(format!("'{head}' is no kind of block")),
    }
}

fn rows(set: &[Vec<String>]) -> Vec<String> {
    set.iter().map(|row| row.join(" | ").trim_end().to_owned()).collect()
}

fn same<T: PartialEq + std::fmt::Debug>(expected: &T, given: &T) -> Result<(), String> {
    if expected == given {
        return Ok(());
    }
    Err(format!("\n    expected {expected:?}\n    but got  {given:?}"))
}

fn check_error(answer: &Answer, argument: &str) -> Result<(), String> {
    let (number, words) = argument.split_once(' ').unwrap_or((argument, ""));
    let Some(error) = answer.errors.first() else {
        return Err(format!("expected error {number}, got none"));
    };
    if error.number.to_string() != number || !error.message.contains(words) {
        return Err(format!("expected error {argument}, got {error}"));
    }
    Ok(())
}
