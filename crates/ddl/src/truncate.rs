//! TRUNCATE TABLE, which is bound when it runs, as definitions are.

use std::sync::Arc;

use types::{Msg, Result};

use super::partition::Valued;
use super::{switch, table};
use ::binder::dml::{bind_removal, bind_truncate};
use ::executor::Cx;
use ::executor::dml::{remove_rows, run_truncate};
use ::plan::statement::table_of;

/// Binds and runs TRUNCATE TABLE. `values` are the partition numbers.
///
/// # Errors
/// 4701 for an unknown table, 4712 for a table that foreign keys refer to; the errors of partition
/// numbers.
pub(crate) fn truncate(
    truncate: &tsql::ast::Truncate,
    values: &[Valued],
    cx: &mut Cx<'_>,
) -> Result<()> {
    let database = Arc::clone(&cx.session.identity.database);
    let source = {
        let context = compile::binding::bare_context(cx.session, &database);
        bind_truncate(&mut context.binder(), truncate)?
    };
    if truncate.partitions.is_empty() {
        return run_truncate(&source, cx).map(|_| ());
    }
    let mut table = Arc::clone(table_of(&source));
    if table.id > 0 {
        table = table::find_alone(&truncate.table, cx)?;
    }
    let delete = {
        let found = cx.session.catalog.database_by_id(table.database_id);
        let found = found.ok_or(Msg::InternalError)?;
        let given = (truncate.partitions.as_slice(), values);
        let only = switch::truncated(&table, found, given, &truncate.table.to_string())?;
        let context = compile::binding::bare_context(cx.session, &database);
        bind_removal(&mut context.binder(), &table, Some(&only))?
    };
    let row_limit = std::mem::take(&mut cx.session.options.row_count);
    let removed = remove_rows(&delete, cx);
    cx.session.options.row_count = row_limit;
    removed
}
