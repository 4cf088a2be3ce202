//! Scanning tables for a checkpoint: which ranges have changed, and the rows of a range.
//!
//! ```text
//! let generation = store.begin_checkpoint(..);      the number of this checkpoint
//! let first = log.durable() + 1;                    replay begins here
//! for range in table.changed_ranges(part, since) {  since: the number of the last checkpoint
//!     table.read_range(range, ..);
//! }
//! wait until the log is durable up to the present epoch, then publish
//! ```
//!
//! Each commit whose epoch is below `first` is in the scan, or in a range that has not changed
//! since the checkpoint before. `version/heap/ranges.rs` says why none falls in between.

use crate::primitives::{Cancel, Mutant, Ordering, PinWait, is_mutant, pin, wait_for_pins};
use crate::spec::{RowId, RowImage};
use crate::store::{Store, Table};
use crate::version::{HeapRange, VersionKind, newest};

/// Rows that are read under one pin.
const BATCH: usize = 64;

/// A range of rows of a table, as a checkpoint writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowRange {
    /// The part of the table: 0 for its own rows, 1 to 3 for the internal tables of a columnstore.
    pub part: u8,
    /// The id of the first row.
    pub first: RowId,
    /// The number of row ids, used or not; the same whenever the range exists.
    pub len: u64,
}

impl RowRange {
    fn of(part: u8, range: &HeapRange<'_>) -> Self {
        let len = u64::try_from(range.capacity()).unwrap_or(u64::MAX);
        Self { part, first: range.first, len }
    }
}

impl Store {
    /// Begins a checkpoint and returns its number, which is higher than that of the one before.
    /// Waits for the writers that may have seen that one; they do not wait. `None` if `cancel` was set first.
    pub fn begin_checkpoint(&self, cancel: Option<&Cancel>) -> Option<u64> {
        // SeqCst: ordered with the pins of the writers that read it.
        let number = self.shared().generation.fetch_add(1, Ordering::SeqCst) + 1;
        let has_waited =
            is_mutant(Mutant::CheckpointWithoutWait) || wait_for_pins(PinWait::Checkpoint, cancel);
        has_waited.then_some(number)
    }

    /// Returns the number of the present checkpoint. After recovery this is the number of the
    /// checkpoint on disk: the ranges that replay has changed count as changed since.
    pub fn checkpoint_number(&self) -> u64 {
        self.shared().generation.load(Ordering::SeqCst)
    }
}

impl Table {
    /// Returns the number of parts: 1, or 4 with a clustered columnstore.
    pub fn part_count(&self) -> u8 {
        u8::try_from(self.parts().count()).expect("at most 4")
    }

    /// Returns a part of the table: itself, or an internal table of a columnstore; `None` if it has no
    /// such part.
    pub fn part_at(&self, part: u8) -> Option<&Self> {
        self.parts().nth(part.into())
    }

    /// Returns the ranges of a part that have changed since a checkpoint began; all for 0.
    ///
    /// # Panics
    /// If the table has no such part.
    pub fn changed_ranges(&self, part: u8, since: u64) -> Vec<RowRange> {
        let heap = &self.part_at(part).expect("a part of the table").heap;
        let changed = heap.ranges().filter(|range| range.generation() >= since);
        changed.map(|range| RowRange::of(part, &range)).collect()
    }

    /// Shows each row of a range as its newest committed version has it, durable or not. `visit`
    /// should copy what it needs and return at once, because no memory is reclaimed while it runs.
    ///
    /// # Panics
    /// If the table has no such range.
    pub fn read_range(&self, range: RowRange, mut visit: impl FnMut(RowId, RowImage<'_>)) {
        let mut from = 0;
        while let Some(next) = self.read_run(range, from, &mut visit) {
            from = next;
        }
    }

    /// As [`Self::read_range`], for some row ids of the range from a place on, 0 at first. Returns the
    /// next place, or `None` at the end of the range: a caller may rest in between.
    ///
    /// # Panics
    /// If the table has no such range.
    pub fn read_run(
        &self,
        range: RowRange,
        from: usize,
        mut visit: impl FnMut(RowId, RowImage<'_>),
    ) -> Option<usize> {
        let heap = &self.part_at(range.part).expect("a part of the table").heap;
        let heads = heap.range_at(range.first).expect("ranges are never removed");
        let guard = pin();
        let run = heads.run(from, BATCH)?;
        for head in run.heads() {
            let row = newest(head, std::ptr::null(), &self.shared.clock, &guard);
            if let Some(version) = row.content.filter(|v| v.kind == VersionKind::Data) {
                visit(head.id(), version.image());
            }
        }
        Some(from + run.len())
    }
}
