//! Ranges of index keys, and the direction in which they are read.

use std::ops::Bound;

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Ascending: smallest key first.
    Forward,
    /// Descending: largest key first.
    Backward,
}

/// A range of keys. A bound is compared with as many leading bytes of a key as the bound has. So
/// the key of the first n columns bounds a range of whole keys, and `Included(p)..=Included(p)` is
/// every key that starts with `p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds<'a> {
    /// Where the range begins.
    pub lower: Bound<&'a [u8]>,
    /// Where the range ends.
    pub upper: Bound<&'a [u8]>,
}

impl<'a> Bounds<'a> {
    /// The range of every key.
    pub const ALL: Self = Self { lower: Bound::Unbounded, upper: Bound::Unbounded };

    /// Returns whether `key` is in the range.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let lower = match self.lower {
            Bound::Unbounded => true,
            Bound::Included(bound) => prefix_of(key, bound) >= bound,
            Bound::Excluded(bound) => prefix_of(key, bound) > bound,
        };
        lower
            && match self.upper {
                Bound::Unbounded => true,
                Bound::Included(bound) => prefix_of(key, bound) <= bound,
                Bound::Excluded(bound) => prefix_of(key, bound) < bound,
            }
    }

    /// The range of every key that starts with `prefix`; for a whole key, that key.
    pub const fn prefix(prefix: &'a [u8]) -> Self {
        Self { lower: Bound::Included(prefix), upper: Bound::Included(prefix) }
    }
}

fn prefix_of<'a>(key: &'a [u8], bound: &[u8]) -> &'a [u8] {
    &key[..key.len().min(bound.len())]
}
