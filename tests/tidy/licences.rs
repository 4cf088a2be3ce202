//! Licences of the crates that this platform builds: each must be met by the list in deny.toml.
//!
//! This is the part of cargo-deny that `make test` can afford: it asks `cargo tree`, and installs nothing.
//! `make deny` runs cargo-deny itself, for both platforms, with the advisories.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::root;

/// The identifiers in the list `allow` of deny.toml's `[licenses]`.
fn allowed() -> Vec<String> {
    let text = fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let section = text.split("[licenses]").nth(1).expect("a section [licenses]");
    let list = section.split("allow = [").nth(1).and_then(|rest| rest.split(']').next());
    let list = list.expect("a list `allow` in [licenses]");
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns whether the allowed licences meet an SPDX expression: `AND` binds closer than `OR`.
///
/// Old manifests write `MIT/Apache-2.0` for `MIT OR Apache-2.0`.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let met = either(&mut words, allowed);
    met && words.next().is_none()
}

type Words<'w> = std::iter::Peekable<std::str::SplitWhitespace<'w>>;

fn either(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut met = both(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        met |= both(words, allowed);
    }
    met
}

fn both(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut met = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, allowed);
    }
    met
}

fn one(words: &mut Words<'_>, allowed: &[String]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let met = either(words, allowed);
        return words.next_if_eq(&")").is_some() && met;
    }
    let Some(name) = words.next() else { return false };
    // An exception only adds rights.
    if words.next_if_eq(&"WITH").is_some() {
        words.next();
    }
    allowed.iter().any(|a| a == name)
}

/// The licence of each crate in the tree, as its manifest has it.
fn licences() -> BTreeMap<String, String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--workspace", "--locked", "--prefix=none", "--format={p}|{l}"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(tree.status.success(), "cargo tree: {}", String::from_utf8_lossy(&tree.stderr));
    let text = String::from_utf8(tree.stdout).expect("crates have names in UTF-8");
    // A crate is marked from its second line on; without the marks, cargo would print its whole tree
    // each time, a minute long.
    let plain = |line: &str| line.strip_suffix(" (*)").unwrap_or(line).to_owned();
    let line =
        |line: &str| plain(line).split_once('|').map(|(name, rest)| (name.into(), rest.into()));
    text.lines().filter_map(line).collect()
}

#[test]
fn licences_are_on_the_list() {
    let allowed = allowed();
    let found = licences();
    assert!(found.len() > 50, "cargo tree named {} crates", found.len());
    let refused: Vec<_> = found.iter().filter(|(_, licence)| !is_met(licence, &allowed)).collect();
    assert!(refused.is_empty(), "licences that deny.toml does not allow: {refused:?}");
}

#[test]
fn expressions_are_met_as_spdx_reads_them() {
    let allowed = ["MIT".to_owned(), "ISC".to_owned(), "Apache-2.0".to_owned()];
    for met in [
        "MIT",
        "GPL-3.0-only OR MIT",
        "MIT AND ISC",
        "GPL-3.0-only AND BSL-1.0 OR MIT",
        "(MIT OR GPL-3.0-only) AND ISC",
        "GPL-2.0/MIT",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(is_met(met, &allowed), "{met}");
    }
    for refused in
        ["", "GPL-3.0-only", "MIT AND GPL-3.0-only", "(GPL-3.0-only OR MIT) AND BSL-1.0", "(MIT"]
    {
        assert!(!is_met(refused, &allowed), "{refused}");
    }
}
