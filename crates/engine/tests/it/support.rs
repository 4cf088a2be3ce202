//! docs/support.md: the features that the scripts prove, as a page.
//!
//! A label `feature: kind|name` before a block puts the name on the page; `unsupported` is the kind
//! for features known to be missing, and its block must be an error 40517: the page cannot claim
//! what no script proves. The test fails if the page differs from the one generated from the
//! scripts; `make support` writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use crate::script::{blocks, scripts};

/// The environment variable that makes the test write the page.
const WRITE: &str = "CLEARWAY_WRITE_SUPPORT";

/// Kinds in the order of the page, with their headings.
const KINDS: [(&str, &str); 9] = [
    ("statement", "Statements"),
    ("clause", "Clauses"),
    ("type", "Types"),
    ("operator", "Operators"),
    ("function", "Functions"),
    ("procedure", "System procedures"),
    ("view", "System views"),
    ("protocol", "Protocol"),
    ("error", "Errors"),
];

#[test]
fn support_page_is_what_the_scripts_show() {
    let page = page();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/support.md");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/support.md is stale: run `make support`");
}

/// Returns the generated page.
fn page() -> String {
    let (mut shown, missing) = features();
    let mut page = String::from(
        "# What Clearway supports\n\nMade by `make support` from the scripts in \
         crates/engine/tests/scripts, which the tests run: each line has a script that shows it. \
         What differs from SQL Server in languages, orders and code pages is in collations.md.\n",
    );
    for (kind, heading) in KINDS {
        let Some(names) = shown.remove(kind) else { continue };
        write!(page, "\n## {heading}\n\n| what | shown by |\n|---|---|\n").unwrap();
        for (name, scripts) in names {
            let scripts: Vec<String> = scripts.into_iter().collect();
            writeln!(page, "| {name} | {} |", scripts.join(", ")).unwrap();
        }
    }
    assert!(shown.is_empty(), "labels of unknown kinds: {shown:?}");
    page.push_str(
        "\n## Not supported\n\nEach of these fails with error 40517, which names it, and a script shows that it \
         does. What is on neither list is an error too, never a guess.\n\n",
    );
    for name in missing {
        writeln!(page, "- {name}").unwrap();
    }
    page
}

/// Names by kind, each with the scripts that prove it.
type Shown = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Collects the features that the scripts prove, and those they prove to be missing.
fn features() -> (Shown, BTreeSet<String>) {
    let mut shown = Shown::new();
    let mut missing = BTreeSet::new();
    for path in scripts() {
        let script = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        for block in blocks(&text) {
            for label in &block.features {
                let (kind, name) = label.split_once('|').unwrap_or(("statement", label));
                let name = name.replace('|', "\\|");
                if kind == "unsupported" {
                    let line = block.line;
                    let is_refused = block.head.starts_with("error 40517 ");
                    assert!(is_refused, "{script}:{line}: not the error of what is unsupported");
                    missing.insert(name);
                    continue;
                }
                let names = shown.entry(kind.to_owned()).or_default();
                names.entry(name).or_default().insert(script.clone());
            }
        }
    }
    (shown, missing)
}
