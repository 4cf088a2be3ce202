//! CREATE NONCLUSTERED COLUMNSTORE INDEX (also within CREATE TABLE), and ALTER INDEX and DROP INDEX
//! of one. The table's rows stay where they are.

use storage::columnstore::Trim;
use tsql::ast::{self, AlterIndexAction};
use types::{Msg, Result};

use super::table;
use ::catalog::name::Name;
use ::catalog::{ColumnIndexDef, TableDef};
use ::compile::shape::column_index::{check, define, several};
use ::compile::shape::duplicate_index;
use ::compile::shape::partition;
use ::executor::{Cx, fault, tuple_mover};

/// Runs CREATE NONCLUSTERED COLUMNSTORE INDEX on an existing table.
pub(crate) fn create(create: &ast::CreateIndex, cx: &mut Cx<'_>) -> Result<()> {
    let before = table::find_alone(&create.table, cx)?;
    let name = create.index.name.as_str();
    crate::disable::check_buildable("create", name, &before)?;
    let drops = create.index.options.iter().any(|option| {
        *option.name == *"DROP_EXISTING" && matches!(option.value, ast::OptionValue::On)
    });
    match before.column_index.as_ref().or(before.disabled_columns.as_ref()) {
        Some(old) if !Name::same(&old.name, name) => return Err(several()),
        Some(_) if !drops => return Err(duplicate_index(name, &before.qualified_name())),
        None if before.columnstore.is_some() => return Err(several()),
        None if before.has_index(name) => {
            return Err(duplicate_index(name, &before.qualified_name()));
        }
        None if drops => return Err(Msg::IndexNotFound(name).into()),
        Some(_) | None => {}
    }
    let cell = &cx.session.instance.catalog;
    let mut defined = define(&create.index, &before.columns, &before.name, cell)?;
    defined.on = partition::of_index(&cx.session.catalog, &before, &create.index)?;
    let mut after = TableDef {
        column_index: Some(defined),
        disabled_columns: None,
        ..TableDef::clone(&before)
    };
    check(&mut after)?;
    fill(&after, 1, Trim::Rebuild, cx)?;
    table::replace(after, cx)
}

/// Frees the row groups of an index that the definition has no more. If the statement is rolled back, the tuple mover
/// builds the index again.
pub(super) fn forget(index: &ColumnIndexDef, of: &TableDef) {
    of.rows.data.drop_column_index();
    of.rows.data.uses().forget(storage::IndexId(index.id.unsigned_abs()));
}

/// Enables the index in a definition, and builds its row groups.
pub(super) fn enable(of: &mut TableDef, cx: &mut Cx<'_>) -> Result<()> {
    let Some(index) = of.disabled_columns.take() else { return Ok(()) };
    of.column_index = Some(index);
    fill(of, 1, Trim::Rebuild, cx)
}

/// Builds row groups from rows that are in none, while at least `rows_min` such rows are left.
fn fill(table: &TableDef, rows_min: usize, trim: Trim, cx: &mut Cx<'_>) -> Result<()> {
    let session = &cx.session;
    let filled = tuple_mover::cover(
        &session.instance.store,
        table,
        rows_min,
        trim,
        &session.connection.cancel,
    );
    filled.map_err(|e| fault::raise(cx, e))
}

/// Runs DROP INDEX of a nonclustered columnstore index.
pub(crate) fn drop(name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<()> {
    let before = table::find_alone(name, cx)?;
    let after = TableDef { column_index: None, disabled_columns: None, ..TableDef::clone(&before) };
    table::replace(after, cx)?;
    before.column_index.iter().for_each(|index| forget(index, &before));
    Ok(())
}

/// Runs ALTER INDEX .. REBUILD and REORGANIZE, concurrently with readers and writers. REORGANIZE
/// builds groups while there are enough rows for a full one; with COMPRESS_ALL_ROW_GROUPS, from all
/// rows.
pub(crate) fn change(alter: &ast::AlterIndex, cx: &mut Cx<'_>) -> Result<()> {
    let all = ::compile::shape::columnstore::compresses_all(alter)?;
    let found = table::find(&alter.table, cx)?;
    if let (Some(index), AlterIndexAction::Rebuild) = (&found.column_index, alter.action) {
        found.rows.data.add_column_index(index.storage_id);
    }
    let (rows_min, trim) = match (alter.action, all) {
        (AlterIndexAction::Rebuild, _) => (1, Trim::Rebuild),
        (_, true) => (1, Trim::Reorganize),
        (_, false) => (tuple_mover::CLOSED_ROWS, Trim::Reorganize),
    };
    fill(&found, rows_min, trim, cx)
}
