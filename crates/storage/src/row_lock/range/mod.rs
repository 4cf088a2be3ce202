//! `Ranges`: holds on key ranges, found by a key that a writer adds or removes.
//!
//! Most ranges come from lookups: all keys that start with some bytes. They are found by those
//! bytes, however many there are. Other ranges, the spans, are in the order of their lower bounds;
//! those that begin at or below a key are searched one by one.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::{Bound, ControlFlow};

use crate::row_lock::holders::Holders;
use crate::row_lock::{Each, Held};
use crate::spec::{Bounds, IndexId};

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

    fn order(&self) -> (IndexId, Rank<'_>, Rank<'_>) {
        (self.index, rank(&self.lower), rank(&self.upper))
    }

    /// Returns the prefix whose keys are exactly this range, if there is one.
    fn prefix(&self) -> Option<&[u8]> {
        prefix_of(self.bounds())
    }
}

/// By index, then by lower and upper bound; the range of every key of an index is its first.
impl Ord for KeyRange {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for KeyRange {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A bound in the order of bounds: its key, and whether it is the one of two with this key that is behind.
type Rank<'a> = Option<(&'a [u8], bool)>;

fn rank(bound: &Bound<Box<[u8]>>) -> Rank<'_> {
    match bound {
        Bound::Unbounded => None,
        Bound::Included(key) => Some((key, false)),
        Bound::Excluded(key) => Some((key, true)),
    }
}

fn prefix_of(bounds: Bounds<'_>) -> Option<&[u8]> {
    match (bounds.lower, bounds.upper) {
        (Bound::Included(lower), Bound::Included(upper)) if lower == upper => Some(lower),
        _ => None,
    }
}

/// The holds on the prefix ranges of one index.
#[derive(Default)]
struct Points {
    by_prefix: BTreeMap<Box<[u8]>, Holders>,
    /// The number of prefixes of each length, so that only lengths in use are looked up.
    lengths: BTreeMap<usize, usize>,
}

/// The holds on the key ranges of a table.
#[derive(Default)]
pub(super) struct Ranges {
    /// Empty ones stay until the book is closed, so that a lookup does not allocate them each time.
    points: BTreeMap<IndexId, Points>,
    spans: BTreeMap<KeyRange, Holders>,
}

impl Points {
    fn add(&mut self, prefix: &[u8], held: Held) {
        let holders = self.by_prefix.entry(prefix.into()).or_default();
        if holders.is_empty() {
            *self.lengths.entry(prefix.len()).or_default() += 1;
        }
        holders.push(held);
    }

    fn change(&mut self, prefix: &[u8], change: impl FnOnce(&mut Holders)) {
        let Some(holders) = self.by_prefix.get_mut(prefix) else { return };
        change(holders);
        if !holders.is_empty() {
            return;
        }
        self.by_prefix.remove(prefix);
        if let Entry::Occupied(mut count) = self.lengths.entry(prefix.len()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// Runs `each` on the holds of prefixes that may share a key with `bounds`.
    fn overlapping(&self, bounds: Bounds<'_>, each: Each<'_>) -> ControlFlow<()> {
        let lower: &[u8] = match bounds.lower {
            Bound::Unbounded => &[],
            Bound::Included(lower) | Bound::Excluded(lower) => lower,
        };
        // What is below the lower bound shares a key with it only if it is a prefix of it.
        for (length, _) in self.lengths.range(..lower.len()) {
            let prefix = &lower[..*length];
            if let Some(holders) = self.by_prefix.get(prefix)
                && !are_apart(Bounds::prefix(prefix), bounds)
            {
                each(holders)?;
            }
        }
        let from = (Bound::Included(lower), Bound::Unbounded);
        for (prefix, holders) in self.by_prefix.range::<[u8], _>(from) {
            if is_behind(prefix, bounds.upper) {
                break;
            }
            if !are_apart(Bounds::prefix(prefix), bounds) {
                each(holders)?;
            }
        }
        ControlFlow::Continue(())
    }
}

impl Ranges {
    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.points.values().all(|points| points.by_prefix.is_empty())
    }

    pub(super) fn add(&mut self, range: &KeyRange, held: Held) {
        match range.prefix() {
            Some(prefix) => self.points.entry(range.index).or_default().add(prefix, held),
            None => self.spans.entry(range.clone()).or_default().push(held),
        }
    }

    /// Changes the holds on exactly this range, and forgets them if none is left.
    pub(super) fn change(&mut self, range: &KeyRange, change: impl FnOnce(&mut Holders)) {
        if let Some(prefix) = range.prefix() {
            if let Some(points) = self.points.get_mut(&range.index) {
                points.change(prefix, change);
            }
        } else if let Some(holders) = self.spans.get_mut(range) {
            change(holders);
            if holders.is_empty() {
                self.spans.remove(range);
            }
        }
    }

    /// Returns the holds on exactly this range.
    pub(super) fn at(&self, range: &KeyRange) -> Option<&Holders> {
        match range.prefix() {
            Some(prefix) => {
                self.points.get(&range.index).and_then(|points| points.by_prefix.get(prefix))
            }
            None => self.spans.get(range),
        }
    }

    /// Returns the holds on all ranges, each of which is freed when it is dropped.
    pub(super) fn into_holders(self) -> impl Iterator<Item = Holders> {
        let points = self.points.into_values().flat_map(|points| points.by_prefix.into_values());
        points.chain(self.spans.into_values())
    }

    /// Returns the ranges from `first` on, or all, with their holds: prefixes first, then spans.
    pub(super) fn starting_at<'a>(
        &'a self,
        first: Option<&'a KeyRange>,
    ) -> impl Iterator<Item = (KeyRange, &'a Holders)> {
        let first_prefix = first.and_then(KeyRange::prefix);
        let is_at_spans = first.is_some() && first_prefix.is_none();
        let first_index = first.map_or(IndexId(0), |first| first.index);
        let points = self.points.range(first_index..).filter(move |_| !is_at_spans);
        let points = points.flat_map(move |(index, points)| {
            let from = match first_prefix.filter(|_| first_index == *index) {
                Some(prefix) => Bound::Included(prefix),
                None => Bound::Unbounded,
            };
            let points = points.by_prefix.range::<[u8], _>((from, Bound::Unbounded));
            points.map(|(prefix, held)| (KeyRange::new(*index, Bounds::prefix(prefix)), held))
        });
        let from = first.filter(|_| is_at_spans).map_or(Bound::Unbounded, Bound::Included);
        let spans = self.spans.range((from, Bound::Unbounded));
        points.chain(spans.map(|(range, held)| (range.clone(), held)))
    }

    /// Runs `each` on the holds of ranges that may share a key with `bounds`.
    pub(super) fn overlapping(
        &self,
        index: IndexId,
        bounds: Bounds<'_>,
        each: Each<'_>,
    ) -> ControlFlow<()> {
        if let Some(points) = self.points.get(&index) {
            points.overlapping(bounds, each)?;
        }
        for (range, holders) in self.spans.range(KeyRange::new(index, Bounds::ALL)..) {
            let is_behind = match &range.lower {
                Bound::Unbounded => false,
                Bound::Included(lower) | Bound::Excluded(lower) => is_behind(lower, bounds.upper),
            };
            if range.index != index || is_behind {
                break;
            }
            if !are_apart(range.bounds(), bounds) {
                each(holders)?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns whether a lower bound, and so each that is above it, is above all keys up to `upper`. A
/// bound that starts with the other one may not be.
fn is_behind(lower: &[u8], upper: Bound<&[u8]>) -> bool {
    let (Bound::Included(upper) | Bound::Excluded(upper)) = upper else { return false };
    let common = lower.len().min(upper.len());
    lower[..common] > upper[..common]
}

/// Returns whether two ranges have no key in common.
pub(super) fn are_apart(one: Bounds<'_>, other: Bounds<'_>) -> bool {
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
mod tests;
