//! Runs an example of each construct of SQL Server's grammar: it is accepted, or it is refused with
//! error 40517 and the construct's name. It must never be a syntax error.
//!
//! A line of `tests/grammar` that starts with `+` is accepted: it may fail for other reasons, such
//! as a name that does not exist. A line `- NAME | TEXT` is refused, and the message holds NAME.

use std::fmt::Write as _;
use std::path::Path;

use crate::client::{batch, instance, login};

/// Numbers of errors that say that a text is not understood.
const SYNTAX: [i32; 11] = [102, 155, 156, 170, 195, 319, 321, 325, 343, 4145, 40517];

/// What the examples use.
const PREPARATION: [&str; 3] = [
    "CREATE DATABASE grammar",
    "CREATE TABLE dbo.t (a int NOT NULL CONSTRAINT pk_t PRIMARY KEY, b int, s varchar(100),
        tx text, x xml)
     CREATE TABLE dbo.emptied (a int)
     INSERT dbo.t VALUES (1, 1, 'x', 'y', '<a/>')",
    "CREATE PROCEDURE dbo.p (@a int = 1) AS SELECT @a AS a",
];

#[test]
fn grammar_is_accepted_or_refused_by_name() {
    let instance = instance();
    let mut failures = String::new();
    for file in ["definitions", "statements", "clauses", "details", "newer"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/grammar/{file}.txt"));
        let text = std::fs::read_to_string(path).unwrap();
        let mut examples = 0;
        let mut setup = login(&instance);
        for text in PREPARATION {
            let answer = batch(&mut setup, text);
            assert!(answer.errors.is_empty(), "{text}: {:?}", answer.errors);
            batch(&mut setup, "USE grammar");
        }
        for (number, line) in text.lines().enumerate() {
            let (name, text) = match line.split_at_checked(2) {
                Some(("+ ", text)) => (None, text),
                Some(("- ", rest)) => {
                    let (name, text) = rest.split_once(" | ").unwrap();
                    (Some(name), text)
                }
                _ => {
                    assert!(line.is_empty() || line.starts_with('#'), "{file} {}", number + 1);
                    continue;
                }
            };
            examples += 1;
            let mut session = login(&instance);
            batch(&mut session, "USE grammar");
            let answer = batch(&mut session, text);
            let first = answer.errors.first();
            let right = match name {
                None => first.is_none_or(|error| !SYNTAX.contains(&error.number)),
                Some(name) => {
                    first.is_some_and(|error| error.number == 40517 && error.message.contains(name))
                }
            };
            if !right {
                let got = first.map(|error| format!("{} {}", error.number, error.message));
                writeln!(failures, "{file} {}: {line}\n    {got:?}", number + 1).unwrap();
            }
        }
        assert!(examples > 50, "{file} has examples");
        let answer = batch(&mut setup, "USE master; DROP DATABASE grammar");
        assert!(answer.errors.is_empty(), "{:?}", answer.errors);
    }
    assert!(failures.is_empty(), "\n{failures}");
}
