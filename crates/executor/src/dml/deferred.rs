//! New keys that are taken while a statement runs: unique keys are checked when it has changed all
//! its rows, so `UPDATE t SET k = k + 1` and a swap of two keys succeed.
//!
//! A row is changed at once where its new key is free, which is the usual case. Any other is kept
//! here until the statement has seen all its rows. Then the kept rows are deleted, which frees
//! their old keys, and inserted with the new ones: as in SQL Server, such an update is a delete and
//! an insert, and a writer that waited for the row finds it gone.

use session::grant::Charge;
use storage::{RowImage, RowRef, Transaction};
use types::Result;
use types::row::RowBuffer;

use super::write::storage_error;
use crate::{Cx, fault};
use catalog::TableDef;
use catalog::TableRows;

/// The rows of a statement whose new keys were taken.
pub(super) struct Deferred<'t> {
    /// The row as it is, `None` for one that is inserted, and the row as it will be.
    rows: Vec<(Option<RowRef<'t>>, RowBuffer)>,
    charge: Charge,
}

impl<'t> Deferred<'t> {
    /// Returns an empty list, whose memory belongs to the session's query.
    pub(super) fn new(cx: &Cx<'_>) -> Self {
        Self { rows: Vec::new(), charge: cx.session.accounting.grant.charge(0) }
    }

    /// Keeps a row whose new key is taken.
    ///
    /// # Errors
    /// 701 if the kept rows need more memory than the query may have.
    pub(super) fn keep(&mut self, row: Option<RowRef<'t>>, new: RowBuffer) -> Result<()> {
        let blobs: usize = new.blobs.iter().map(|blob| blob.len()).sum();
        self.charge.add(size_of::<(Option<RowRef<'t>>, RowBuffer)>() + new.bytes.len() + blobs)?;
        self.rows.push((row, new));
        Ok(())
    }

    /// Stores the kept rows, when the statement has changed all others.
    ///
    /// # Errors
    /// 2627 or 2601 for a key that is taken even then.
    pub(super) fn store(
        self,
        table: &TableDef,
        rows: &TableRows,
        transaction: &Transaction,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        for row in self.rows.iter().filter_map(|(row, _)| *row) {
            transaction.delete(row).map_err(|error| fault::raise(cx, error))?;
        }
        for (_, new) in &self.rows {
            let stored = transaction.insert(&rows.data, RowImage::from(new)).map(|_| ());
            stored.map_err(|error| {
                let view = table.layout.view(&new.bytes, &new.blobs);
                storage_error(error, table, cx, &|_, ordinal| view.get(ordinal))
            })?;
        }
        Ok(())
    }
}

/// Returns whether a row could not be stored because another one has its key.
pub(super) fn is_key_taken(error: &storage::Error) -> bool {
    matches!(error, storage::Error::Unique { .. })
}
