//! Error 1505: finds the values of a duplicate key when a unique index is created.

use std::ops::Bound;

use storage::{Bounds, Isolation, Order, Read, RowImage, RowLock, ScanSpec};
use types::{Error, Msg, Result};

use ::catalog::{IndexDef, TableDef, index_spec};
use ::executor::dml::display;
use ::executor::statement::in_transaction;
use ::executor::{Cx, fault};

/// Returns error 1505 with the key's values. Storage reports the key as bytes, so the table is
/// searched for a row with that key.
///
/// # Errors
/// Those of reading the table.
pub(crate) fn duplicate_key(
    table: &TableDef,
    index: &IndexDef,
    key: &[u8],
    cx: &mut Cx<'_>,
) -> Result<Error> {
    let spec = index_spec(index, &table.columns, &table.layout);
    let mut shown = None;
    in_transaction(cx, &mut |cx| {
        let Some(transaction) = cx.transaction else { return Ok(()) };
        let read = Read { isolation: Isolation::ReadCommitted, lock: RowLock::None };
        let bounds = Bounds { lower: Bound::Unbounded, upper: Bound::Unbounded };
        let all = ScanSpec { index: None, bounds, order: Order::Forward, read };
        let cursor = transaction.scan(&table.rows.data, all);
        let mut cursor = cursor.map_err(|e| fault::raise(cx, e))?;
        let mut own = Vec::new();
        while let Some(row) = cursor.next().map_err(|e| fault::raise(cx, e))? {
            own.clear();
            spec.extractor.key(row.image(), &mut own);
            if own == key {
                shown = Some(show(table, index, row.image()));
                break;
            }
        }
        Ok(())
    })?;
    // The row may have been deleted since.
    let shown = shown.unwrap_or_else(|| "?".to_owned());
    let shown = format!("({shown})");
    Ok(Msg::CreateUniqueDuplicate(&table.qualified_name(), &index.name, &shown).into())
}

/// Formats the values of a row's key columns.
fn show(table: &TableDef, index: &IndexDef, image: RowImage<'_>) -> String {
    let view = table.layout.view(image.bytes, image.blobs);
    let values = index.keys.iter().map(|(ordinal, _)| {
        let ordinal = usize::from(*ordinal);
        display(&view.get(ordinal), &table.columns[ordinal].ty)
    });
    values.collect::<Vec<_>>().join(", ")
}
