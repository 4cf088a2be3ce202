//! CREATE CLUSTERED COLUMNSTORE INDEX, ALTER INDEX and DROP INDEX of one: the table is made anew.

use std::sync::Arc;

use tsql::ast::{self, AlterIndexAction, IndexStructure};
use types::{DataType, Error, Msg, Result};

use super::{alter, refuse, table};
use crate::bind::dml::Rewrite;
use crate::catalog::name::Name;
use crate::catalog::{ColumnDef, ColumnstoreDef, TableDef};
use crate::exec::{Cx, fault, tuple_mover};

/// Makes the definition of a clustered columnstore index.
///
/// # Errors
/// 40517 for options that are not supported.
pub(super) fn define(index: &ast::InlineIndex) -> Result<ColumnstoreDef> {
    if !index.order.is_empty() {
        return refuse("ORDER of a columnstore index");
    }
    let mut compression_delay = 0;
    for option in &index.options {
        match (option.name.as_ref(), &option.value) {
            ("COMPRESSION_DELAY", value) => compression_delay = minutes(value)?,
            ("DATA_COMPRESSION", value) if value.word() == Some("COLUMNSTORE") => {}
            ("DROP_EXISTING" | "MAXDOP" | "ONLINE", _) => {}
            (other, _) => return refuse(&format!("the option {other} of a columnstore index")),
        }
    }
    Ok(ColumnstoreDef { name: index.name.to_string(), compression_delay })
}

/// COMPRESSION_DELAY = 10 [MINUTES]: 0 to 10,080.
fn minutes(value: &ast::OptionValue) -> Result<i32> {
    let count = match value {
        ast::OptionValue::Literal(ast::Literal::Int(count)) => i64::from(*count),
        ast::OptionValue::Quantity(count, _) => i64::try_from(*count).unwrap_or(i64::MAX),
        _ => -1,
    };
    let known = i32::try_from(count).ok().filter(|count| (0..=10_080).contains(count));
    known.ok_or_else(|| Msg::NotSupported("this COMPRESSION_DELAY").into())
}

/// Checks what such a table can't have.
///
/// # Errors
/// 35343 for a column of a type that can't be compressed; 40517 for what is not supported.
pub(super) fn check(table: &TableDef) -> Result<()> {
    if table.columnstore.is_none() {
        return Ok(());
    }
    if table.memory_optimized {
        return refuse("columnstore indexes on memory-optimized tables");
    }
    if !table.indexes.is_empty() {
        return refuse("keys and other indexes of a table with a columnstore index");
    }
    if !table.foreign_keys.is_empty() || table.referenced {
        return refuse("foreign keys of a table with a columnstore index");
    }
    table.columns.iter().try_for_each(check_column)
}

fn check_column(column: &ColumnDef) -> Result<()> {
    if column.computed.is_some() {
        return refuse("computed columns of a table with a columnstore index");
    }
    check_type(column)
}

/// Checks that a column is of a type that segments hold.
///
/// # Errors
/// 35343.
pub(super) fn check_type(column: &ColumnDef) -> Result<()> {
    match column.ty.data_type {
        DataType::SqlVariant
        | DataType::Xml
        | DataType::Text
        | DataType::NText
        | DataType::Image
        | DataType::RowVersion => Err(cannot_participate(column)),
        _ => Ok(()),
    }
}

/// The error of a column of a type that no columnstore index has.
pub(super) fn cannot_participate(column: &ColumnDef) -> Error {
    Error::custom(
        35343,
        16,
        1,
        format!(
            "The statement failed. Column '{}' has a data type that cannot participate in a columnstore index.",
            column.name
        ),
    )
}

/// Runs CREATE CLUSTERED COLUMNSTORE INDEX on a table that exists.
pub(super) fn create(create: &ast::CreateIndex, cx: &mut Cx<'_>) -> Result<()> {
    let before = table::find_alone(&create.table, cx)?;
    let defined = define(&create.index)?;
    let drops = create.index.options.iter().any(|option| {
        *option.name == *"DROP_EXISTING" && matches!(option.value, ast::OptionValue::On)
    });
    match &before.columnstore {
        Some(_) if !drops => {
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
        Some(old) if !Name::same(&old.name, &defined.name) => {
            return Err(Msg::IndexNotFound(&defined.name).into());
        }
        None if drops => return refuse("DROP_EXISTING of a rowstore index by a columnstore index"),
        Some(_) | None => {}
    }
    let mut after = TableDef { columnstore: Some(defined), ..TableDef::clone(&before) };
    // The mark of a foreign key stays when that is gone.
    let database = cx.session.catalog.database_by_id(before.database_id);
    after.referenced &= database.is_none_or(|d| d.is_referenced_by_others(before.id));
    super::column_index::check(&mut after)?;
    check(&after)?;
    remake(&before, after, "CREATE INDEX", cx)
}

/// Runs DROP INDEX: the table is a heap again.
pub(super) fn drop(table: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<()> {
    let before = table::find_alone(table, cx)?;
    let after = TableDef { columnstore: None, ..TableDef::clone(&before) };
    remake(&before, after, "DROP INDEX", cx)
}

/// Runs ALTER INDEX .. REBUILD and REORGANIZE. REORGANIZE compresses closed delta stores, which are full ones,
/// while others read and write; with COMPRESS_ALL_ROW_GROUPS the table is made anew, as by REBUILD.
pub(super) fn change(alter: &ast::AlterIndex, cx: &mut Cx<'_>) -> Result<()> {
    let all = compresses_all(alter)? || alter.action == AlterIndexAction::Rebuild;
    let found = table::find(&alter.table, cx)?;
    if !all && !tuple_mover::is_closed(&found) {
        return Ok(());
    }
    if !all && cx.session.transaction.count == 0 {
        let session = &cx.session;
        let moved = tuple_mover::reorganize(&session.instance.store, &found, &session.cancel);
        return moved.map_err(|e| fault::raise(cx, e));
    }
    let before = table::find_alone(&alter.table, cx)?;
    remake(&before, TableDef::clone(&before), "ALTER INDEX", cx)
}

/// Tells whether COMPRESS_ALL_ROW_GROUPS is on.
///
/// # Errors
/// 40517 for other options.
pub(super) fn compresses_all(alter: &ast::AlterIndex) -> Result<bool> {
    let mut all = false;
    for option in &alter.options {
        match (option.name.as_ref(), &option.value) {
            ("COMPRESS_ALL_ROW_GROUPS", value) => all |= matches!(value, ast::OptionValue::On),
            ("DATA_COMPRESSION", value) if value.word() == Some("COLUMNSTORE") => {}
            ("MAXDOP" | "ONLINE", _) => {}
            (other, _) => return refuse(&format!("the option {other} of a columnstore index")),
        }
    }
    Ok(all)
}

fn remake(before: &Arc<TableDef>, after: TableDef, verb: &str, cx: &mut Cx<'_>) -> Result<()> {
    let sources = (0..before.columns.len()).map(Rewrite::Keep).collect();
    alter::rewrite(before, after, sources, false, verb, cx)
}

/// Tells whether an index is a columnstore.
pub(super) fn is_any(index: &ast::InlineIndex) -> bool {
    is_columnstore(index) || super::column_index::is_column_index(index)
}

/// Tells whether an index is a clustered columnstore.
pub(super) fn is_columnstore(index: &ast::InlineIndex) -> bool {
    index.structure == Some(IndexStructure::ClusteredColumnstore)
}
