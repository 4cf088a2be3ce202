//! docs/options.md: the effect of every option. The tests check that no option is accepted without
//! a row on the page.
//!
//! Three tests compare the page with the parser. Each place has a batch in which every word of the
//! grammar is tried: an accepted word must have a row. Each word of the grammar is on the page or
//! in a list of words that are no options. And the engine's registries, which hold the names that
//! the grammar leaves open, must be on the page. `make options` writes it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use compile::shape::index_option::INDEX_OPTIONS;
use ddl::database_option::{HARMLESS, OFF_ONLY, REFUSED, WORDS};
use engine::bind::hint::{Effect, QUERY_HINTS, USE_HINTS};
use tsql::QuotedIdentifier;
use tsql::ast::{Statement, StatementKind};

use crate::client::{batch, instance, login};
use crate::option_rows::{Does, GRAMMAR, places};
use crate::options::{INDEXES, SWITCHES, TABLE_HINTS, VALUES};
use crate::script::scripts;

/// The environment variable that makes the test write the page.
const WRITE: &str = "CLEARWAY_WRITE_OPTIONS";

/// Files of tests, scripts first, with their names and contents.
fn tests() -> Vec<(String, String)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [here.join("tests/it"), here.join("../../tests/it")];
    let modules = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let modules = modules.map(|entry| entry.unwrap().path());
    let mut modules: Vec<PathBuf> = modules.filter(|path| is_test(path)).collect();
    modules.sort();
    let named = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        (name, text)
    };
    scripts().into_iter().chain(modules).map(named).collect()
}

/// Returns whether a module may prove an option's effect: the tables of options may not.
fn is_test(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    name.ends_with(".rs") && !name.starts_with("option")
}

/// Returns the page's description of an option, and the test that proves it.
fn cells(name: &str, does: Does, tests: &[(String, String)]) -> (String, String) {
    match does {
        Does::Shown(text) => {
            let found = tests.iter().find(|(_, content)| content.contains(text));
            let (file, _) = found.unwrap_or_else(|| panic!("{name}: no test has {text:?}"));
            ("has its effect".to_owned(), file.clone())
        }
        Does::Locks => ("has its effect".to_owned(), "locks.test, isolation.rs".to_owned()),
        Does::Nothing(why) => (format!("changes nothing: {why}"), "option_page.rs".to_owned()),
        Does::OnRefused => {
            ("ON is refused: 40517; OFF is how it is".to_owned(), "options.rs".to_owned())
        }
        Does::Refused => ("refused: 40517".to_owned(), "options.rs".to_owned()),
        Does::Fails(number, _) => (format!("refused: {number}"), "option_page.rs".to_owned()),
        Does::RefusedIn(_) => ("refused: 40517".to_owned(), "option_page.rs".to_owned()),
    }
}

struct Page {
    text: String,
    tests: Vec<(String, String)>,
}

impl Page {
    fn section(&mut self, name: &str) {
        write!(self.text, "\n## {name}\n\n| option | what Clearway does | test |\n|---|---|---|\n")
            .unwrap();
    }

    fn row(&mut self, option: &str, does: Does) {
        let (what, test) = cells(option, does, &self.tests);
        writeln!(self.text, "| {} | {what} | {test} |", option.replace('|', "\\|")).unwrap();
    }
}

/// The row for an entry of a registry.
fn of_effect(effect: Effect, shown: &'static str) -> Does {
    match effect {
        Effect::Acts => Does::Shown(shown),
        Effect::Advice => {
            Does::Nothing("advice about a choice that is not made here, which changes no result")
        }
        Effect::Refused => Does::Refused,
    }
}

fn page() -> String {
    let mut page = Page {
        text: "# What options do\n\nMade by `make options` from the tables in crates/engine/tests/it, which the tests compare with the \
               parser: every option, hint and keyword of a WITH that the parser accepts has a row here. Each has its effect, or \
               changes nothing for the reason given, or is refused by name. Other words are errors 102 or 40517.\n"
            .to_owned(),
        tests: tests(),
    };
    page.section("SET");
    SWITCHES.iter().for_each(|(name, does)| page.row(name, *does));
    VALUES.iter().for_each(|(name, _, does)| page.row(name, *does));
    page.row("DEADLOCK_PRIORITY LOW, NORMAL, HIGH", Does::Shown("SET DEADLOCK_PRIORITY "));
    page.row("IDENTITY_INSERT", Does::Shown("SET IDENTITY_INSERT"));
    page.section("Table hints");
    TABLE_HINTS.iter().for_each(|(name, does)| page.row(name, *does));
    page.row("INDEX", Does::Shown("WITH (INDEX (ix_b))"));
    page.row("SPATIAL_WINDOW_MAX_CELLS", Does::Refused);
    page.section("Query hints: OPTION");
    for (name, _, effect) in QUERY_HINTS {
        let shown = ACTING.iter().find(|hint| hint.0 == *name).map_or("", |hint| hint.1);
        assert_eq!(shown.is_empty(), *effect != Effect::Acts, "{name}");
        page.row(name, of_effect(*effect, shown));
    }
    page.row(
        "OPTIMIZE FOR",
        Does::Nothing("plans are made for what the tables hold, not for values"),
    );
    page.row("TABLE HINT", Does::Refused);
    for name in USE_HINTS {
        let acts = ["DISALLOW_BATCH_MODE", "QUERY_PLAN_PROFILE"].contains(name);
        let effect = if acts { Effect::Acts } else { Effect::Advice };
        page.row(&format!("USE HINT ('{name}')"), of_effect(effect, name));
    }
    page.section("Indexes on rows, WITH");
    for (name, effect) in INDEX_OPTIONS {
        let shown = INDEXES.iter().find(|row| row.0 == *name).map_or("", |row| row.2);
        page.row(name, of_effect(*effect, shown));
    }
    for place in places() {
        page.section(place.name);
        place.rows.iter().for_each(|(name, does)| page.row(name, *does));
    }
    page.section("ALTER DATABASE, SET: options that are kept");
    let kept = "kept for sys.databases: about files, logs, statistics and sessions' defaults";
    HARMLESS.iter().for_each(|name| page.row(name, Does::Nothing(kept)));
    WORDS.iter().for_each(|(name, _)| match *name {
        "DELAYED_DURABILITY" => page.row(name, Does::Shown("SET DELAYED_DURABILITY = {option}")),
        name => page.row(name, Does::Nothing(kept)),
    });
    page.section("ALTER DATABASE, SET: options that are not there");
    OFF_ONLY.iter().for_each(|name| page.row(name, Does::OnRefused));
    REFUSED.iter().for_each(|name| page.row(name, Does::Refused));
    page.text
}

/// Query hints with an effect, and the test that proves it.
const ACTING: &[(&str, &str)] = &[
    ("FORCE ORDER", "FORCE ORDER"),
    ("HASH JOIN", "HASH JOIN"),
    ("LOOP JOIN", "LOOP JOIN"),
    ("MAXDOP", "MAXDOP"),
    ("MAXRECURSION", "MAXRECURSION"),
    ("MERGE JOIN", "MERGE JOIN"),
    ("RECOMPILE", "OPTION (RECOMPILE)"),
];

#[test]
fn options_page_is_what_the_tables_say() {
    let page = page();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/options.md");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/options.md is stale: run `make options`");
}

/// Returns the words of an option's name, as in the grammar.
fn words_of(name: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.split(move |c| !is_word(c)).filter(|word| !word.is_empty())
}

/// Returns whether a row's option begins with a word: `CACHE`, `MINVALUE` of `MAXVALUE, MINVALUE`.
fn begins(name: &str, word: &str) -> bool {
    name.split(", ").any(|part| words_of(part).next() == Some(word))
}

/// Returns whether the parser accepts all of a batch.
fn is_parsed(text: &str) -> bool {
    let unknown = |statement: &Statement| matches!(statement.kind, StatementKind::Unsupported(_));
    // A word that starts another statement is not part of this one.
    let count = text.matches(';').count() + 1;
    tsql::parse(text, QuotedIdentifier::On)
        .is_ok_and(|batch| batch.statements.len() == count && !batch.statements.iter().any(unknown))
}

#[test]
fn each_word_that_the_parser_takes_in_a_place_has_a_row() {
    let mut without = Vec::new();
    for place in places().filter(|place| !place.template.is_empty()) {
        let plain = place.template.replace("{}", "");
        for word in tsql::words() {
            let filled = |tail: &&str| place.template.replace("{}", &format!("{word}{tail}"));
            let is_taken = |text: &String| *text != plain && is_parsed(text);
            let taken = place.tails.iter().map(filled).find(is_taken);
            let known = place.rows.iter().any(|(name, _)| begins(name, word));
            without.extend(taken.filter(|_| !known));
        }
    }
    assert!(without.is_empty(), "the parser takes what has no row: {without:#?}");
}

#[test]
fn each_word_of_the_grammar_is_an_option_or_is_none() {
    let page = page();
    let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let on_page: std::collections::BTreeSet<&str> = cells.flat_map(words_of).collect();
    let none: Vec<&str> = GRAMMAR.split_whitespace().collect();
    let unknown: Vec<&str> =
        tsql::words().filter(|word| !on_page.contains(word) && !none.contains(word)).collect();
    assert!(unknown.is_empty(), "on no list: {unknown:?}");
    let gone: Vec<&&str> =
        none.iter().filter(|word| !tsql::words().any(|known| known == **word)).collect();
    assert!(gone.is_empty(), "no words of the grammar: {gone:?}");
}

#[test]
fn each_refused_option_is_refused_by_name() {
    let rows = places().flat_map(|place| place.rows);
    for (name, does) in rows {
        let (number, text) = match does {
            Does::RefusedIn(text) => (40517, text),
            Does::Fails(number, text) => (*number, text),
            _ => continue,
        };
        let mut session = login(&instance());
        let parts: Vec<&str> = text.split("\nGO\n").collect();
        let answers: Vec<_> = parts.iter().map(|part| batch(&mut session, part)).collect();
        let errors = &answers.last().unwrap().errors;
        assert!(errors.iter().any(|e| e.number == number), "{name}: {text}: {errors:?}");
    }
    for name in OFF_ONLY {
        let text = format!("ALTER DATABASE CURRENT SET {name} ON");
        let errors = batch(&mut login(&instance()), &text).errors;
        assert!(errors.iter().any(|e| e.number == 40517), "{text}: {errors:?}");
    }
}
