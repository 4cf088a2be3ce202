//! `Name`: an identifier that compares without regard to case.

use std::borrow::Borrow;
use std::cmp::Ordering;

/// An identifier: keeps its spelling, compares case-insensitively (simple upper-case folding).
#[derive(Clone, Debug)]
pub struct Name(Box<str>);

impl Name {
    /// Makes a name with this spelling.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns the original spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the folded form: two spellings are the same name if their folded forms are equal.
    pub fn folded(name: &str) -> String {
        name.chars().map(fold).collect()
    }

    /// Returns whether two identifiers are the same name.
    #[inline]
    pub fn same(a: &str, b: &str) -> bool {
        // Fast path: most names that are compared differ in the first letter.
        if let ([x, ..], [y, ..]) = (a.as_bytes(), b.as_bytes())
            && x.is_ascii()
            && y.is_ascii()
            && !x.eq_ignore_ascii_case(y)
        {
            return false;
        }
        a.len() == b.len() && a.eq_ignore_ascii_case(b) || is_same_beyond_ascii(a, b)
    }
}

#[inline(never)]
fn is_same_beyond_ascii(a: &str, b: &str) -> bool {
    !(a.is_ascii() && b.is_ascii()) && compare(a, b).is_eq()
}

fn compare(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes().iter(), b.as_bytes().iter());
    loop {
        match (left.next(), right.next()) {
            (Some(x), Some(y)) if x.is_ascii() && y.is_ascii() => {
                match x.to_ascii_uppercase().cmp(&y.to_ascii_uppercase()) {
                    Ordering::Equal => {}
                    unequal => return unequal,
                }
            }
            (Some(_), Some(_)) => break,
            (x, y) => return x.is_some().cmp(&y.is_some()),
        }
    }
    compare_chars(a, b)
}

fn fold(c: char) -> char {
    c.to_uppercase().next().unwrap_or(c)
}

fn compare_chars(a: &str, b: &str) -> Ordering {
    a.chars().map(fold).cmp(b.chars().map(fold))
}

/// A name, or a pair of schema and object name: the borrowed key by which maps of names are
/// searched without allocating.
pub(super) trait Parts {
    /// Returns the first name, and the second one of a pair.
    fn parts(&self) -> (&str, &str);
}

impl Parts for Name {
    fn parts(&self) -> (&str, &str) {
        (&self.0, "")
    }
}

impl Parts for (Name, Name) {
    fn parts(&self) -> (&str, &str) {
        (&self.0.0, &self.1.0)
    }
}

impl Parts for (&str, &str) {
    fn parts(&self) -> (&str, &str) {
        *self
    }
}

impl<'a> Borrow<dyn Parts + 'a> for Name {
    fn borrow(&self) -> &(dyn Parts + 'a) {
        self
    }
}

impl<'a> Borrow<dyn Parts + 'a> for (Name, Name) {
    fn borrow(&self) -> &(dyn Parts + 'a) {
        self
    }
}

impl PartialEq for dyn Parts + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for dyn Parts + '_ {}

impl PartialOrd for dyn Parts + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for dyn Parts + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        let (mine, theirs) = (self.parts(), other.parts());
        compare(mine.0, theirs.0).then_with(|| compare(mine.1, theirs.1))
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Name {}
impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}
impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}
impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_compare_by_their_folded_characters() {
        let names =
            ["", "a", "A", "ab", "AB", "aÄ", "Aä", "ä", "Ä", "b", "ß", "é", "K", "\u{212A}"];
        for a in names {
            for b in names {
                let folded = compare_chars(a, b);
                assert_eq!(compare(a, b), folded, "{a} {b}");
                assert_eq!(Name::same(a, b), folded.is_eq(), "{a} {b}");
                let (left, right): (&dyn Parts, &dyn Parts) = (&("dbo", a), &("DBO", b));
                assert_eq!(left.cmp(right), folded, "{a} {b}");
            }
        }
    }
}
