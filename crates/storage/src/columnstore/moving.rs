//! The tuple mover: moves rows from the delta store to a row group, a few at a time.
//!
//! ```text
//!  read ──► compress ──► publish, all hidden ──► for each part: move its rows ──► all shown
//!           owns no rows                         one transaction                 `moving` is cleared
//!                                                per part
//! ```
//!
//! A row moves by a version of a special kind, a tombstone that says at which place the row is from
//! then on ([`VersionKind::Moved`]). The same transaction shows its part of the group, so a
//! snapshot sees each row in one place. A row that was changed since it was read stays in the delta
//! store and is deleted in the group. A writer that read a row before it moved takes it out of the
//! group again ([`Transaction::claim`]). The mover never waits, and a transaction that waits for it
//! waits for one part at most.
//!
//! [`VersionKind::Moved`]: crate::version::VersionKind

use types::Bytes;

use crate::access::ScanSpec;
use crate::primitives::{Mutant, is_mutant};
use crate::row_group::{GROUP_BYTES, Place, RowGroup, Trim, group_key};
use crate::spec::{
    Bounds, Error, Keys, Order, Read, Result, RowImage, TransactionOptions, WhenOwned,
};
use crate::store::{BY_KEY, ColumnStore, Store, Table};
use crate::transaction::{Claim, RowRef, Transaction};

/// Rows that move in one transaction.
pub(super) const PART_ROWS: usize = if cfg!(test) { 2 } else { 512 };

/// The result of a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Rows that are in the group now.
    pub rows: usize,
    /// Rows that were changed during the move and stayed in the delta store.
    pub stayed: usize,
    /// Whether all parts were moved.
    pub is_complete: bool,
}

impl Transaction {
    /// Returns up to `rows_max` rows of the delta store, as the transaction sees them.
    ///
    /// # Errors
    /// As [`Transaction::scan`].
    pub fn delta_rows<'t>(&'t self, table: &'t Table, rows_max: usize) -> Result<Vec<RowRef<'t>>> {
        let spec = ScanSpec {
            index: None,
            bounds: Bounds::ALL,
            order: Order::Forward,
            read: Read::COMMITTED,
        };
        let mut scan = self.scan(table, spec)?;
        let mut rows = Vec::new();
        while rows.len() < rows_max
            && let Some(row) = scan.next()?
        {
            rows.push(row);
        }
        Ok(rows)
    }

    /// Links a version above a row that says at which place it is from now on. Returns `false` if
    /// the row has changed since it was read, or another transaction owns it.
    fn move_row(&self, row: RowRef<'_>, to: Place) -> Result<bool> {
        self.forward(row, RowImage { bytes: &to.key(), blobs: &[] })
    }
}

impl ColumnStore {
    /// Claims a group to move a part of it; `false` if it is gone or being deleted.
    fn claim_group(&self, transaction: &Transaction, id: u64) -> Result<bool> {
        let key = group_key(id);
        let found = transaction.get(&self.groups, BY_KEY, &key, Read::COMMITTED)?;
        let Some(row) = found else { return Ok(false) };
        Ok(matches!(transaction.claim(row, WhenOwned::Skip)?, Claim::Current(_)))
    }
}

impl Table {
    /// Moves rows of the delta store to a row group made of them: `segments` have them in their
    /// order. `go_on` is called before each part; if it returns `false`, the parts that have moved
    /// stay moved, and the group waits for [`Table::settle_moves`].
    ///
    /// # Errors
    /// [`Error::Closed`] if the table is being redefined or is gone; moved parts stay moved.
    ///
    /// # Panics
    /// If the table has no clustered columnstore, or another number of columns.
    pub fn move_rows(
        &self,
        rows: &[RowRef<'_>],
        segments: &[Bytes],
        trim: Trim,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Moved> {
        let store = self.columnstore().expect("rows move in tables that have columns");
        let begin = || {
            let transaction = Store::of(&self.shared).begin(TransactionOptions::STATEMENT);
            transaction.begin_briefly().map(|()| transaction)
        };
        // What another move has left is cleaned up by `settle_moves`.
        let is_first = !store.is_unsettled();
        let id = {
            let publishing = begin()?;
            let id = publishing.add_hidden_group(self, segments, trim)?;
            store.note_unsettled();
            publishing.commit()?;
            id
        };
        let mut moved = Moved::default();
        for (number, part) in rows.chunks(PART_ROWS).enumerate() {
            if !go_on() {
                return Ok(moved);
            }
            let moving = begin()?;
            if !store.claim_group(&moving, id)? {
                return Err(Error::Closed(self.id()));
            }
            let stayed = moving.move_part(store, (id, number), part)?;
            moving.commit()?;
            moved.stayed += stayed;
            moved.rows += part.len() - stayed;
        }
        let showing = begin()?;
        showing.show_group(store, id, None)?;
        showing.commit()?;
        if is_first {
            store.note_settled();
        }
        moved.is_complete = true;
        Ok(moved)
    }
}

impl Transaction {
    /// Moves the rows of a part and shows it; returns how many stayed.
    fn move_part(
        &self,
        store: &ColumnStore,
        (group, number): (u64, usize),
        part: &[RowRef<'_>],
    ) -> Result<usize> {
        let mut stayed = 0;
        for (row, at) in part.iter().zip(number * PART_ROWS..) {
            let at = u32::try_from(at).expect("a group has at most 2^20 rows");
            let place = Place { group, row: at };
            if self.move_row(*row, place)? {
                continue;
            }
            stayed += 1;
            if !is_mutant(Mutant::ChangedRowShown) {
                self.insert(&store.deleted, RowImage { bytes: &place.key(), blobs: &[] })?;
            }
        }
        if !is_mutant(Mutant::PartNotShown) {
            let first = u32::try_from(number * PART_ROWS).expect("as above");
            let key = Place { group, row: first }.key();
            self.insert(&store.shown, RowImage { bytes: &key, blobs: &[] })?;
        }
        Ok(stayed)
    }

    /// Shows all of a group whose parts are shown; with other segments, if they are given.
    pub(super) fn show_group(
        &self,
        store: &ColumnStore,
        id: u64,
        segments: Option<&[Bytes]>,
    ) -> Result<()> {
        let key = group_key(id);
        let found = self.get(&store.groups, BY_KEY, &key, Read::COMMITTED)?;
        let Some(row) = found else { return Ok(()) };
        // Another transaction that owns it is emptying the table.
        let Claim::Current(row) = self.claim(row, WhenOwned::Skip)? else { return Ok(()) };
        let image = row.image();
        let bytes = [&image.bytes[..GROUP_BYTES + 1], &[0]].concat();
        let blobs = segments.unwrap_or(image.blobs);
        self.update(row, RowImage { bytes: &bytes, blobs }, Keys::Same)?;
        let spec = ScanSpec {
            index: Some(BY_KEY),
            bounds: Bounds::prefix(&key),
            order: Order::Forward,
            read: Read::COMMITTED,
        };
        let mut shown = self.scan(&store.shown, spec)?;
        while let Some(part) = shown.next()? {
            self.delete(part)?;
        }
        Ok(())
    }

    /// Adds the rows of a group that are not shown yet to the deleted ones.
    pub(super) fn add_hidden_rows(
        &self,
        store: &ColumnStore,
        group: RowGroup<'_>,
        read: Read,
        deleted: &mut Vec<u32>,
    ) -> Result<()> {
        if !group.is_moving() {
            return Ok(());
        }
        let parts = self.shown_parts(store, group.id(), read)?;
        let step = u32::try_from(PART_ROWS).expect("a part is small");
        let rows = u32::try_from(group.rows()).expect("a group has at most 2^20 rows");
        for first in (0..rows).step_by(PART_ROWS) {
            if parts.binary_search(&first).is_err() {
                deleted.extend(first..rows.min(first + step));
            }
        }
        deleted.sort_unstable();
        Ok(())
    }

    /// Returns, in order, the first row of each part of a group that is shown.
    pub(super) fn shown_parts(&self, store: &ColumnStore, id: u64, read: Read) -> Result<Vec<u32>> {
        let key = group_key(id);
        let bounds = Bounds::prefix(&key);
        let spec = ScanSpec { index: Some(BY_KEY), bounds, order: Order::Forward, read };
        let mut shown = self.scan(&store.shown, spec)?;
        let mut parts = Vec::new();
        while let Some(part) = shown.next()? {
            parts.push(Place::of_key(part.image().bytes).row);
        }
        Ok(parts)
    }
}
