//! Tests that the table of productions is complete and that its texts parse.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tsql::{BOUNDED, QuotedIdentifier, productions};

/// Calls by which a function parses a list or goes one level deeper.
const MARKS: [&str; 8] = [
    "while ",
    "loop {",
    "for _ in",
    "comma_list(",
    "paren_list(",
    "nested(",
    "parens(",
    "self.chain(",
];

/// Returns the functions of the parser, as `file::function`, that parse a list or go a level
/// deeper.
fn growing_functions() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/parser");
    let mut growing = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("the parser has a folder") {
        let path = entry.expect("it can be read").path();
        let file = path.file_stem().expect("a name").to_string_lossy().into_owned();
        // The marks are calls of the helpers in this file, so the helpers themselves are skipped.
        if file == "mod" {
            continue;
        }
        let mut function = String::new();
        for line in fs::read_to_string(&path).expect("it can be read").lines() {
            let code = line.trim_start();
            let Some((before, after)) = code.split_once("fn ") else {
                if !code.starts_with("//") && MARKS.iter().any(|mark| code.contains(mark)) {
                    growing.insert(format!("{file}::{function}"));
                }
                continue;
            };
            if before.is_empty() || before.starts_with("pub") {
                function = after.split(['(', '<']).next().unwrap_or_default().to_owned();
            }
        }
    }
    growing
}

#[test]
fn every_growing_function_of_the_parser_has_a_production() {
    let growing = growing_functions();
    let named = productions().flat_map(|production| production.parsers).chain(BOUNDED);
    let named: BTreeSet<String> = named.map(|name| (*name).to_owned()).collect();
    let missing: Vec<&String> = growing.difference(&named).collect();
    assert!(missing.is_empty(), "give these a line in src/production.rs: {missing:?}");
    assert!(growing.len() > 100, "{growing:?}");
}

#[test]
fn texts_of_productions_parse() {
    for production in productions() {
        let text = production.grown(1);
        let parsed = tsql::parse(&text, QuotedIdentifier::On);
        assert!(parsed.is_ok(), "{text}: {parsed:?}");
        let text = production.grown(3);
        // A rule, and not the grammar, refuses too many of a clause.
        let refused = tsql::parse(&text, QuotedIdentifier::On).err().map(|error| error.number);
        assert!(!matches!(refused, Some(102 | 156)), "{text}: {refused:?}");
    }
}

#[test]
fn long_and_deep_texts_parse_or_are_refused() {
    for production in productions() {
        // Any syntax error will do; the test is that the parser returns.
        let parsed = tsql::parse(&production.grown(20_000), QuotedIdentifier::On);
        let refused = parsed.err().map(|error| error.number);
        assert!(refused.is_none_or(|number| number < 50_000), "{production:?}: {refused:?}");
    }
}
