//! Ranges of index keys, and the direction in which they are read.

use std::ops::Bound;

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Smallest key first.
    Forward,
    /// Largest key first.
    Backward,
}

/// A range of keys. A bound is compared with the first bytes of a key, as many as the bound has: so
/// the key of the first n columns bounds a range of whole keys, and `Included(p)..=Included(p)` is
/// every key that starts with `p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds<'a> {
    /// The smallest keys.
    pub lower: Bound<&'a [u8]>,
    /// The largest keys.
    pub upper: Bound<&'a [u8]>,
}

impl<'a> Bounds<'a> {
    /// Every key.
    pub const ALL: Self = Self { lower: Bound::Unbounded, upper: Bound::Unbounded };

    /// Tells whether `key` lies within.
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

    /// Every key that starts with `prefix`; for a whole key, that key.
    pub const fn prefix(prefix: &'a [u8]) -> Self {
        Self { lower: Bound::Included(prefix), upper: Bound::Included(prefix) }
    }
}

fn prefix_of<'a>(key: &'a [u8], bound: &[u8]) -> &'a [u8] {
    &key[..key.len().min(bound.len())]
}
