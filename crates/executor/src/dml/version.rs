//! Keeps the version of a row that another takes the place of: in the history table of its own.

use storage::{Error as StorageError, RowImage, Transaction};
use types::row::RowBuffer;
use types::{Msg, Result, Value};

use crate::{Cx, fault};
use catalog::TableDef;
use catalog::period;

/// How often a statement begins anew with a later time before it fails with 13535.
const RENEWALS_MAX: u32 = 32;

/// Writes a row that is about to be changed or deleted to the history of its table, if it has one. Its period
/// ends when the transaction began; where that is when it started, too, the version held for no time, and
/// queries FOR SYSTEM_TIME do not show it.
///
/// # Errors
/// 13535 if the row's period started after the transaction began. A statement that is a transaction of its own
/// begins anew instead.
pub(super) fn keep(
    table: &TableDef,
    old: RowImage<'_>,
    transaction: &Transaction,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let (Some(period), Some(history)) = (table.period, table.history_rows()) else {
        return Ok(());
    };
    let (start, end) = (usize::from(period.start), usize::from(period.end));
    let view = table.layout.view(old.bytes, old.blobs);
    let began = cx.transaction_time(&table.columns[end].ty.data_type);
    let since = view.get(start);
    if period::is_before(&began, &since) {
        return Err(too_early(table, &since, cx));
    }
    let mut buffer = RowBuffer::default();
    table.layout.update(view, &[(end, &began)], &mut buffer);
    let kept = transaction.insert(&history.data, RowImage::from(&buffer)).map(|_| ());
    kept.map_err(|error| fault::raise(cx, error))
}

#[cold]
fn too_early(table: &TableDef, since: &Value, cx: &mut Cx<'_>) -> types::Error {
    let data_type = table.period.map(|p| table.columns[usize::from(p.start)].ty.data_type);
    let is_past = data_type.is_some_and(|ty| !period::is_before(&period::now(&ty), since));
    // What triggers do is not done again, and a clock that was put back is not waited for.
    let is_own = cx.session.transaction.count == 0 && !cx.fires;
    let renewals = &mut cx.session.transaction.renewals;
    if is_own && is_past && *renewals < RENEWALS_MAX {
        *renewals += 1;
        return fault::raise(cx, StorageError::Restart);
    }
    Msg::TransactionTooEarly(&cx.qualified(table)).into()
}
