//! CREATE NONCLUSTERED COLUMNSTORE INDEX, and in CREATE TABLE; ALTER INDEX and DROP INDEX of one: the rows stay
//! where they are.

use storage::columnstore::{ColumnIndexId, Trim};
use tsql::ast::{self, AlterIndexAction, IndexStructure};
use types::{DataType, Error, Msg, Result};

use super::shape::{Shaper, duplicate_index};
use super::{columnstore, refuse, table};
use crate::catalog::name::Name;
use crate::catalog::{CatalogCell, ColumnDef, ColumnIndexDef, TableDef};
use crate::exec::{Cx, fault, tuple_mover};

/// Tells whether an index is a nonclustered columnstore.
pub(super) fn is_column_index(index: &ast::InlineIndex) -> bool {
    index.structure == Some(IndexStructure::NonclusteredColumnstore)
}

/// The error of a second columnstore index.
fn several() -> Error {
    Error::custom(35339, 16, 1, "Multiple columnstore indexes are not supported.")
}

fn failed(number: i32, why: &str) -> Error {
    Error::custom(number, 15, 1, format!("The statement failed because {why}"))
}

impl Shaper<'_, '_> {
    /// Takes a columnstore index of a table that is made.
    ///
    /// # Errors
    /// 1902 and 35339 for a second one; else those of its definition.
    pub(super) fn add_columnstore(&mut self, index: &ast::InlineIndex) -> Result<()> {
        self.check_storage(&index.storage)?;
        if is_column_index(index) {
            if self.column_index.is_some() {
                return Err(several());
            }
            self.column_index = Some(define(index, &self.columns, self.place.name, self.cell)?);
            return Ok(());
        }
        if self.columnstore.is_some() {
            return Err(Msg::MultipleClustered(self.place.name).into());
        }
        self.columnstore = Some(columnstore::define(index)?);
        Ok(())
    }
}

/// Makes the definition of an index; its id is that of a table without others.
fn define(
    index: &ast::InlineIndex,
    columns: &[ColumnDef],
    table: &str,
    cell: &CatalogCell,
) -> Result<ColumnIndexDef> {
    if index.unique {
        return Err(failed(
            35301,
            "a columnstore index cannot be unique. Create the columnstore index without the UNIQUE keyword or create a unique index without the COLUMNSTORE keyword.",
        ));
    }
    if !index.include.is_empty() {
        return Err(failed(
            35311,
            "a columnstore index cannot have included columns. Create the columnstore index on the desired columns without specifying any included columns.",
        ));
    }
    if index.filter.is_some() {
        return refuse("WHERE of a columnstore index");
    }
    let compression_delay = columnstore::define(index)?.compression_delay;
    let mut ordinals: Vec<u16> = Vec::with_capacity(index.columns.len());
    for named in &index.columns {
        if named.descending {
            return Err(failed(
                35302,
                "specifying sort order (ASC or DESC) is not allowed when creating a columnstore index. Create the columnstore index without specifying a sort order.",
            ));
        }
        let place = columns.iter().position(|column| Name::same(&column.name, &named.name));
        let found = place.and_then(|place| u16::try_from(place).ok());
        let ordinal = found.ok_or_else(|| Error::from(Msg::IndexColumnNotFound(&named.name)))?;
        if ordinals.contains(&ordinal) {
            return Err(Msg::IndexColumnTwice("index", &named.name).into());
        }
        check_column(&columns[usize::from(ordinal)], table)?;
        ordinals.push(ordinal);
    }
    Ok(ColumnIndexDef {
        id: 2,
        storage_id: ColumnIndexId(cell.next_storage_id().0),
        name: index.name.to_string(),
        columns: ordinals,
        compression_delay,
    })
}

fn check_column(column: &ColumnDef, table: &str) -> Result<()> {
    if column.computed.is_some() {
        return Err(failed(
            35307,
            &format!(
                "column '{}' on table '{table}' is a computed column. Columnstore index cannot include a computed column implicitly or explicitly.",
                column.name
            ),
        ));
    }
    if column.ty.data_type.is_large() || column.ty.data_type == DataType::RowVersion {
        return Err(columnstore::cannot_participate(column));
    }
    columnstore::check_type(column)
}

/// Checks what such a table can't have, and gives the index its number.
///
/// # Errors
/// 35339 beside a clustered columnstore index; 40517 for what is not supported.
pub(super) fn check(table: &mut TableDef) -> Result<()> {
    let id = next_id(table);
    let Some(index) = &mut table.column_index else { return Ok(()) };
    index.id = id;
    if table.columnstore.is_some() {
        return Err(several());
    }
    if table.memory_optimized {
        return refuse("columnstore indexes on memory-optimized tables");
    }
    Ok(())
}

fn next_id(table: &TableDef) -> i32 {
    table.indexes.iter().map(|index| index.id).max().unwrap_or(1).max(1) + 1
}

/// Runs CREATE NONCLUSTERED COLUMNSTORE INDEX on a table that exists.
pub(super) fn create(create: &ast::CreateIndex, cx: &mut Cx<'_>) -> Result<()> {
    let before = table::find_alone(&create.table, cx)?;
    let name = create.index.name.as_str();
    let drops = create.index.options.iter().any(|option| {
        *option.name == *"DROP_EXISTING" && matches!(option.value, ast::OptionValue::On)
    });
    match &before.column_index {
        Some(old) if !Name::same(&old.name, name) => return Err(several()),
        Some(_) if !drops => return Err(duplicate_index(name, &before.qualified_name())),
        None if before.columnstore.is_some() => return Err(several()),
        None if before.index(name).is_some() => {
            return Err(duplicate_index(name, &before.qualified_name()));
        }
        None if drops => return Err(Msg::IndexNotFound(name).into()),
        Some(_) | None => {}
    }
    let cell = &cx.session.instance.catalog;
    let defined = define(&create.index, &before.columns, &before.name, cell)?;
    let mut after = TableDef { column_index: Some(defined), ..TableDef::clone(&before) };
    check(&mut after)?;
    fill(&after, 1, Trim::Rebuild, cx)?;
    table::replace(after, cx)
}

/// Makes groups of all rows that are in none, as long as there are so many.
fn fill(table: &TableDef, rows_min: usize, trim: Trim, cx: &mut Cx<'_>) -> Result<()> {
    let session = &cx.session;
    let filled =
        tuple_mover::cover(&session.instance.store, table, rows_min, trim, &session.cancel);
    filled.map_err(|e| fault::raise(cx, e))
}

/// Runs DROP INDEX.
pub(super) fn drop(name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<()> {
    let before = table::find_alone(name, cx)?;
    let after = TableDef { column_index: None, ..TableDef::clone(&before) };
    table::replace(after, cx)?;
    // Should this be undone, the tuple mover makes it again.
    before.rows.data.drop_column_index();
    Ok(())
}

/// Runs ALTER INDEX .. REBUILD and REORGANIZE, while others read and write. REORGANIZE makes groups where there are rows
/// enough, and with COMPRESS_ALL_ROW_GROUPS of all rows.
pub(super) fn change(alter: &ast::AlterIndex, cx: &mut Cx<'_>) -> Result<()> {
    let all = columnstore::compresses_all(alter)?;
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
