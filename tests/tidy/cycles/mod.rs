//! Import cycles within a crate: files that need each other, directly or through others.
//!
//! An edge goes from a file to the file that defines what a path names: `use` declarations and paths in code, with
//! re-exports followed to the definition. A path that ends at a module is no edge, what is then named below it is.
//! Methods and macros are not seen: the type that they belong to is. What only tests compile does not count.
//!
//! `cycles.txt` beside this file has the crates that are past the limits, with their present numbers, which may only
//! shrink. `make cycles` prints the cycles and writes the table.

mod graph;
mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use crate::{root, sources};
use graph::cycles;
use paths::{Module, Modules};

/// The largest cycle of files that a crate may have.
const FILES_MAX: usize = 40;

const HEAD: &str = "\
# Crates past the limits of cycles.rs. Written by `make cycles`.
# crate | files in the largest cycle, if over 40 | top folders in cycles of folders
";

/// What is counted of a crate.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    /// Files in the largest cycle, zero when that is within [`FILES_MAX`].
    files: usize,
    /// Top folders that are in a cycle with another.
    folders: usize,
}

/// The modules of each crate, by crate.
fn crates() -> BTreeMap<String, Modules> {
    let mut crates: BTreeMap<String, Modules> = BTreeMap::new();
    for (file, text) in sources() {
        let below = file.strip_prefix(root()).expect("below the root").to_path_buf();
        let parts: Vec<_> = below.iter().filter_map(|p| p.to_str()).collect();
        if let ["crates", name, "src", inside @ ..] = parts.as_slice() {
            let modules = crates.entry((*name).to_owned()).or_default();
            modules.add(module_path(inside), Module::parse(text));
        }
    }
    crates
}

/// `["exec", "run", "mod.rs"]` is the module `exec::run`.
fn module_path(inside: &[&str]) -> Vec<String> {
    let mut path: Vec<String> = inside.iter().map(|p| p.trim_end_matches(".rs").into()).collect();
    if path.last().is_some_and(|last| last == "mod" || (path.len() == 1 && last == "lib")) {
        path.pop();
    }
    path
}

/// The edges between the folders that are the first step of the modules' paths. A file beside `lib.rs` is in none.
fn folder_edges(
    edges: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>,
) -> BTreeMap<String, BTreeSet<String>> {
    let folders: BTreeSet<_> =
        edges.keys().filter(|path| path.len() > 1).map(|path| path[0].clone()).collect();
    let folder = |path: &Vec<String>| path.first().filter(|name| folders.contains(*name)).cloned();
    let mut between: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, targets) in edges {
        let Some(from) = folder(from) else { continue };
        let targets = targets.iter().filter_map(folder).filter(|to| *to != from);
        between.entry(from.clone()).or_default().extend(targets);
    }
    between
}

/// Counts of each crate that is past a limit, and its cycles in words.
fn present() -> (BTreeMap<String, Counts>, String) {
    let mut found = BTreeMap::new();
    let mut words = String::new();
    for (name, mut modules) in crates() {
        let edges = modules.edges();
        let of_files = cycles(&edges);
        let of_folders = cycles(&folder_edges(&edges));
        let largest = of_files.iter().map(Vec::len).max().unwrap_or(0);
        let counts = Counts {
            files: if largest > FILES_MAX { largest } else { 0 },
            folders: of_folders.iter().map(Vec::len).sum(),
        };
        if counts != Counts::default() {
            found.insert(name.clone(), counts);
        }
        for cycle in of_files {
            let files: Vec<_> = cycle.iter().map(|path| path.join("::")).collect();
            words += &format!("{name}: {} files: {}\n", files.len(), files.join(" "));
        }
        for cycle in of_folders {
            words += &format!("{name}: {} folders: {}\n", cycle.len(), cycle.join(" "));
        }
    }
    (found, words)
}

fn table() -> PathBuf {
    root().join("tests/tidy/cycles.txt")
}

fn allowed() -> BTreeMap<String, Counts> {
    let text = fs::read_to_string(table()).expect("tests/tidy/cycles.txt");
    let row = |line: &str| {
        let mut cells = line.split('|').map(str::trim);
        let mut next = || cells.next().unwrap_or_else(|| panic!("cycles.txt: {line}"));
        let name = next().to_owned();
        let mut number = || next().parse().unwrap_or_else(|_| panic!("cycles.txt: {line}"));
        (name, Counts { files: number(), folders: number() })
    };
    text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).map(row).collect()
}

/// Writes the table. A crate that is split takes its cycles along, so only the sums must not grow.
fn write(counts: &BTreeMap<String, Counts>) {
    let sums = |counts: &BTreeMap<String, Counts>| {
        counts.values().fold((0, 0), |(files, folders), c| (files + c.files, folders + c.folders))
    };
    let (now, before) = (sums(counts), sums(&allowed()));
    assert!(now.0 <= before.0 && now.1 <= before.1, "{now:?} in cycles, {before:?} allowed");
    let mut text = HEAD.to_owned();
    for (name, counts) in counts {
        text += &format!("{name} | {} | {}\n", counts.files, counts.folders);
    }
    fs::write(table(), text).expect("tests/tidy/cycles.txt is writable");
}

#[test]
fn import_cycles_are_small() {
    let (counts, words) = present();
    if std::env::var_os("CLEARWAY_WRITE_CYCLES").is_some() {
        println!("{words}");
        write(&counts);
    }
    let allowed = allowed();
    let names: BTreeSet<_> = counts.keys().chain(allowed.keys()).collect();
    let mut wrong = String::new();
    for name in names {
        let now = counts.get(name).copied().unwrap_or_default();
        let most = allowed.get(name).copied().unwrap_or_default();
        for (what, now, most) in [
            ("files in a cycle", now.files, most.files),
            ("folders in cycles", now.folders, most.folders),
        ] {
            if now > most {
                wrong += &format!("{name}: {now} {what}, {most} allowed: see `make cycles`\n");
            } else if now < most {
                wrong += &format!("{name}: {now} {what}, {most} allowed: run `make cycles`\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
