//! Writes the old version of a changed row to the history table of a system-versioned table.

use storage::{Error as StorageError, RowImage, Transaction};
use types::row::RowBuffer;
use types::{Msg, Result, Value};

use crate::{Cx, fault};
use catalog::TableDef;
use catalog::period;

/// How often a statement is restarted with a later time before it fails with 13535.
const RENEWALS_MAX: u32 = 32;

/// Writes a row that is about to be changed or deleted to the history table, if there is one. The
/// version's period ends when the transaction began. If it also started then, the version was never
/// current, and queries FOR SYSTEM_TIME do not return it.
///
/// # Errors
/// 13535 if the row's period starts after the transaction began. An autocommit statement is
/// restarted instead.
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
    kept.map_err(|error| fault::raise(cx, error))?;
    cx.session.accounting.meter.wrote(1);
    Ok(())
}

#[cold]
fn too_early(table: &TableDef, since: &Value, cx: &mut Cx<'_>) -> types::Error {
    let data_type = table.period.map(|p| table.columns[usize::from(p.start)].ty.data_type);
    let is_past = data_type.is_some_and(|ty| !period::is_before(&period::now(&ty), since));
    // A trigger's effects are not repeated, and a clock that was set back is not waited for.
    let is_own = cx.session.transaction.count == 0 && !cx.fires;
    let renewals = &mut cx.session.transaction.renewals;
    if is_own && is_past && *renewals < RENEWALS_MAX {
        *renewals += 1;
        return fault::raise(cx, StorageError::Restart);
    }
    Msg::TransactionTooEarly(&cx.qualified(table)).into()
}
