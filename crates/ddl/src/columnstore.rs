//! CREATE CLUSTERED COLUMNSTORE INDEX, and ALTER INDEX and DROP INDEX of one: the table's rows are
//! rewritten.

use std::sync::Arc;

use tsql::ast::{self, AlterIndexAction};
use types::{Error, Result};

use super::drop_options::DropOptions;
use super::index::no_such_index;
use super::{alter, table};
use ::binder::dml::Rewrite;
use ::catalog::name::Name;
use ::catalog::{IndexDef, TableDef};
use ::compile::refuse;
use ::compile::shape::columnstore::{check, compresses_all, define};
use ::compile::shape::partition;
use ::executor::{Cx, fault, tuple_mover};

/// Runs CREATE CLUSTERED COLUMNSTORE INDEX on an existing table.
pub(crate) fn create(create: &ast::CreateIndex, cx: &mut Cx<'_>) -> Result<()> {
    let before = table::find_alone(&create.table, cx)?;
    if before.has_disabled() {
        return refuse("a columnstore index of a table with disabled indexes");
    }
    let mut defined = define(&create.index)?;
    defined.on = partition::of_index(&cx.session.catalog, &before, &create.index)?;
    let drops = create.index.options.iter().any(|option| {
        *option.name == *"DROP_EXISTING" && matches!(option.value, ast::OptionValue::On)
    });
    let mut after = TableDef { columnstore: Some(defined), on: None, ..TableDef::clone(&before) };
    match drops {
        true => after.indexes = without_dropped(&before, &create.index.name)?,
        false if before.columnstore.is_some() || before.indexes.iter().any(|it| it.clustered) => {
            return Err(Error::custom(
                35372,
                16,
                3,
                format!(
                    "You cannot create more than one clustered index on table '{}'. Consider creating a new clustered index using 'with (drop_existing = on)' option.",
                    before.qualified_name()
                ),
            ));
        }
        false => {}
    }
    // `referenced` is still set after the last foreign key that refers to the table was dropped.
    let database = cx.session.catalog.database_by_id(before.database_id);
    after.referenced &= database.is_none_or(|d| d.is_referenced_by_others(before.id));
    ::compile::shape::column_index::check(&mut after)?;
    check(&after)?;
    remake(&before, after, "CREATE INDEX", cx)
}

/// Returns the rowstore indexes that are left when DROP_EXISTING = ON has dropped the clustered index of
/// this name, which may also be a columnstore.
///
/// # Errors
/// 7999 if there is no index of the name; 40517 for one that a columnstore can't replace.
fn without_dropped(before: &TableDef, name: &str) -> Result<Vec<IndexDef>> {
    let mut left = before.indexes.clone();
    if before.columnstore.as_ref().is_some_and(|old| Name::same(&old.name, name)) {
        return Ok(left);
    }
    let Some(place) = before.index(name) else {
        return Err(no_such_index(name, before));
    };
    let dropped = left.remove(place);
    if dropped.constraint.is_some() {
        return refuse("DROP_EXISTING = ON for the index of a constraint");
    }
    if !dropped.clustered {
        return refuse("DROP_EXISTING of a nonclustered index by a clustered columnstore index");
    }
    Ok(left)
}

/// Runs DROP INDEX: rewrites the table as a heap.
pub(crate) fn drop(
    table: &ast::ObjectName,
    options: &DropOptions<'_>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let before = table::find_alone(table, cx)?;
    let on = options.place(&before, before.partitioned(), cx)?;
    let after = TableDef { columnstore: None, on, ..TableDef::clone(&before) };
    remake(&before, after, "DROP INDEX", cx)
}

/// Runs ALTER INDEX .. REBUILD and REORGANIZE. REORGANIZE compresses closed (full) delta stores,
/// concurrently with readers and writers; with COMPRESS_ALL_ROW_GROUPS it rewrites the table, as
/// REBUILD does.
pub(crate) fn change(alter: &ast::AlterIndex, cx: &mut Cx<'_>) -> Result<()> {
    let all = compresses_all(alter)? || alter.action == AlterIndexAction::Rebuild;
    let found = table::find(&alter.table, cx)?;
    if !all && !tuple_mover::is_closed(&found) {
        return Ok(());
    }
    if !all && cx.session.transaction.count == 0 {
        let session = &cx.session;
        let moved =
            tuple_mover::reorganize(&session.instance.store, &found, &session.connection.cancel);
        return moved.map_err(|e| fault::raise(cx, e));
    }
    let before = table::find_alone(&alter.table, cx)?;
    remake(&before, TableDef::clone(&before), "ALTER INDEX", cx)
}

fn remake(before: &Arc<TableDef>, after: TableDef, verb: &str, cx: &mut Cx<'_>) -> Result<()> {
    let sources = (0..before.columns.len()).map(Rewrite::Keep).collect();
    alter::rewrite(before, after, sources, false, verb, cx)
}
