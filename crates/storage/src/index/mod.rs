//! Indexes: from key bytes to row heads.
//!
//! An entry (key, head) exists as long as some version in the head's chain has that key. Several
//! heads may have one key even in a unique index: at most one of them is live, the others are dead
//! rows that old snapshots still need. Adding an entry to a unique index checks the other heads of
//! its key under the latch that adding takes anyway.
//!
//! This folder does not know which head is live, or what the bytes of a key mean: callers pass key
//! extractors, and closures that decide under the latch. Start with [`Index`]; `tree.rs` is the
//! range index, a B+ tree with optimistic latches over the nodes of `node.rs`; `spread.rs` reads
//! several such trees as one, so that threads that add rising keys do not meet in one leaf, and
//! `crowd.rs` notices where they do; `hash.rs` is the hash index.

mod build;
mod counts;
mod crowd;
mod hash;
mod key;
mod node;
mod spread;
#[cfg(test)]
mod tests;
mod tree;

use std::ops::{Bound, ControlFlow};

use types::Bytes;

use crate::index::hash::HashIndex;
use crate::index::spread::SpreadIndex;
use crate::primitives::{AtomicBool, Guard, Ordering};
use crate::spec::{
    Bounds, IndexId, IndexKind, IndexSpec, IndexStatistics, KeyExtractor, Order, RowId, RowImage,
    TableMemory, Uniqueness,
};
use crate::version::{RowHead, Version};
pub(crate) use build::Duplicate;
pub(crate) use counts::EntryCounts;
pub use counts::Growth;
pub(crate) use key::{has_key, key_differs, with_buffer};
pub(crate) use spread::{Ahead, own_part};
pub(crate) use tree::Finger;

/// An index of a table: a hash index or a range index. Each look-up reads it, so no block that threads write may be in
/// its cache lines.
#[repr(align(64))]
pub(crate) struct Index {
    pub(crate) id: IndexId,
    pub(crate) uniqueness: Uniqueness,
    pub(crate) extractor: Box<dyn KeyExtractor>,
    pub(crate) counts: EntryCounts,
    /// Whether a transaction that is still open has dropped it (`redefine/suspend.rs`).
    suspended: AtomicBool,
    entries: Entries,
}

enum Entries {
    Hash(Box<HashIndex>),
    Range(Box<SpreadIndex>),
}

/// An entry as a walk returns it.
pub(crate) struct Entry<'a> {
    pub(crate) key: Bytes,
    pub(crate) head: &'a RowHead,
}

impl Index {
    pub(crate) fn new(spec: IndexSpec) -> Self {
        let entries = match spec.kind {
            IndexKind::Hash { bucket_count } => {
                Entries::Hash(Box::new(HashIndex::new(bucket_count)))
            }
            IndexKind::Range => Entries::Range(Box::new(SpreadIndex::new())),
        };
        let IndexSpec { id, kind: _, uniqueness, extractor } = spec;
        let suspended = AtomicBool::new(false);
        Self { id, uniqueness, extractor, counts: EntryCounts::default(), suspended, entries }
    }

    /// Suspends the index or resumes it. A suspended one gets entries, but refuses no duplicates and is not found.
    pub(crate) fn set_suspended(&self, suspended: bool) {
        // Release: pairs with the Acquire in is_suspended.
        self.suspended.store(suspended, Ordering::Release);
    }

    /// Returns whether the index is suspended.
    pub(crate) fn is_suspended(&self) -> bool {
        // Acquire: pairs with the Release in set_suspended.
        self.suspended.load(Ordering::Acquire)
    }

    /// Returns whether two keys share the entry of a row: the same key or, in a hash index, the
    /// same hash. The empty key has no entry.
    pub(crate) fn is_same_entry(&self, key: &[u8], other: &[u8]) -> bool {
        if key.is_empty() || other.is_empty() {
            return false;
        }
        key == other
            || match &self.entries {
                Entries::Hash(index) => index.hash(key) == index.hash(other),
                Entries::Range(_) => false,
            }
    }

    /// Returns whether a row has an entry: all rows do, unless the index has a filter.
    pub(crate) fn has_entry_of(&self, image: RowImage<'_>) -> bool {
        let is_admitted = || {
            with_buffer(|key| {
                self.extractor.key(image, key);
                !key.is_empty()
            })
        };
        !self.extractor.is_filtered() || is_admitted()
    }

    /// Counts that a row's key has changed from that of `before`, where the index has a filter too.
    pub(crate) fn count_changed(&self, before: RowImage<'_>, has_entry: bool) {
        match (self.has_entry_of(before), has_entry) {
            (true, true) => self.counts.count_moved(),
            (true, false) => self.counts.count_removed(),
            (false, true) => self.counts.count_added(),
            (false, false) => {}
        }
    }

    /// Counts the beginning of a read of one key or prefix: a look-up if at most one row has it.
    #[inline]
    pub(crate) fn count_seeks(&self, seeks: u64) {
        match self.uniqueness {
            Uniqueness::NotUnique => self.counts.count_scans(seeks),
            Uniqueness::Unique => self.counts.count_lookups(seeks),
        }
    }

    /// Returns how often nodes were added and removed; `None` for a hash index.
    pub(crate) fn growth(&self) -> Option<Growth> {
        match &self.entries {
            Entries::Hash(_) => None,
            Entries::Range(index) => Some(index.growth()),
        }
    }

    /// Returns whether different keys of a row may share an entry, as in a hash index.
    pub(crate) fn shares_entries(&self) -> bool {
        matches!(self.entries, Entries::Hash(_))
    }

    /// Returns whether this is a range index that is not unique.
    pub(crate) fn is_plain_range(&self) -> bool {
        let is_range = match &self.entries {
            Entries::Range(_) => true,
            Entries::Hash(_) => false,
        };
        is_range && self.uniqueness == Uniqueness::NotUnique
    }

    /// Returns the part of this index that has the entry of a version (`spread.rs`).
    pub(crate) fn part_of(&self, version: &Version) -> u8 {
        if self.is_plain_range() { version.part() } else { 0 }
    }

    /// Returns whether each thread should add its entries to its own part.
    pub(crate) fn is_spread(&self) -> bool {
        match &self.entries {
            Entries::Hash(_) => false,
            Entries::Range(index) => self.uniqueness == Uniqueness::NotUnique && index.is_spread(),
        }
    }

    /// Adds the entry to a part unless it exists there. Under the latch, `check` sees the other heads that may have
    /// this key and may refuse; `publish` runs when the entry is in, still under the latch. If the
    /// index is unique, no other thread can add the key until then. A row with the empty key has no
    /// entry; then only `publish` runs.
    pub(crate) fn add<E>(
        &self,
        (key, head): (&[u8], &RowHead),
        part: u8,
        guard: &Guard,
        check: impl FnMut(&RowHead) -> Result<(), E>,
        publish: impl FnOnce(),
    ) -> Result<(), E> {
        if key.is_empty() {
            publish();
            return Ok(());
        }
        match &self.entries {
            Entries::Hash(index) => index.add(key, head, check, publish),
            Entries::Range(index) => {
                let tree = index.tree(part);
                tree.add((key, head), self.uniqueness, guard, check, publish)
            }
        }
    }

    /// Removes the entry of a part if, under the latch, `is_dead` says that no version needs it.
    pub(crate) fn remove(
        &self,
        (key, head): (&[u8], &RowHead),
        part: u8,
        guard: &Guard,
        is_dead: impl FnOnce() -> bool,
    ) {
        if key.is_empty() {
            return;
        }
        match &self.entries {
            Entries::Hash(index) => index.remove(key, head, is_dead),
            Entries::Range(index) => index.tree(part).remove(key, head, guard, is_dead),
        }
    }

    /// Shows every head that may have this key; several may, of which at most one is live.
    pub(crate) fn find<'a>(
        &'a self,
        key: &[u8],
        guard: &Guard,
        show: impl FnMut(&'a RowHead) -> ControlFlow<()>,
    ) {
        match &self.entries {
            Entries::Hash(index) => index.find(key, show),
            Entries::Range(index) => index.find(key, guard, show),
        }
    }

    /// Like [`Index::find`], for keys close to each other: `finger` remembers the last leaf.
    pub(crate) fn find_near<'a, 'g>(
        &'a self,
        key: &[u8],
        guard: &'g Guard,
        finger: &mut Finger<'g>,
        show: impl FnMut(&'a RowHead) -> ControlFlow<()>,
    ) where
        'a: 'g,
    {
        match &self.entries {
            Entries::Hash(index) => index.find(key, show),
            Entries::Range(index) => index.find_near(key, guard, finger, show),
        }
    }

    /// Shows some of the entries behind `from` (or from the start) whose keys start with `prefix`,
    /// in key order. Returns the last entry's key and row if there may be more behind it.
    ///
    /// # Panics
    /// If this is a hash index.
    pub(crate) fn find_under<'a, 'g>(
        &'a self,
        (prefix, from): (&[u8], Option<(&[u8], RowId)>),
        guard: &'g Guard,
        finger: &mut Finger<'g>,
        show: impl FnMut(&'g [u8], &'a RowHead),
    ) -> Option<(&'g [u8], RowId)>
    where
        'a: 'g,
    {
        match &self.entries {
            Entries::Hash(_) => panic!("a hash index knows whole keys only"),
            Entries::Range(index) => index.find_under(prefix, from, guard, finger, show),
        }
    }

    /// Continues a walk as [`Self::walk`]; `ahead` is kept from one batch to the next.
    pub(crate) fn walk_on<'a>(
        &'a self,
        (bounds, order): (Bounds<'_>, Order),
        after: Option<(&[u8], RowId)>,
        guard: &Guard,
        ahead: &mut Ahead<'a>,
        batch: &mut Vec<Entry<'a>>,
    ) -> bool {
        match &self.entries {
            Entries::Range(index) => index.walk_on((bounds, order), after, guard, ahead, batch),
            Entries::Hash(_) => self.walk(bounds, order, after, guard, batch),
        }
    }

    /// Appends the next entries within `bounds` behind `after` to `batch`; none at the end. Returns
    /// whether these are known to be the last.
    ///
    /// # Panics
    /// If this is a hash index and `bounds` is not one whole key.
    pub(crate) fn walk<'a>(
        &'a self,
        bounds: Bounds<'_>,
        order: Order,
        after: Option<(&[u8], RowId)>,
        guard: &Guard,
        batch: &mut Vec<Entry<'a>>,
    ) -> bool {
        let index = match &self.entries {
            Entries::Range(index) => return index.walk(bounds, order, after, guard, batch),
            Entries::Hash(index) => index,
        };
        let (Bound::Included(key), Bound::Included(upper)) = (bounds.lower, bounds.upper) else {
            panic!("a hash index is asked for whole keys only");
        };
        assert_eq!(key, upper, "a hash index is asked for whole keys only");
        let key = Bytes::copy_from(key);
        index.find(&key, |head| {
            batch.push(Entry { key: key.clone(), head });
            ControlFlow::Continue(())
        });
        // Sorted by row, so that a walk can go on behind one of them.
        batch.sort_unstable_by_key(|entry| entry.head.id());
        batch.dedup_by_key(|entry| entry.head.id());
        if let Some((_, id)) = after {
            batch.retain(|entry| entry.head.id() > id);
        }
        true
    }

    /// Returns whether a reader that came to `head` through this index must compare the key itself.
    pub(crate) fn is_verified_by_reader(&self, head: &RowHead) -> bool {
        match &self.entries {
            Entries::Hash(_) => true,
            Entries::Range(_) => head.have_keys_changed(),
        }
    }

    /// Returns whether a version that was read from `head` is known to have the key of the entry that
    /// led to it. For readers of the newest version: a head is given to another row only after all
    /// snapshots that see the first one have ended.
    #[inline]
    pub(crate) fn has_key_of_entry(&self, head: &RowHead) -> bool {
        match &self.entries {
            // Different keys may have one hash.
            Entries::Hash(_) => false,
            Entries::Range(_) => head.has_one_key(),
        }
    }

    pub(crate) fn statistics(&self, guard: &Guard) -> IndexStatistics {
        match &self.entries {
            Entries::Hash(index) => index.statistics(),
            Entries::Range(index) => index.statistics(guard),
        }
    }

    /// Adds the bytes of the index to a table's sums.
    pub(crate) fn add_memory(&self, sums: &mut TableMemory, guard: &Guard) {
        let bytes = match &self.entries {
            Entries::Hash(index) => index.memory(),
            Entries::Range(index) => index.memory(guard),
        };
        sums.used_indexes_bytes += bytes;
        sums.allocated_indexes_bytes += bytes;
    }
}
