//! `Operations`: what has happened to the entries of an index, or to the rows of a heap, for
//! `sys.dm_db_index_operational_stats`.
//!
//! A table counts what happens to its rows, an index what happens to its entries; each thread in a
//! place that no other thread writes. Nothing is taken back when a transaction rolls back.
//!
//! ```text
//!  table ─► rows inserted, updated, deleted; scans in heap order; locks and waits
//!  index ─► entries added, removed, moved to another key; look-ups, scans of a range
//! ```
//! The clustered index has the rows: its counts are those of the table and its own look-ups,
//! scans and moves.

use crate::index::Growth;
use crate::primitives::{Tally, monotonic_ns, pin};
use crate::spec::{IndexId, Result, RowImage};
use crate::store::{IndexSet, Table};
use crate::version::VersionKind;

/// What has happened to the rows of a table, as one thread has counted it.
#[derive(Default)]
pub(crate) struct RowTally {
    pub(crate) inserted: Tally,
    pub(crate) updated: Tally,
    pub(crate) deleted: Tally,
    scans: Tally,
    locks: Tally,
    waits: Tally,
    wait_ns: Tally,
}

/// What has happened to the entries of an index, or to the rows of a heap, since it was created or
/// the server has started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Rows or entries inserted; an entry that moves to another key is one.
    pub inserts: u64,
    /// Rows changed in place.
    pub updates: u64,
    /// Rows or entries marked as deleted, which are removed when no snapshot needs them; an entry
    /// that moves to another key is one.
    pub ghosts: u64,
    /// Scans of all rows or of a range of keys, by their beginnings.
    pub range_scans: u64,
    /// Look-ups of a whole key of a unique index.
    pub lookups: u64,
    /// Rows locked, by writing them too.
    pub row_locks: u64,
    /// Waits for another session's lock on a row.
    pub row_lock_waits: u64,
    /// Nanoseconds of those waits.
    pub row_lock_wait_ns: u64,
    /// The tree's nodes that were added and removed; `None` for a heap and a hash index.
    pub growth: Option<Growth>,
}

impl Table {
    /// Returns what has happened to the rows: to the heap, or to the clustered index `index`.
    pub fn row_operations(&self, index: Option<IndexId>) -> Operations {
        let sum = |of: fn(&RowTally) -> &Tally| self.tallies().map(|tally| of(tally).get()).sum();
        let rows = Operations {
            inserts: sum(|rows| &rows.inserted),
            updates: sum(|rows| &rows.updated),
            ghosts: sum(|rows| &rows.deleted),
            range_scans: sum(|rows| &rows.scans),
            row_locks: sum(|rows| &rows.locks),
            row_lock_waits: sum(|rows| &rows.waits),
            row_lock_wait_ns: sum(|rows| &rows.wait_ns),
            ..Operations::default()
        };
        let guard = pin();
        let index = index.and_then(|id| self.index(id, &guard).ok());
        let Some(index) = index else { return rows };
        let moved = index.counts.sum(|entries| &entries.moved);
        Operations {
            inserts: rows.inserts + moved,
            updates: rows.updates.saturating_sub(moved),
            ghosts: rows.ghosts + moved,
            range_scans: rows.range_scans + index.counts.sum(|entries| &entries.scans),
            lookups: index.counts.sum(|entries| &entries.lookups),
            growth: index.growth(),
            ..rows
        }
    }

    /// Returns what has happened to the entries of a nonclustered index; `None` if there is no such
    /// index.
    pub fn entry_operations(&self, index: IndexId) -> Option<Operations> {
        let guard = pin();
        let index = self.index(index, &guard).ok()?;
        let moved = index.counts.sum(|entries| &entries.moved);
        Some(Operations {
            inserts: index.counts.sum(|entries| &entries.added) + moved,
            ghosts: index.counts.sum(|entries| &entries.removed) + moved,
            range_scans: index.counts.sum(|entries| &entries.scans),
            lookups: index.counts.sum(|entries| &entries.lookups),
            growth: index.growth(),
            ..Operations::default()
        })
    }

    /// Counts a scan of rows in heap order.
    pub(crate) fn count_scan(&self) {
        self.tally().scans.add(1);
    }

    /// Counts a lock on a row that a transaction reads, or claims.
    pub(crate) fn count_lock(&self) {
        self.tally().locks.add(1);
    }

    /// Counts a row that was inserted, with the lock on it.
    #[inline]
    pub(crate) fn count_insert(&self) {
        let tally = self.tally();
        tally.inserted.add(1);
        tally.locks.add(1);
    }

    /// Counts a row that was changed or deleted; `is_own` if the transaction had locked it before.
    #[inline]
    pub(crate) fn count_change(
        &self,
        set: &IndexSet,
        (kind, before): (VersionKind, RowImage<'_>),
        is_own: bool,
    ) {
        let tally = self.tally();
        tally.locks.add(u64::from(!is_own));
        match kind {
            VersionKind::Tombstone => {
                tally.deleted.add(1);
                set.list.iter().filter(|i| i.has_entry_of(before)).for_each(|index| {
                    index.counts.count_removed();
                });
            }
            VersionKind::Data | VersionKind::Lock | VersionKind::Moved => tally.updated.add(1),
        }
    }

    /// Runs a wait for another transaction's lock on a row, and counts it.
    pub(crate) fn counted_wait(&self, wait: impl FnOnce() -> Result<()>) -> Result<()> {
        let began_ns = monotonic_ns();
        let waited = wait();
        let tally = self.tally();
        tally.waits.add(1);
        tally.wait_ns.add(monotonic_ns().saturating_sub(began_ns));
        waited
    }
}
