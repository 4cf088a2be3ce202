//! `EntryCounts`: what has happened to the entries of an index (`store/operations.rs`), and `Growth`: how
//! often the nodes of its trees were split and removed.

use crate::primitives::{Shards, Tally};

/// What has happened to the entries of an index, as one thread has counted it.
#[derive(Default)]
pub(crate) struct EntryTally {
    pub(crate) added: Tally,
    pub(crate) removed: Tally,
    pub(crate) moved: Tally,
    pub(crate) lookups: Tally,
    pub(crate) scans: Tally,
}

/// What has happened to the entries of an index.
#[derive(Default)]
pub(crate) struct EntryCounts(Shards<EntryTally>);

impl EntryCounts {
    /// Counts an entry of a new row.
    #[inline]
    pub(crate) fn count_added(&self) {
        self.0.own().added.add(1);
    }

    /// Counts an entry whose row has been deleted.
    #[inline]
    pub(crate) fn count_removed(&self) {
        self.0.own().removed.add(1);
    }

    /// Counts an entry for the new key of a row, and that the old one has gone.
    #[inline]
    pub(crate) fn count_moved(&self) {
        self.0.own().moved.add(1);
    }

    /// Counts look-ups of whole keys of a unique index.
    #[inline]
    pub(crate) fn count_lookups(&self, lookups: u64) {
        self.0.own().lookups.add(lookups);
    }

    /// Counts scans of a range of keys.
    #[inline]
    pub(crate) fn count_scans(&self, scans: u64) {
        self.0.own().scans.add(scans);
    }

    /// Returns one of the counts, of all threads.
    pub(crate) fn sum(&self, of: fn(&EntryTally) -> &Tally) -> u64 {
        self.0.iter().map(|tally| of(tally).get()).sum()
    }
}

/// How often nodes were added to the trees of a range index, and removed from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// Leaves added, by splits.
    pub leaves: u64,
    /// Nodes above the leaves added, by splits and as new roots.
    pub inner: u64,
    /// Separators added to nodes above the leaves: one for each split.
    pub separators: u64,
    /// Separators removed, with the empty nodes below them.
    pub removed: u64,
}

/// Counts the growth of one tree. Splits are rare and write lines that other threads read anyway,
/// so all threads share one place.
#[derive(Default)]
pub(super) struct GrowthTally {
    leaves: Tally,
    inner: Tally,
    separators: Tally,
    removed: Tally,
}

impl GrowthTally {
    /// Counts the split of a node; `is_root` if the tree got a new root above it.
    pub(super) fn count_split(&self, is_leaf: bool, is_root: bool) {
        let split = if is_leaf { &self.leaves } else { &self.inner };
        split.add_shared(1);
        self.inner.add_shared(u64::from(is_root));
        self.separators.add_shared(1);
    }

    /// Counts the removal of an empty leaf and of the nodes that had no other.
    pub(super) fn count_removed(&self) {
        self.removed.add_shared(1);
    }

    /// Adds the counts to those of other trees of the index.
    pub(super) fn add_to(&self, sums: &mut Growth) {
        sums.leaves += self.leaves.get();
        sums.inner += self.inner.get();
        sums.separators += self.separators.get();
        sums.removed += self.removed.get();
    }
}
