//! Definitions of nonclustered columnstore indexes, from CREATE INDEX and from table elements.

use storage::columnstore::ColumnIndexId;
use tsql::ast::{self, IndexStructure};
use types::{DataType, Error, Msg, Result};

use super::{Shaper, columnstore};
use crate::refuse;
use ::catalog::name::Name;
use ::catalog::{CatalogCell, ColumnDef, ColumnIndexDef, TableDef};

/// Returns true if an index is a nonclustered columnstore.
pub fn is_column_index(index: &ast::InlineIndex) -> bool {
    index.structure == Some(IndexStructure::NonclusteredColumnstore)
}

/// Returns the error of a second columnstore index, 35339.
pub fn several() -> Error {
    Error::custom(35339, 16, 1, "Multiple columnstore indexes are not supported.")
}

fn failed(number: i32, why: &str) -> Error {
    Error::custom(number, 15, 1, format!("The statement failed because {why}"))
}

impl Shaper<'_, '_> {
    /// Adds a columnstore index to a table that is being created.
    ///
    /// # Errors
    /// 1902 and 35339 for a second one; otherwise the errors of its definition.
    pub fn add_columnstore(&mut self, index: &ast::InlineIndex) -> Result<()> {
        self.check_storage(&index.storage)?;
        if is_column_index(index) {
            if self.column_index.is_some() {
                return Err(several());
            }
            self.column_index = Some(define(index, &self.columns, self.place.name, self.cell)?);
            self.note_place(&index.name, &index.storage, &[]);
            return Ok(());
        }
        if self.columnstore.is_some() {
            return Err(Msg::MultipleClustered(self.place.name).into());
        }
        self.columnstore = Some(columnstore::define(index)?);
        self.note_place(&index.name, &index.storage, &[]);
        Ok(())
    }
}

/// Makes the definition of an index, with the id for a table that has no other indexes.
pub fn define(
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
        on: None,
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

/// Checks that the table can have such an index, and gives the index its id.
///
/// # Errors
/// 35339 beside a clustered columnstore index; 40517 for what is not supported.
pub fn check(table: &mut TableDef) -> Result<()> {
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
    table.highest_index_id() + 1
}
