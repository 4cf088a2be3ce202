//! `Ranges`: holds on key ranges, found by a key that a writer adds or removes.
//!
//! Most ranges come from lookups: all keys that start with some bytes. They are found by hashing
//! those bytes, however many there are; other ranges are searched one by one.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use smallvec::SmallVec;

use crate::row_lock::Held;
use crate::spec::{Bounds, IndexId};
use crate::version::TxState;

/// A range of keys of one index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) index: IndexId,
    lower: Bound<Box<[u8]>>,
    upper: Bound<Box<[u8]>>,
}

impl KeyRange {
    pub(crate) fn new(index: IndexId, bounds: Bounds<'_>) -> Self {
        Self { index, lower: bounds.lower.map(Box::from), upper: bounds.upper.map(Box::from) }
    }

    pub(crate) fn bounds(&self) -> Bounds<'_> {
        Bounds {
            lower: self.lower.as_ref().map(|key| &**key),
            upper: self.upper.as_ref().map(|key| &**key),
        }
    }

    /// Returns the prefix whose keys are exactly this range, if there is one.
    fn prefix(&self) -> Option<&[u8]> {
        prefix_of(self.bounds())
    }
}

fn prefix_of(bounds: Bounds<'_>) -> Option<&[u8]> {
    match (bounds.lower, bounds.upper) {
        (Bound::Included(lower), Bound::Included(upper)) if lower == upper => Some(lower),
        _ => None,
    }
}

type Holders = SmallVec<[Held; 1]>;

/// The holds on the key ranges of a table.
#[derive(Default)]
pub(super) struct Ranges {
    /// Holds on prefix ranges, by index and prefix.
    points: HashMap<(IndexId, Box<[u8]>), Holders, foldhash::fast::FixedState>,
    /// The number of prefix ranges of each length, so that only lengths in use are looked up.
    lengths: BTreeMap<(IndexId, usize), usize>,
    spans: Vec<(KeyRange, Holders)>,
}

impl Ranges {
    pub(super) fn is_empty(&self) -> bool {
        self.points.is_empty() && self.spans.is_empty()
    }

    pub(super) fn add(&mut self, range: &KeyRange, held: Held) {
        let Some(prefix) = range.prefix() else {
            match self.spans.iter_mut().find(|(other, _)| other == range) {
                Some((_, holders)) => holders.push(held),
                None => self.spans.push((range.clone(), Holders::from_elem(held, 1))),
            }
            return;
        };
        let holders = self.points.entry((range.index, prefix.into())).or_default();
        if holders.is_empty() {
            *self.lengths.entry((range.index, prefix.len())).or_default() += 1;
        }
        holders.push(held);
    }

    pub(super) fn remove(&mut self, range: &KeyRange, state: *const TxState) {
        let Some(prefix) = range.prefix() else {
            for (_, holders) in self.spans.iter_mut().filter(|(other, _)| other == range) {
                holders.retain(|held| !held.is_of(state));
            }
            self.spans.retain(|(_, holders)| !holders.is_empty());
            return;
        };
        let key = (range.index, Box::from(prefix));
        let Some(holders) = self.points.get_mut(&key) else { return };
        holders.retain(|held| !held.is_of(state));
        if holders.is_empty() {
            self.points.remove(&key);
            let length = (range.index, prefix.len());
            if let Some(count) = self.lengths.get_mut(&length) {
                *count -= 1;
                if *count == 0 {
                    self.lengths.remove(&length);
                }
            }
        }
    }

    /// Returns the holds on exactly this range.
    pub(super) fn at(&self, range: &KeyRange) -> &[Held] {
        match range.prefix() {
            Some(prefix) => {
                self.points.get(&(range.index, Box::from(prefix))).map_or(&[], |held| held)
            }
            None => {
                let found = self.spans.iter().find(|(other, _)| other == range);
                found.map_or(&[], |(_, holders)| holders)
            }
        }
    }

    pub(super) fn all(&self, each: &mut dyn FnMut(&Held)) {
        self.points.values().flatten().for_each(&mut *each);
        self.spans.iter().flat_map(|(_, holders)| holders).for_each(each);
    }

    /// Runs `each` on every range with its holds.
    pub(super) fn each(&self, each: &mut dyn FnMut(&KeyRange, &Held)) {
        for ((index, key), holders) in &self.points {
            let range = KeyRange::new(*index, Bounds::prefix(key));
            holders.iter().for_each(|held| each(&range, held));
        }
        for (range, holders) in &self.spans {
            holders.iter().for_each(|held| each(range, held));
        }
    }

    /// Runs `each` on the holds of ranges that may share a key with `bounds`.
    pub(super) fn overlapping(
        &self,
        index: IndexId,
        bounds: Bounds<'_>,
        each: &mut dyn FnMut(&Held),
    ) {
        for (range, holders) in &self.spans {
            if range.index == index && !are_apart(range.bounds(), bounds) {
                holders.iter().for_each(&mut *each);
            }
        }
        let prefix = prefix_of(bounds);
        let mut lengths = self.lengths.range((index, 0)..=(index, usize::MAX)).map(|(at, _)| at.1);
        if let Some(prefix) = prefix
            && self.lengths.range((index, prefix.len() + 1)..=(index, usize::MAX)).next().is_none()
        {
            for length in lengths {
                let holders = self.points.get(&(index, Box::from(&prefix[..length])));
                holders.into_iter().flatten().for_each(&mut *each);
            }
            return;
        }
        if lengths.next().is_none() {
            return;
        }
        for ((other, key), holders) in &self.points {
            if *other == index && !are_apart(Bounds::prefix(key), bounds) {
                holders.iter().for_each(&mut *each);
            }
        }
    }
}

/// Returns whether two ranges have no key in common.
fn are_apart(one: Bounds<'_>, other: Bounds<'_>) -> bool {
    is_below(one.upper, other.lower) || is_below(other.upper, one.lower)
}

/// Returns whether every key up to `upper` is below every key from `lower`. A bound is compared
/// with as many leading bytes of a key as it has.
fn is_below(upper: Bound<&[u8]>, lower: Bound<&[u8]>) -> bool {
    let (u, l) = match (upper, lower) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => return false,
        (Bound::Included(u) | Bound::Excluded(u), Bound::Included(l) | Bound::Excluded(l)) => {
            (u, l)
        }
    };
    let common = u.len().min(l.len());
    match u[..common].cmp(&l[..common]) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Greater => false,
        std::cmp::Ordering::Equal => {
            // One is a prefix of the other: they share keys, unless the shorter one excludes them.
            let upper_excludes = matches!(upper, Bound::Excluded(_)) && u.len() <= l.len();
            let lower_excludes = matches!(lower, Bound::Excluded(_)) && l.len() <= u.len();
            upper_excludes || lower_excludes
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::row_lock::Hold;

    fn bounds<'a>(lower: Bound<&'a [u8]>, upper: Bound<&'a [u8]>) -> Bounds<'a> {
        Bounds { lower, upper }
    }

    /// For every pair of ranges over short keys: they are apart only if no key is in both.
    #[test]
    fn ranges_that_are_apart_have_no_key_in_common_and_points_are_found() {
        let keys: Vec<Vec<u8>> = (0..27).map(|n| vec![n / 9, n / 3 % 3, n % 3]).collect();
        let edges: Vec<Vec<u8>> =
            vec![vec![1], vec![0, 2], vec![1, 1], vec![1, 1, 1], vec![2, 0], vec![0, 0, 2]];
        let mut all = vec![Bounds::ALL];
        for one in &edges {
            all.push(Bounds::prefix(one));
            all.push(bounds(Bound::Excluded(one), Bound::Unbounded));
            all.push(bounds(Bound::Unbounded, Bound::Excluded(one)));
            for other in &edges {
                all.push(bounds(Bound::Included(one), Bound::Included(other)));
                all.push(bounds(Bound::Included(one), Bound::Excluded(other)));
                all.push(bounds(Bound::Excluded(one), Bound::Included(other)));
            }
        }
        let (index, state) = (IndexId(1), std::ptr::null());
        for one in &all {
            let mut ranges = Ranges::default();
            let range = KeyRange::new(index, *one);
            ranges.add(&range, Held { state, hold: Hold::Shared });
            for other in &all {
                let shared = keys.iter().any(|key| one.contains(key) && other.contains(key));
                assert!(!shared || !are_apart(*one, *other), "{one:?} {other:?}");
                let mut found = 0;
                ranges.overlapping(index, *other, &mut |_| found += 1);
                assert!(!shared || found == 1, "{one:?} {other:?}");
            }
            for key in &keys {
                let mut found = 0;
                ranges.overlapping(index, Bounds::prefix(key), &mut |_| found += 1);
                assert_eq!(found, usize::from(one.contains(key)), "{one:?} {key:?}");
            }
            ranges.remove(&range, state);
            assert!(ranges.is_empty() && ranges.lengths.is_empty());
        }
    }
}
