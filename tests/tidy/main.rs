//! Holds the line on structure: layers, file and function sizes, opening sentences, leftovers.
//!
//! Rules and reasons are in STYLE.md and ARCHITECTURE.md; this test only counts.

mod cycles;
mod english;
mod folders;
mod licences;
mod messages;
mod sorts;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The wall for a source file, in lines.
const FILE_LINES_MAX: usize = 800;

/// The wall for a crate, in lines of `src` without files of tests and models.
const CRATE_LINES_MAX: usize = 16_200;

/// Crates past that wall, with a wall of their size.
const LARGE_CRATES: &[(&str, usize)] = &[("sos", 31_800), ("storage", 17_600), ("views", 17_000)];

/// Layer of each crate: it may depend on lower ones only.
const LAYERS: &[(&str, u8)] = &[
    ("census", 0),
    ("sos", 1),
    ("types", 1),
    ("tsql", 2),
    ("encoding", 2),
    ("parquet_io", 2),
    ("simdisk", 2),
    ("tds", 2),
    ("tpcc", 2),
    ("verdict", 2),
    ("load", 3),
    ("log", 3),
    ("storage", 3),
    ("catalog", 4),
    ("files", 4),
    ("definitions", 5),
    ("plan", 5),
    ("durable", 6),
    ("functions", 6),
    ("query_store", 6),
    ("optimizer", 7),
    ("binder", 8),
    ("session", 9),
    ("metadata", 10),
    ("executor", 10),
    ("compile", 11),
    ("vectorized", 11),
    ("ddl", 12),
    ("explain", 12),
    ("compatibility", 12),
    ("views", 13),
    ("interpreter", 13),
    ("procedures", 14),
    ("engine", 15),
    ("server", 16),
    ("console", 16),
    ("diagnose", 16),
    ("lab", 16),
    ("race", 16),
    ("top", 16),
    ("webconsole", 16),
    ("bench", 17),
];

/// Crates that may contain unsafe code.
const UNSAFE_CRATES: &[&str] = &["census", "encoding", "sos", "storage"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        // Cargo marks its folders; `target` is the name of a module, too.
        let is_built = path.join("CACHEDIR.TAG").exists();
        if path.is_dir() && !is_built && name != "node_modules" && name != ".venv" {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The text of each source file, read once for all tests.
fn sources() -> &'static BTreeMap<PathBuf, String> {
    static SOURCES: OnceLock<BTreeMap<PathBuf, String>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let mut files = Vec::new();
        for folder in ["src", "tests", "crates", "fuzz/targets"] {
            let before = files.len();
            rust_files(&root().join(folder), &mut files);
            assert!(files.len() > before, "no sources in {folder}");
        }
        let read = |file: &PathBuf| fs::read_to_string(file).expect("readable source");
        files.iter().map(|file| (file.clone(), read(file))).collect()
    })
}

#[test]
fn a_crate_uses_lower_layers_only() {
    let layer = |name: &str| LAYERS.iter().find(|(n, _)| *n == name).map(|(_, l)| *l);
    for (name, dependencies) in dependencies() {
        let own = layer(&name).unwrap_or_else(|| panic!("crate {name} has no layer"));
        for used in dependencies {
            if let Some(below) = layer(&used) {
                assert!(below < own, "{name} (layer {own}) uses {used} (layer {below})");
            }
        }
    }
}

/// The names in `[dependencies]` of each crate.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let of = |folder: PathBuf| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("manifest");
        let section = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        let section = section.split("\n[").next().unwrap_or_default();
        let names = section.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let entries = fs::read_dir(root().join("crates")).expect("crates folder").flatten();
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().expect("crate names are ASCII");
            (name, of(entry.path()))
        })
        .collect()
}

/// A dependency without a use is built, and rebuilds the crate, for nothing.
#[test]
fn dependencies_are_used() {
    for (name, dependencies) in dependencies() {
        let mut files = Vec::new();
        rust_files(&root().join("crates").join(&name).join("src"), &mut files);
        let text: String =
            files.iter().map(|f| fs::read_to_string(f).expect("readable source")).collect();
        let words: BTreeSet<_> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for used in dependencies {
            // Libraries whose names have another form than their packages'.
            let library = match used.as_str() {
                "md-5" => "md5".to_owned(),
                "clearway-log" => "log".to_owned(),
                other => other.replace('-', "_"),
            };
            assert!(words.contains(library.as_str()), "{name} does not use {used}");
        }
    }
}

/// The folders of crates/storage/src, lowest first: each imports only those before it. The models
/// are tests and import all.
const STORAGE_FOLDERS: &[&str] = &[
    "primitives",
    "spec",
    "durability",
    "version",
    "row_group",
    "index",
    "row_lock",
    "lock",
    "store",
    "transaction",
    "access",
    "columnstore",
    "redefine",
    "recovery",
    "models",
];

#[test]
fn a_folder_of_storage_imports_lower_ones_only() {
    let source = root().join("crates/storage/src");
    let level = |name: &str| STORAGE_FOLDERS.iter().position(|folder| *folder == name);
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    for file in files {
        let inside = file.strip_prefix(&source).expect("it was found there");
        let mut parts = inside.iter().map(|part| part.to_str().expect("names are ASCII"));
        let folder = parts.next().unwrap_or_default();
        if folder == "lib.rs" {
            continue;
        }
        let own = level(folder).unwrap_or_else(|| panic!("{folder} has no place in the order"));
        let text = fs::read_to_string(&file).expect("readable source");
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for import in line.split("crate::").skip(1) {
                let name: String =
                    import.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
                assert!(
                    level(&name).is_none_or(|other| other <= own),
                    "{} imports {name}, which is above {folder}: {line}",
                    inside.display()
                );
            }
        }
    }
}

#[test]
fn files_stay_below_the_wall() {
    let long: Vec<_> = sources()
        .iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > FILE_LINES_MAX)
        .collect();
    assert!(long.is_empty(), "over {FILE_LINES_MAX} lines: {long:?}");
}

#[test]
fn crates_stay_below_the_wall() {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for (path, text) in sources() {
        let place = path.strip_prefix(root()).expect("below the root").to_string_lossy();
        let is_test = place.contains("/models/") || place.ends_with("tests.rs");
        if let (["crates", name, "src", ..], false) =
            (place.split('/').collect::<Vec<_>>().as_slice(), is_test)
        {
            *lines.entry((*name).to_owned()).or_default() += text.lines().count();
        }
    }
    for (name, lines) in lines {
        let large = LARGE_CRATES.iter().find(|(large, _)| *large == name);
        let most = large.map_or(CRATE_LINES_MAX, |(_, most)| *most);
        assert!(lines <= most, "crate {name} has {lines} lines, {most} are allowed");
    }
}

#[test]
fn files_open_with_what_they_are() {
    let silent: Vec<_> = sources()
        .iter()
        .filter(|(_, text)| !text.starts_with("//!") || text.starts_with("//! TODO"))
        .map(|(path, _)| path)
        .collect();
    assert!(silent.is_empty(), "no opening sentence: {silent:?}");
}

#[test]
fn unsafe_lives_in_few_crates() {
    for (path, text) in sources() {
        let place = path.strip_prefix(root()).expect("below the root").to_path_buf();
        let mut parts = place.iter().filter_map(|p| p.to_str());
        let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if first == "crates" && place.ends_with("src/lib.rs") && !UNSAFE_CRATES.contains(&second) {
            assert!(text.contains("#![forbid(unsafe_code)]"), "{} allows unsafe", place.display());
        }
    }
}

#[test]
fn no_leftovers() {
    let marks = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
    ];
    for (path, text) in sources() {
        for mark in marks {
            assert!(!text.contains(mark), "{mark} in {}", path.display());
        }
    }
}

/// Ways to the operating system that leave no trace in the ledger.
const BARE_CALLS: &[&str] = &[
    "libc::",
    "rustix::",
    "std::fs",
    "std::process::Command",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "File::open",
    "File::create",
    "thread::sleep",
    "thread::Builder",
];

/// Files that may use them, and why.
const BARE_CALLS_ALLOWED: &[(&str, &str)] = &[
    ("crates/sos/src/clock.rs", "reads clocks without entering the kernel, and one file at start"),
    ("crates/sos/src/thread.rs", "is where threads are started"),
    ("crates/sos/src/faults.rs", "makes bare calls so that tests see the ledger find them"),
    ("crates/server/src/lib.rs", "reads the machine's name once, at start"),
    ("crates/server/src/containment.rs", "is a test"),
    ("crates/server/src/known_call_tests.rs", "is a test"),
    ("crates/webconsole/src/tests.rs", "is a test"),
    ("src/lab.rs", "writes its report"),
    ("src/race.rs", "writes its report"),
    ("src/agents.rs", "reads a token once, at start"),
    ("src/stress.rs", "is a client of any server, with no ledger to leave a trace in"),
    ("src/diagnose.rs", "is a client of any server, with no ledger to leave a trace in"),
    ("src/profile.rs", "is a client of any server, with no ledger to leave a trace in"),
];

/// Crates whose code no server runs, so that no ledger misses their calls.
const NOT_IN_A_SERVER: &[(&str, &str)] = &[
    ("bench", "is a client, and starts servers and peers as child processes"),
    ("census", "counts shared writes in a test"),
    ("console", "is a client"),
    ("diagnose", "is a client, and starts servers and faults as child processes"),
    ("lab", "starts servers as child processes"),
    ("load", "is a client"),
    ("race", "is a client, and starts peers as child processes"),
];

#[test]
fn system_calls_go_through_the_wrappers() {
    for (path, text) in sources() {
        let place = path.strip_prefix(root()).expect("below the root").to_string_lossy();
        let in_product = match place.split('/').collect::<Vec<_>>().as_slice() {
            ["src", ..] => true,
            ["crates", name, "src", ..] => NOT_IN_A_SERVER.iter().all(|(other, _)| other != name),
            _ => false,
        };
        let allowed = place.starts_with("crates/sos/src/sys/")
            || BARE_CALLS_ALLOWED.iter().any(|(file, _)| *file == place);
        if !in_product || allowed {
            continue;
        }
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for (number, line) in code.enumerate() {
            for call in BARE_CALLS {
                assert!(
                    !line.contains(call),
                    "{call} in {place}, code line {}: {line}",
                    number + 1
                );
            }
        }
    }
    for (file, _) in BARE_CALLS_ALLOWED {
        assert!(root().join(file).exists(), "{file} is gone: take it off the list");
    }
    for (name, _) in NOT_IN_A_SERVER {
        let folder = root().join("crates").join(name);
        assert!(folder.exists(), "crate {name} is gone: take it off the list");
    }
}

/// The pages of the repository: those at its root, and those in `docs/`.
fn pages() -> Vec<PathBuf> {
    ["", "docs", "docs/decisions"]
        .iter()
        .flat_map(|folder| fs::read_dir(root().join(folder)).expect("a folder of pages").flatten())
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect()
}

#[test]
fn pages_name_paths_that_exist() {
    let folders = ["crates/", "src/", "tests/", "docs/"];
    for page in pages() {
        // What has changed names paths of its time.
        if page.ends_with("CHANGELOG.md") {
            continue;
        }
        let text = fs::read_to_string(&page).expect("readable page");
        for named in text.split('`').skip(1).step_by(2) {
            let is_path = folders.iter().any(|folder| named.starts_with(folder))
                && named.chars().all(|c| c.is_ascii_alphanumeric() || "_./-".contains(c));
            assert!(
                !is_path || root().join(named).exists(),
                "{} names {named}, which is not there",
                page.display()
            );
        }
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    for page in pages() {
        let text = fs::read_to_string(&page).expect("readable page");
        let folder = page.parent().expect("a page is in a folder");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let is_file = !target.is_empty() && !target.contains("://");
            assert!(
                !is_file || folder.join(target).exists(),
                "{} links to {target}, which is not there",
                page.display()
            );
        }
    }
}

#[test]
fn decisions_have_numbers_of_their_own_and_are_listed() {
    let index = fs::read_to_string(root().join("docs/decisions/README.md")).expect("the index");
    let mut numbers = BTreeMap::new();
    for page in pages() {
        let name = page.file_name().and_then(|n| n.to_str()).expect("names are ASCII").to_owned();
        if !page.parent().is_some_and(|p| p.ends_with("decisions")) || name == "README.md" {
            continue;
        }
        let text = fs::read_to_string(&page).expect("readable page");
        assert!(
            text.starts_with(&format!("# {}: ", &name[..4])),
            "{name}: its title has no number"
        );
        let title = text.lines().next().and_then(|line| line.split_once(": ")).expect("a title").1;
        let entry = format!("[{title}]({name})");
        assert!(index.contains(&entry), "docs/decisions/README.md does not list {entry}");
        let other = numbers.insert(name[..4].to_owned(), name.clone());
        assert_eq!(other, None, "{name} has the number of another decision");
    }
}

/// A crate without unit tests says so in its manifest, so that it is not compiled a second time for
/// none; one with unit tests does not.
#[test]
fn only_crates_with_unit_tests_build_them() {
    for (name, _) in dependencies() {
        let folder = root().join("crates").join(&name);
        let mut files = Vec::new();
        rust_files(&folder.join("src"), &mut files);
        // Unit tests of programs are built apart.
        files.retain(|file| !file.starts_with(folder.join("src/bin")));
        let is_test = |line: &str| matches!(line.trim(), "#[test]" | "proptest! {");
        let has_tests = files
            .iter()
            .any(|file| fs::read_to_string(file).expect("readable source").lines().any(is_test));
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("manifest");
        let builds_none = manifest.contains("[lib]\ntest = false");
        assert_eq!(has_tests, !builds_none, "crate {name}: `test = false` under [lib]");
    }
}

/// Examples in comments are run by `make test`, crate by crate: to look for them in all crates takes
/// as long as a build.
#[test]
fn examples_in_comments_are_run() {
    let makefile = fs::read_to_string(root().join("Makefile")).expect("Makefile");
    let line = makefile.lines().find(|line| line.contains("cargo test --doc"));
    let line = line.expect("`make test` runs the examples in comments");
    for (path, text) in sources() {
        let place = path.strip_prefix(root()).expect("below the root").to_string_lossy();
        let parts: Vec<_> = place.split('/').collect();
        let ["crates", name, "src", ..] = parts.as_slice() else { continue };
        let mut is_inside = false;
        for comment in text.lines().filter_map(doc_comment) {
            let Some(kind) = comment.trim_start().strip_prefix("```") else { continue };
            let is_run = !is_inside && !matches!(kind, "text" | "ignore" | "sql");
            let is_named = line.contains(&format!("-p {name}"));
            assert!(!is_run || is_named, "{place} has an example; {line} does not run it");
            is_inside = !is_inside;
        }
    }
}

/// The text of a line that is a doc comment.
fn doc_comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
}
