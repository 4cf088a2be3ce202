//! Settling: cleans up a row group whose move was interrupted, because the table was redefined, the
//! server stopped or REORGANIZE was cancelled.
//!
//! ```text
//!  group     0 .. 511 | 512 .. 1023 | 1024 ..  .. 1048575      cut to      0 .. 511 | 512 .. 1023
//!            shown      shown         hidden: in the delta store  ──────►    the same rows at the same places
//! ```
//! Parts move one after the other, so the shown ones are the first. The group is cut behind them.
//! Its rows keep their places, so a writer that read a row before it moved still finds it. A group
//! without shown rows is deleted.

use encoding::GroupBuilder;
use types::Bytes;
use types::batch::{Selection, Vector};

use crate::columnstore::moving::PART_ROWS;
use crate::primitives::{Mutant, is_mutant};
use crate::row_group::{RowGroup, group_key};
use crate::spec::{Read, Result, TransactionOptions, WhenOwned};
use crate::store::{BY_KEY, ColumnStore, Store, Table};
use crate::transaction::{Claim, Transaction};

impl Table {
    /// Returns whether there may be groups whose move was interrupted.
    pub fn has_unsettled(&self) -> bool {
        self.columnstore().is_some_and(ColumnStore::is_unsettled)
    }

    /// Cuts the groups whose move was interrupted to the rows that have moved. The caller has the
    /// right to move ([`ColumnStore::try_move`]). `go_on` is called before each block of rows; if
    /// it returns `false`, the rest is left for the next call.
    ///
    /// # Errors
    /// [`Error::Closed`](crate::Error::Closed) while the table is redefined, or if it is gone.
    pub fn settle_moves(&self, mut go_on: impl FnMut() -> bool) -> Result<()> {
        let Some(store) = self.columnstore().filter(|store| store.is_unsettled()) else {
            return Ok(());
        };
        let reader = Store::of(&self.shared).begin(TransactionOptions::STATEMENT);
        for group in reader.row_groups(self, Read::COMMITTED)? {
            if group.is_moving() && !reader.settle(store, group, &mut go_on)? {
                return Ok(());
            }
        }
        store.note_settled();
        Ok(())
    }
}

impl Transaction {
    /// Settles a group that this transaction sees; returns `false` if `go_on` did.
    fn settle(
        &self,
        store: &ColumnStore,
        group: RowGroup<'_>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        let id = group.id();
        let parts = self.shown_parts(store, id, Read::COMMITTED)?;
        let rows = group.rows().min(parts.len() * PART_ROWS);
        assert!(parts.last().is_none_or(|last| *last as usize / PART_ROWS + 1 == parts.len()));
        let cut = match rows {
            0 => Some(Vec::new()),
            all if all == group.rows() || is_mutant(Mutant::HiddenRowsShown) => None,
            _ => match first_rows(store, group, rows, go_on) {
                Some(segments) => Some(segments),
                None => return Ok(false),
            },
        };
        let settling = Store::of(&store.groups.shared).begin(TransactionOptions::STATEMENT);
        settling.begin_briefly()?;
        match cut {
            None => settling.show_group(store, id, None)?,
            Some(segments) if segments.is_empty() => settling.drop_group(store, id)?,
            Some(segments) => settling.show_group(store, id, Some(&segments))?,
        }
        settling.commit()?;
        Ok(true)
    }

    /// Deletes a group none of whose rows are shown.
    fn drop_group(&self, store: &ColumnStore, id: u64) -> Result<()> {
        let found = self.get(&store.groups, BY_KEY, &group_key(id), Read::COMMITTED)?;
        let Some(row) = found else { return Ok(()) };
        // Another transaction that owns it is emptying the table.
        let Claim::Current(row) = self.claim(row, WhenOwned::Skip)? else { return Ok(()) };
        self.delete(row)
    }
}

/// Encodes the first rows of a group; `None` if `go_on` returned `false`.
fn first_rows(
    store: &ColumnStore,
    group: RowGroup<'_>,
    rows: usize,
    go_on: &mut dyn FnMut() -> bool,
) -> Option<Vec<Bytes>> {
    let mut builder = GroupBuilder::new(store.columns());
    let of = |column: &types::ColumnType| Vector::of_type(&column.data_type);
    let mut vectors: Vec<Vector> = store.columns().iter().map(of).collect();
    let mut block = 0;
    while builder.len() < rows {
        if !go_on() {
            return None;
        }
        for (column, vector) in vectors.iter_mut().enumerate() {
            group.segment(column).block(block, vector);
        }
        let count = vectors.first().map_or(0, Vector::len).min(rows - builder.len());
        builder.append(vectors.iter(), &Selection::all(count));
        block += 1;
    }
    Some(builder.finish().expect("a group's columns are of types that segments hold"))
}
