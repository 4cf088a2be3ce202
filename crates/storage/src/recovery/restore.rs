//! `Restore`: puts rows back at their row ids, in an empty table that no one else uses yet.
//!
//! Any number of threads may put rows back at once. Rows of range files come first; then the log
//! replaces and removes rows. [`Restore::finish`] makes the table usable: heads without a row become
//! free for use, the rows are counted, and the indexes are built from sorted keys.

use std::convert::Infallible;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::columnstore::RowGroup;
use crate::index::{Duplicate, Index};
use crate::primitives::{Guard, Ordering, Timestamp, pin};
use crate::spec::{Error, Result, RowId, RowImage};
use crate::store::Table;
use crate::version::{Begin, HeapPosition, RowHead, Version, prefetch_version};

/// The commit time of rows that were put back: before all others.
const RESTORED: Timestamp = Timestamp(1);

/// Rows that are read per step of a walk over the heap.
const BATCH: usize = 1_024;
/// Rows whose versions are being prefetched while one is read.
const AHEAD: usize = 8;

/// Where a row that is put back comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A range file: the checkpoint has the row.
    Checkpoint,
    /// The log: the row's range counts as changed since the checkpoint.
    Log,
}

/// A table while its rows are put back.
pub struct Restore<'t> {
    table: &'t Table,
}

impl std::fmt::Debug for Restore<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Restore").field("table", &self.table.id()).finish_non_exhaustive()
    }
}

impl Table {
    /// Begins to put rows back. Until [`Restore::finish`] the table must not be used otherwise.
    ///
    /// # Panics
    /// If the table has had rows.
    pub fn restore(&self) -> Restore<'_> {
        let is_untouched = self.parts().all(|part| part.heap.is_untouched());
        assert!(is_untouched, "rows are put back in an empty table");
        Restore { table: self }
    }
}

impl Restore<'_> {
    /// Puts a row back, or replaces it. Returns `false` if the table has no such part, or no table
    /// has such a row id.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn put(&self, part: u8, row: RowId, image: RowImage<'_>, source: Source) -> Result<bool> {
        let Some((table, head)) = self.head(part, row, source) else { return Ok(false) };
        let version = table.restored_version(Begin::Committed(RESTORED), image)?;
        replace(table, head, version.as_ptr());
        Ok(true)
    }

    /// Removes a row, if it is there. Returns `false` as [`Self::put`] does.
    pub fn remove(&self, part: u8, row: RowId, source: Source) -> bool {
        let Some((table, head)) = self.head(part, row, source) else { return false };
        replace(table, head, std::ptr::null_mut());
        true
    }

    /// Shows the row that is at a row id now.
    pub fn show<R>(&self, part: u8, row: RowId, show: impl FnOnce(Option<RowImage<'_>>) -> R) -> R {
        let guard = pin();
        let head = self.table.part_at(part).and_then(|table| table.heap.head_at(row));
        let latest = head.map_or(std::ptr::null_mut(), RowHead::latest);
        // SAFETY: a version that is replaced is freed through `epoch`, so it lives under the guard.
        let version: Option<&Version> = unsafe { latest.as_ref() };
        let shown = show(version.map(Version::image));
        drop(guard);
        shown
    }

    fn head(&self, part: u8, row: RowId, source: Source) -> Option<(&Table, &RowHead)> {
        let table = self.table.part_at(part)?;
        let head = table.heap.head_at(row)?;
        if source == Source::Log {
            table.heap.note_change_at(row, &table.shared.generation);
        }
        Some((table, head))
    }

    /// Makes the table usable; returns the number of rows of all parts.
    ///
    /// # Errors
    /// [`Error::Unique`] if two rows have the same key in a unique index: the log or the range
    /// files are wrong. Then the table must not be used.
    pub fn finish(self) -> Result<u64> {
        let mut rows = 0;
        for part in self.table.parts() {
            let count = part.heap.open();
            part.count_rows(i64::try_from(count).unwrap_or(i64::MAX));
            rows += count;
            let indexes = part.indexes(&pin()).to_vec();
            build(part, &indexes)?;
        }
        self.settle_groups();
        Ok(rows)
    }

    /// As [`Self::finish`], in a store that is in use: the next checkpoint writes the whole table,
    /// because one that ran before this call has seen none of its rows.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn finish_in_use(self) -> Result<u64> {
        let table = self.table;
        let rows = self.finish()?;
        for part in table.parts() {
            for range in part.heap.ranges() {
                // Pinned from before the generation is read until the rows count as changed.
                let guard = pin();
                part.heap.note_change_at(range.first, &table.shared.generation);
                drop(guard);
            }
        }
        Ok(rows)
    }

    /// Restores what the columnstore knows of its groups: the next number, and whether a move was
    /// interrupted.
    fn settle_groups(&self) {
        let Some(store) = self.table.columnstore() else { return };
        for_each_row(&store.groups, |_, version, _| {
            let group = RowGroup::of(version.image());
            // Relaxed: no other thread uses the table yet.
            store.next.fetch_max(group.id() + 1, Ordering::Relaxed);
            if group.is_moving() {
                store.note_unsettled();
            }
            Ok::<_, Infallible>(())
        })
        .unwrap_or_else(|never| match never {});
    }
}

/// Makes a version the only one of its row, or none.
fn replace(table: &Table, head: &RowHead, version: *mut Version) {
    let guard = pin();
    let before = head.latest.swap(version, Ordering::AcqRel);
    if let Some(before) = NonNull::new(before) {
        // Unlinked by this thread alone: no version is above or below it.
        table.release_version(before, &guard);
    }
}

/// Builds indexes over all rows, in one walk: each row is read from memory once.
fn build(table: &Table, indexes: &[Arc<Index>]) -> Result<()> {
    let rows = usize::try_from(table.delta_rows()).unwrap_or(0);
    let named =
        |index: &Index, Duplicate(key)| Error::Unique { table: table.id(), index: index.id, key };
    let mut builders: Vec<_> = indexes.iter().map(|index| (index, index.builder(rows))).collect();
    if builders.is_empty() {
        return Ok(());
    }
    for_each_row(table, |head, version, guard| {
        builders.iter_mut().try_for_each(|(index, builder)| {
            builder.push(head, version, guard).map_err(|error| named(index, error))
        })
    })?;
    builders.into_iter().try_for_each(|(index, builder)| {
        builder.finish(&pin()).map_err(|error| named(index, error))
    })
}

fn for_each_row<E>(
    table: &Table,
    mut visit: impl FnMut(&RowHead, &Version, &Guard) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut position = HeapPosition::default();
    while let Some(run) = table.heap.run(&mut position, BATCH) {
        let guard = pin();
        for (number, head) in run.heads().enumerate() {
            if number + AHEAD < run.len() {
                prefetch_version(run.head(number + AHEAD));
            }
            // SAFETY: a linked version is freed only through `epoch`: it is alive under the guard.
            if let Some(version) = unsafe { head.latest().as_ref() } {
                visit(head, version, &guard)?;
            }
        }
    }
    Ok(())
}
