//! Paths in a source text, and the modules of a crate that they lead to.

use std::collections::{BTreeMap, BTreeSet};

/// Re-exports of re-exports are followed so far; what is deeper counts where it was left.
const FOLLOWED_MAX: usize = 12;

type Path = Vec<String>;

/// What is known of a file: the paths that it names and the names that it gives to others.
#[derive(Default)]
pub(super) struct Module {
    /// Paths in code, each with the inline modules around it.
    paths: Vec<(usize, Path)>,
    /// Names that `use` brings in, re-exports among them: the name, and its path.
    names: BTreeMap<String, Path>,
    /// Paths of `use ..::*`.
    globs: Vec<Path>,
    /// Names of the items that the file defines.
    items: BTreeSet<String>,
    /// Modules below that only tests compile.
    tests: BTreeSet<String>,
}

/// The modules of a crate that are files, by path.
#[derive(Default)]
pub(super) struct Modules(BTreeMap<Path, Module>);

impl Module {
    /// Reads a source text.
    pub(super) fn parse(text: &str) -> Self {
        let mut reader = Reader { tokens: tokens(text), at: 0, module: Self::default() };
        reader.read();
        reader.module
    }
}

impl Modules {
    pub(super) fn add(&mut self, path: Path, module: Module) {
        self.0.insert(path, module);
    }

    /// Returns, for each file, the files that define what it names.
    pub(super) fn edges(&mut self) -> BTreeMap<Path, BTreeSet<Path>> {
        self.drop_tests();
        let target = |from: &Path, path: &Path| self.resolve(from, path, 0);
        self.0
            .iter()
            .map(|(from, module)| {
                let named = module.paths.iter().filter_map(|(inline, path)| {
                    let ups = path.iter().take_while(|step| *step == "super").count();
                    // From inside an inline module, that number of steps up ends in this file.
                    let path = if *inline > 0 { &path[ups.min(*inline)..].to_vec() } else { path };
                    target(from, path)
                });
                let used = module.names.values().filter_map(|path| target(from, path));
                let globs = module.globs.iter().filter_map(|path| match target(from, path) {
                    None => self.module_of(from, path),
                    defined => defined,
                });
                (from.clone(), named.chain(used).chain(globs).filter(|to| to != from).collect())
            })
            .collect()
    }

    /// Forgets the modules that only tests compile: they may import everything.
    fn drop_tests(&mut self) {
        let tests: Vec<Path> = self
            .0
            .iter()
            .flat_map(|(path, module)| {
                module.tests.iter().map(|name| path.iter().chain([name]).cloned().collect())
            })
            .collect();
        self.0.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
    }

    /// The file that defines what a path names, seen from a module; none for a module and for what is of another crate.
    fn resolve(&self, from: &Path, path: &Path, followed: usize) -> Option<Path> {
        let (module, rest) = self.walk(from, path, followed)?;
        (!rest.is_empty()).then_some(module)
    }

    /// The module that a path names.
    fn module_of(&self, from: &Path, path: &Path) -> Option<Path> {
        self.walk(from, path, 0).map(|(module, _)| module)
    }

    /// Follows a path as far as there are modules: the last of them, and the steps that are left.
    fn walk(&self, from: &Path, path: &[String], followed: usize) -> Option<(Path, Path)> {
        let mut module = from.clone();
        let mut rest = path;
        let mut is_anchored = false;
        while let [step, below @ ..] = rest {
            match step.as_str() {
                "crate" => module.clear(),
                "self" => {}
                "super" => drop(module.pop()),
                name => {
                    let child: Path = module.iter().cloned().chain([name.to_owned()]).collect();
                    if self.0.contains_key(&child) {
                        module = child;
                    } else {
                        return self.item(&module, rest, is_anchored, followed);
                    }
                }
            }
            is_anchored = true;
            rest = below;
        }
        Some((module, Vec::new()))
    }

    /// Follows a path whose first step is no file: a re-export, an item, or, at its start, the name of a crate.
    fn item(
        &self,
        module: &Path,
        rest: &[String],
        is_anchored: bool,
        followed: usize,
    ) -> Option<(Path, Path)> {
        let here = self.0.get(module)?;
        let [name, below @ ..] = rest else { return None };
        if followed < FOLLOWED_MAX {
            if let Some(target) = here.names.get(name).filter(|target| target.as_slice() != rest) {
                let target: Path = target.iter().chain(below).cloned().collect();
                return self.walk(module, &target, followed + 1);
            }
            for glob in &here.globs {
                let Some((inner, left)) = self.walk(module, glob, followed + 1) else { continue };
                if left.is_empty() && inner != *module && self.has(&inner, name) {
                    return self.walk(&inner, rest, followed + 1);
                }
            }
        }
        (is_anchored || here.items.contains(name)).then(|| (module.clone(), rest.to_vec()))
    }

    fn has(&self, module: &Path, name: &String) -> bool {
        let child = module.iter().chain([name]).cloned().collect::<Path>();
        self.0.contains_key(&child)
            || self
                .0
                .get(module)
                .is_some_and(|m| m.items.contains(name) || m.names.contains_key(name))
    }
}

/// Words and marks of a source text, without comments, strings and lifetimes.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let starts = |at: usize, what: &str| {
        what.chars().enumerate().all(|(i, c)| chars.get(at + i) == Some(&c))
    };
    let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        if starts(at, "//") {
            at += chars[at..].iter().take_while(|c| **c != '\n').count();
        } else if starts(at, "/*") {
            at += 2;
            while at < chars.len() && !starts(at, "*/") {
                at += 1;
            }
            at += 2;
        } else if let Some(end) = string_end(&chars, at) {
            at = end;
        } else if is_word(&c) {
            let length = chars[at..].iter().take_while(|c| is_word(c)).count();
            found.push(chars[at..at + length].iter().collect());
            at += length;
        } else if starts(at, "::") {
            found.push("::".to_owned());
            at += 2;
        } else {
            if !c.is_whitespace() {
                found.push(c.to_string());
            }
            at += 1;
        }
    }
    found
}

/// Where a string or character that starts here ends; none where none starts. A lifetime ends behind its mark.
fn string_end(chars: &[char], at: usize) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if at > 0 && is_word(chars[at - 1]) {
        return (chars[at] == '"').then(|| plain_end(chars, at + 1, '"'));
    }
    let mark = at + chars[at..].iter().take_while(|c| matches!(c, 'b' | 'r' | 'c')).count().min(2);
    let hashes = chars[mark..].iter().take_while(|c| **c == '#').count();
    let is_raw = chars[at..mark].contains(&'r');
    match chars.get(mark + hashes) {
        Some('"') if is_raw => {
            let close: Vec<char> =
                std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
            let inside = mark + hashes + 1;
            let length = chars[inside..].windows(close.len()).position(|w| w == close);
            Some(inside + length.unwrap_or(chars.len() - inside) + close.len())
        }
        Some('"') if hashes == 0 => Some(plain_end(chars, mark + 1, '"')),
        Some('\'') if hashes == 0 && (mark == at || chars[at] == 'b') => {
            let is_char = chars.get(mark + 1) == Some(&'\\') || chars.get(mark + 2) == Some(&'\'');
            Some(if is_char { plain_end(chars, mark + 1, '\'') } else { mark + 1 })
        }
        _ => None,
    }
}

fn plain_end(chars: &[char], mut at: usize, close: char) -> usize {
    while at < chars.len() && chars[at] != close {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// A place in the words of a source text.
struct Reader {
    tokens: Vec<String>,
    at: usize,
    module: Module,
}

impl Reader {
    fn peek(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        self.at += 1;
        self.tokens.get(self.at - 1).cloned().unwrap_or_default()
    }

    fn read(&mut self) {
        let mut depth = 0;
        // Depths of braces at which inline modules began.
        let mut inline = Vec::new();
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "#" if self.peek(1) == "[" && self.peek(2) == "cfg" => self.read_cfg(),
                "use" => self.read_use(inline.len()),
                "mod" if self.peek(2) == "{" => {
                    self.at += 3;
                    inline.push(depth);
                    depth += 1;
                }
                "{" => {
                    self.at += 1;
                    depth += 1;
                }
                "}" => {
                    self.at += 1;
                    depth -= 1;
                    if inline.last() == Some(&depth) {
                        inline.pop();
                    }
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" => {
                    let name = self.peek(1).to_owned();
                    self.module.items.insert(name);
                    self.at += 1;
                }
                word if is_name(word) => self.read_path(inline.len()),
                _ => self.at += 1,
            }
        }
    }

    /// An attribute `#[cfg(..)]`. What it keeps for tests is passed over.
    fn read_cfg(&mut self) {
        let mut words = Vec::new();
        while !matches!(self.peek(0), "]" | "") {
            words.push(self.next());
        }
        self.at += 1;
        let is_for_tests = words.iter().any(|w| w == "test") && words.iter().all(|w| w != "not");
        if is_for_tests {
            self.pass_over_item();
        }
    }

    /// Passes over an item or a block; the name of a module that is a file is kept.
    fn pass_over_item(&mut self) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            if self.peek(0) == "mod" && self.peek(2) == ";" {
                let name = self.peek(1).to_owned();
                self.module.tests.insert(name);
            }
            match self.next().as_str() {
                "{" | "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                "}" => {
                    depth -= 1;
                    if depth == 0 {
                        return;
                    }
                }
                ";" | "," if depth == 0 => return,
                _ => {}
            }
            // The end of what is around it: a last field or expression.
            if depth < 0 {
                self.at -= 1;
                return;
            }
        }
    }

    /// A path in code. One step alone names nothing of another file that no `use` has named.
    fn read_path(&mut self, inline: usize) {
        let mut path = vec![self.next()];
        while self.peek(0) == "::" && is_name(self.peek(1)) {
            self.at += 1;
            path.push(self.next());
        }
        if path.len() > 1 {
            self.module.paths.push((inline, path));
        }
    }

    fn read_use(&mut self, inline: usize) {
        self.at += 1;
        let mut leaves = Vec::new();
        if self.peek(0) == "::" {
            // Of another crate.
            while !matches!(self.peek(0), ";" | "") {
                self.at += 1;
            }
            return;
        }
        self.read_tree(&[], &mut leaves);
        for (name, path) in leaves {
            if inline > 0 {
                self.module.paths.push((inline, path));
            } else if name == "*" {
                self.module.globs.push(path);
            } else {
                self.module.names.insert(name, path);
            }
        }
    }

    /// A tree of `use`: its leaves are names and the paths that they stand for.
    fn read_tree(&mut self, before: &[String], leaves: &mut Vec<(String, Path)>) {
        let mut path = before.to_vec();
        loop {
            match self.next().as_str() {
                "{" => {
                    while !matches!(self.peek(0), "}" | "") {
                        self.read_tree(&path, leaves);
                        if self.peek(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "*" => return leaves.push(("*".to_owned(), path)),
                "self" if !path.is_empty() => {}
                step => path.push(step.to_owned()),
            }
            if self.peek(0) == "::" {
                self.at += 1;
                continue;
            }
            let mut name = path.last().cloned().unwrap_or_default();
            if self.peek(0) == "as" {
                self.at += 1;
                name = self.next();
            }
            return leaves.push((name, path));
        }
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[test]
fn a_path_leads_to_the_file_that_defines_it() {
    let mut modules = Modules::default();
    let path = |text: &str| text.split("::").map(str::to_owned).collect::<Path>();
    modules.add(Vec::new(), Module::parse("mod a; mod b; pub use a::Made;"));
    modules.add(path("a"), Module::parse("mod inner; pub use inner::*; fn own() {}"));
    modules.add(path("a::inner"), Module::parse("pub struct Made; pub fn make() {}"));
    modules.add(
        path("b"),
        Module::parse(
            "use crate::a; // use crate::nothing;\n fn f(x: &'static str) { a::make(); \"a::own\"; }
             mod tests { use super::*; fn g() { super::f(); } }",
        ),
    );
    modules
        .add(path("c"), Module::parse("use crate::{Made as M, a::own}; fn f() { std::fs::x(); }"));
    modules.add(
        path("d"),
        Module::parse(
            "#[cfg(all(test, shuttle))] use crate::b::f; #[cfg(test)] mod tests { use crate::b; }
             #[cfg(test)] mod model; #[cfg(not(test))] use crate::a::own;",
        ),
    );
    modules.add(path("d::model"), Module::parse("use crate::b::f;"));
    let edges = modules.edges();
    assert_eq!(edges[&path("b")], BTreeSet::from([path("a::inner")]));
    assert_eq!(edges[&path("c")], BTreeSet::from([path("a::inner"), path("a")]));
    // What only tests compile counts for nothing.
    assert_eq!(edges[&path("d")], BTreeSet::from([path("a")]));
    assert!(!edges.contains_key(&path("d::model")));
    // A glob names the module that it opens.
    assert_eq!(edges[&path("a")], BTreeSet::from([path("a::inner")]));
}
