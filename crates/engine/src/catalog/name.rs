//! `Name`: an identifier that compares without regard to case.

use std::cmp::Ordering;

/// An identifier: keeps its spelling, compares case-insensitively (simple upper-case folding).
#[derive(Clone, Debug)]
pub struct Name(Box<str>);

impl Name {
    /// Wraps an identifier.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns it as spelled.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether two identifiers are the same name.
    pub fn same(a: &str, b: &str) -> bool {
        a.eq_ignore_ascii_case(b) || (!(a.is_ascii() && b.is_ascii()) && compare(a, b).is_eq())
    }
}

fn compare(a: &str, b: &str) -> Ordering {
    let fold = |c: char| c.to_uppercase().next().unwrap_or(c);
    a.chars().map(fold).cmp(b.chars().map(fold))
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
