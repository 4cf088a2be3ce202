//! Each message of the registry is raised somewhere, or tests/tidy/messages.txt says why it is not.
//!
//! A message that no code raises is a check that is missing: a script works here and fails on SQL Server (0454). The
//! list may only get shorter.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::{root, sources};

/// Numbers below this one appear in code as other things too: a literal says nothing there.
const NUMBER_THAT_SAYS: &str = "1000";

/// Returns the number of each variant of `Msg`.
fn registry() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (path, text) in sources() {
        if !path.starts_with(root().join("crates/types/src/error")) {
            continue;
        }
        for line in text.lines().map(str::trim) {
            let name: String = line.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
            let is_entry =
                line.ends_with("\";") && line.starts_with(|c: char| c.is_ascii_uppercase());
            let number = line.split(" = ").nth(1).and_then(|rest| rest.split(',').next());
            if let (true, Some(number)) = (is_entry, number) {
                found.insert(name, number.to_owned());
            }
        }
    }
    found
}

/// Returns the words of all code that raises messages: no tests, no comments, not the registry itself.
fn words() -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for (path, text) in sources() {
        let place = path.strip_prefix(root()).expect("below the root").to_string_lossy();
        let raises = place.starts_with("crates/") || place.starts_with("src/");
        let is_test = place.contains("/tests/") || place.ends_with("tests.rs");
        if !raises || is_test || place.starts_with("crates/types/src/error") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let names = line.split("Msg::").skip(1);
            words.extend(names.map(|rest| {
                let name = rest.chars().take_while(|c| c.is_ascii_alphanumeric());
                format!("Msg::{}", name.collect::<String>())
            }));
            let numbers = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
            words.extend(numbers.filter(is_number).map(|word| word.replace('_', "")));
        }
    }
    words
}

#[test]
fn each_message_is_raised_or_listed() {
    let words = words();
    let says = |number: &str| {
        number.len() >= NUMBER_THAT_SAYS.len() && words.contains(number)
            || words.contains(&format!("Msg::{number}"))
    };
    let is_raised = |name: &str| words.contains(&format!("Msg::{name}"));
    let registry = registry();
    assert!(registry.len() > 900, "the registry is not read any more: {}", registry.len());
    let mut silent = BTreeMap::new();
    for (name, number) in &registry {
        if !is_raised(name) && !says(number) {
            silent.insert(name.as_str(), number.as_str());
        }
    }
    let list = fs::read_to_string(root().join("tests/tidy/messages.txt")).expect("messages.txt");
    let mut listed = BTreeSet::new();
    for line in list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut words = line.split_whitespace();
        let (number, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (kind, other) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_reason = match kind {
            "other" => {
                says(other) || registry.iter().any(|(name, of)| of == other && is_raised(name))
            }
            "missing:" | "absent:" => !other.is_empty(),
            "limit" => true,
            _ => false,
        };
        assert!(is_reason, "messages.txt: {line}: no reason, or one that is not so");
        assert_eq!(
            silent.get(name),
            Some(&number),
            "take it from messages.txt: {number} {name} is raised"
        );
        listed.insert(name);
    }
    let missing: Vec<_> = silent.iter().filter(|(name, _)| !listed.contains(*name)).collect();
    assert!(
        missing.is_empty(),
        "no code raises these, and messages.txt has no reason: {missing:?}"
    );
}
