//! Plain English in comments and pages: banned phrases, and doc comments too short to say anything.
//!
//! `english.txt` beside this file has what each crate or folder still has of them. The counts may only shrink:
//! a test fails when one is above its line, and when one is below it, so that the line is lowered with the change.
//! `make english` writes the file; it refuses when a sum over all places would grow.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{pages, root, sources};

/// Phrases that hide the subject or the field's word of a sentence.
const BANNED: &[&str] = &[
    "somebody",
    "nobody",
    "whoever",
    "tells",
    "is told",
    "are told",
    "stands",
    "lies",
    "so many",
    "let go of",
    "lets go of",
    "as ever",
    "all the same",
    "anew",
    "meanwhile",
    "in hand",
    "of its own",
    "of their own",
    "circle",
    "circles",
    "course",
    "courses",
    "errand",
    "errands",
];

/// A doc comment of so few words repeats the name below it.
const SHORT_WORDS_MAX: usize = 3;

const HEAD: &str = "\
# What plain English still has to reach: see english.rs. Written by `make english`.
# place | lines with a banned phrase | doc comments of three words or fewer
";

/// What is counted of a place.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    /// Lines of comments or prose with a banned phrase.
    banned: usize,
    /// Doc comments of [`SHORT_WORDS_MAX`] words or fewer.
    short: usize,
}

/// Returns whether a line has a banned phrase, as whole words in any case, outside of code in backticks.
fn is_banned(line: &str) -> bool {
    // Most lines are short and have none: that is decided without a copy.
    let bytes = line.as_bytes();
    let may_have = BANNED.iter().any(|phrase| {
        let phrase = phrase.as_bytes();
        bytes.windows(phrase.len()).any(|part| part.eq_ignore_ascii_case(phrase))
    });
    if !may_have {
        return false;
    }
    let line: Vec<_> = line.split('`').step_by(2).collect();
    let line = line.join("`").to_ascii_lowercase();
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    BANNED.iter().any(|phrase| {
        line.match_indices(phrase).any(|(at, _)| {
            !is_word(line[..at].chars().next_back())
                && !is_word(line[at + phrase.len()..].chars().next())
        })
    })
}

/// The text of a line's comment, if it has one. Slashes behind an odd number of quotes are in a string.
fn comment(line: &str) -> Option<&str> {
    let in_code = |at: usize| line[..at].matches('"').count().is_multiple_of(2);
    let (at, _) = line.match_indices("//").find(|(at, _)| in_code(*at))?;
    Some(line[at..].trim_start_matches(['/', '!']))
}

/// Returns the lines of a source whose comments have a banned phrase.
fn banned(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| comment(line).is_some_and(is_banned))
}

/// Counts the doc comments of a source that have few words.
fn short(text: &str) -> usize {
    let mut short = 0;
    let mut words = None;
    for line in text.lines().chain([""]) {
        match line.trim_start().strip_prefix("///") {
            Some(doc) => *words.get_or_insert(0) += doc.split_whitespace().count(),
            None => short += usize::from(words.take().is_some_and(|n| n <= SHORT_WORDS_MAX)),
        }
    }
    short
}

/// Lines of a page outside its code blocks. Of the changelog only what is not released: history stays.
fn prose<'t>(page: &Path, text: &'t str) -> Vec<&'t str> {
    let is_changelog = page.ends_with("CHANGELOG.md");
    let mut in_code = false;
    let mut in_history = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if is_changelog && line.starts_with("## ") {
            in_history = !line.to_ascii_lowercase().contains("unreleased");
        } else if !in_code && !in_history {
            lines.push(line);
        }
    }
    lines
}

/// The row of a file: its crate, else its folder.
fn place(file: &Path) -> String {
    let below = file.strip_prefix(root()).expect("below the root");
    let parts: Vec<_> = below.iter().filter_map(|p| p.to_str()).collect();
    match parts.as_slice() {
        ["crates", name, ..] => format!("crates/{name}"),
        [_] => ".".to_owned(),
        ["docs", folder, _] => format!("docs/{folder}"),
        [folder, ..] => (*folder).to_owned(),
        [] => unreachable!("a file has a name"),
    }
}

/// Present counts by place, and the first lines found in each.
fn present() -> (BTreeMap<String, Counts>, BTreeMap<String, Vec<String>>) {
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    let mut examples: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut note = |file: &Path, line: &str| {
        let examples = examples.entry(place(file)).or_default();
        if examples.len() < 5 {
            examples.push(format!("{}: {}", file.display(), line.trim()));
        }
    };
    for (file, text) in sources() {
        let sum = counts.entry(place(file)).or_default();
        sum.short += short(text);
        for line in banned(text) {
            sum.banned += 1;
            note(file, line);
        }
    }
    for page in all_pages() {
        let text = fs::read_to_string(&page).expect("readable page");
        for line in prose(&page, &text).into_iter().filter(|line| is_banned(line)) {
            counts.entry(place(&page)).or_default().banned += 1;
            note(&page, line);
        }
    }
    (counts, examples)
}

/// Every page but the glossary, which names what it explains.
fn all_pages() -> Vec<PathBuf> {
    let mut found = pages();
    for folder in [".github", ".github/ISSUE_TEMPLATE"] {
        let entries = fs::read_dir(root().join(folder)).expect("a folder of templates").flatten();
        found
            .extend(entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "md")));
    }
    found.retain(|page| !page.ends_with("docs/glossary.md"));
    found
}

fn allowed() -> BTreeMap<String, Counts> {
    let text = fs::read_to_string(table()).expect("tests/tidy/english.txt");
    let row = |line: &str| {
        let mut cells = line.split('|').map(str::trim);
        let mut next = || cells.next().unwrap_or_else(|| panic!("english.txt: {line}"));
        let place = next().to_owned();
        let mut number = || next().parse().unwrap_or_else(|_| panic!("english.txt: {line}"));
        (place, Counts { banned: number(), short: number() })
    };
    text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).map(row).collect()
}

fn table() -> PathBuf {
    root().join("tests/tidy/english.txt")
}

fn sum(counts: &BTreeMap<String, Counts>) -> Counts {
    counts.values().fold(Counts::default(), |sum, c| Counts {
        banned: sum.banned + c.banned,
        short: sum.short + c.short,
    })
}

/// Writes the table. Code that moves between crates takes its counts along, so only the sums must not grow.
fn write(counts: &BTreeMap<String, Counts>) {
    let (now, before) = (sum(counts), sum(&allowed()));
    assert!(
        now.banned <= before.banned && now.short <= before.short,
        "{} banned and {} short, {} and {} are allowed: write plainer, the table only shrinks",
        now.banned,
        now.short,
        before.banned,
        before.short
    );
    let mut text = HEAD.to_owned();
    for (place, counts) in counts.iter().filter(|(_, c)| **c != Counts::default()) {
        text += &format!("{place} | {} | {}\n", counts.banned, counts.short);
    }
    fs::write(table(), text).expect("tests/tidy/english.txt is writable");
}

#[test]
fn english_is_plain() {
    let (counts, examples) = present();
    if std::env::var_os("CLEARWAY_WRITE_ENGLISH").is_some() {
        write(&counts);
    }
    let allowed = allowed();
    let places: std::collections::BTreeSet<_> = counts.keys().chain(allowed.keys()).collect();
    let mut wrong = String::new();
    for place in places {
        let now = counts.get(place).copied().unwrap_or_default();
        let most = allowed.get(place).copied().unwrap_or_default();
        for (what, now, most) in
            [("banned", now.banned, most.banned), ("short", now.short, most.short)]
        {
            if now > most {
                wrong += &format!("{place}: {now} {what}, {most} allowed\n");
                if what == "banned" {
                    let lines = examples.get(place).map(|e| e.join("\n    ")).unwrap_or_default();
                    wrong += &format!("  some of them:\n    {lines}\n");
                }
            } else if now < most {
                wrong += &format!("{place}: {now} {what}, {most} allowed: run `make english`\n");
            }
        }
    }
    assert!(wrong.is_empty(), "STYLE.md asks for plain English.\n{wrong}");
}

#[test]
fn phrases_are_found_in_comments_and_prose_alone() {
    // A number sign is a slash, so that this file counts none of it.
    let source = "\
let url = \"http:##stands\"; ## Nobody reads it.
### The view.
struct Meanwhile; ## fine
### Rows, so many
### as were read.
fn stands() {}
";
    let source = source.replace('#', "/");
    assert_eq!((banned(&source).count(), short(&source)), (1 + 1, 1));
    assert!(is_banned("It Stands.") && !is_banned("understands, circled, `lies`"));
    let page = Path::new("CHANGELOG.md");
    let text = "## 2 (unreleased)\nnew\n```\ncode\n```\n## 1\nold";
    assert_eq!(prose(page, text), ["new"]);
}
