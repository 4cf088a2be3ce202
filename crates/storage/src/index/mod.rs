//! Indexes: from key bytes to row heads.
//!
//! An entry (key, head) exists as long as some version in the head's chain has that key. Several
//! heads may have one key even in a unique index: at most one of them is live, the others are dead
//! rows that old snapshots still need. Whoever adds an entry to a unique index checks the others under
//! the latch that adding needs anyway.

mod locked;

use std::ops::ControlFlow;

use crate::head::RowHead;
use crate::reclaim::Guard;
use crate::row::RowId;
use crate::scan::{Bounds, Order};
use crate::table::{IndexId, IndexKind, IndexSpec, IndexStatistics, KeyExtractor, Uniqueness};

pub(crate) use locked::LockedIndex;

/// An index of a table.
pub(crate) struct Index {
    pub(crate) id: IndexId,
    pub(crate) kind: IndexKind,
    pub(crate) uniqueness: Uniqueness,
    pub(crate) extractor: Box<dyn KeyExtractor>,
    entries: LockedIndex,
}

/// An entry as a range walk returns it.
pub(crate) struct Entry<'a> {
    pub(crate) key: Box<[u8]>,
    pub(crate) head: &'a RowHead,
}

impl Index {
    pub(crate) fn new(spec: IndexSpec) -> Self {
        Self {
            id: spec.id,
            kind: spec.kind,
            uniqueness: spec.uniqueness,
            extractor: spec.extractor,
            entries: LockedIndex::new(),
        }
    }

    /// Adds the entry unless it is there. Under the latch, `check` sees every other head with this key
    /// and may refuse; `publish` runs when the entry is in, still under the latch.
    pub(crate) fn add<E>(
        &self,
        key: &[u8],
        head: &RowHead,
        guard: &Guard,
        check: impl FnMut(&RowHead) -> Result<(), E>,
        publish: impl FnOnce(),
    ) -> Result<(), E> {
        self.entries.add(key, head, guard, check, publish)
    }

    /// Removes the entry if, under the latch, `is_dead` says that no version has the key.
    pub(crate) fn remove(
        &self,
        key: &[u8],
        head: &RowHead,
        guard: &Guard,
        is_dead: impl FnOnce() -> bool,
    ) {
        self.entries.remove(key, head, guard, is_dead);
    }

    /// Shows every head that may have this key.
    pub(crate) fn find<'a>(
        &'a self,
        key: &[u8],
        guard: &Guard,
        show: impl FnMut(&'a RowHead) -> ControlFlow<()>,
    ) {
        self.entries.find(key, guard, show);
    }

    /// Appends the next entries within `bounds` behind `after` to `batch`; none at the end.
    pub(crate) fn walk<'a>(
        &'a self,
        bounds: Bounds<'_>,
        order: Order,
        after: Option<(&[u8], RowId)>,
        guard: &Guard,
        batch: &mut Vec<Entry<'a>>,
    ) {
        self.entries.walk(bounds, order, after, guard, batch);
    }

    /// Tells whether a reader who got to `head` through this index must compare the key itself.
    pub(crate) fn is_verified_by_reader(&self, head: &RowHead) -> bool {
        head.have_keys_changed()
    }

    pub(crate) fn statistics(&self) -> IndexStatistics {
        self.entries.statistics()
    }

    pub(crate) fn memory(&self) -> u64 {
        self.entries.memory()
    }
}
