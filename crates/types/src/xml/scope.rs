//! `Scope`: the name space declarations in scope while a document is read or written.
//!
//! A tag may declare thousands, so a search through all of them for each name would take the square
//! of their number. The first ones are searched, as nearly all documents have few; later ones are
//! hashed.

use std::collections::HashMap;

/// Declarations up to this number are searched.
const SEARCHED_MAX: usize = 16;

/// Declarations in scope; `U` is how a URI is kept.
pub(super) struct Scope<'t, U> {
    /// Prefix and URI, innermost last.
    all: Vec<(&'t str, U)>,
    /// Places of the declarations of each prefix behind the first [`SEARCHED_MAX`], innermost last.
    later: HashMap<&'t str, Vec<usize>>,
}

impl<U> Default for Scope<'_, U> {
    fn default() -> Self {
        Self { all: Vec::new(), later: HashMap::new() }
    }
}

impl<'t, U: AsRef<str>> Scope<'t, U> {
    /// Returns the number of declarations.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn declare(&mut self, prefix: &'t str, uri: U) {
        if self.all.len() >= SEARCHED_MAX {
            self.later.entry(prefix).or_default().push(self.all.len());
        }
        self.all.push((prefix, uri));
    }

    /// Returns the URI of a prefix, `None` if it is not declared.
    pub(super) fn uri(&self, prefix: &str) -> Option<&str> {
        let later = self.later.get(prefix).and_then(|places| places.last());
        let first = &self.all[..self.all.len().min(SEARCHED_MAX)];
        let (_, uri) = match later {
            Some(place) => &self.all[*place],
            None => first.iter().rev().find(|(declared, _)| *declared == prefix)?,
        };
        Some(uri.as_ref())
    }

    /// Ends the scope of all declarations but the first `count`.
    pub(super) fn truncate(&mut self, count: usize) {
        while self.all.len() > count {
            let Some((prefix, _)) = self.all.pop() else { return };
            if self.all.len() >= SEARCHED_MAX
                && let Some(places) = self.later.get_mut(prefix)
            {
                places.pop();
                if places.is_empty() {
                    self.later.remove(prefix);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn innermost_declaration_counts_however_many_there_are() {
        let prefixes: Vec<String> = (0..3 * SEARCHED_MAX).map(|at| format!("p{at}")).collect();
        let mut scope = Scope::default();
        for prefix in &prefixes {
            scope.declare(prefix, "outer");
        }
        let (early, late) = ("p1", "p40");
        scope.declare(early, "inner");
        scope.declare(late, "inner");
        let uris = |scope: &Scope<'_, &str>, names: [&str; 3]| {
            names.map(|name| scope.uri(name).map(str::to_owned))
        };
        let inner = || Some("inner".to_owned());
        let outer = || Some("outer".to_owned());
        assert_eq!(uris(&scope, [early, late, "q"]), [inner(), inner(), None]);
        scope.truncate(prefixes.len());
        assert_eq!(uris(&scope, [early, late, "q"]), [outer(), outer(), None]);
        scope.truncate(SEARCHED_MAX + 1);
        assert_eq!(uris(&scope, ["p16", "p17", early]), [outer(), None, outer()]);
        scope.truncate(0);
        assert_eq!(uris(&scope, ["p16", "p17", early]), [None, None, None]);
    }
}
