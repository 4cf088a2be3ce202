//! Definitions of clustered columnstore indexes: their options, and the tables and columns that can
//! have one.

use tsql::ast::{self, IndexStructure};
use types::{DataType, Error, Msg, Result};

use crate::refuse;
use ::catalog::{ColumnDef, ColumnstoreDef, TableDef};

/// Makes the definition of a clustered columnstore index.
///
/// # Errors
/// 40517 for options that are not supported.
pub fn define(index: &ast::InlineIndex) -> Result<ColumnstoreDef> {
    if !index.order.is_empty() {
        return refuse("ORDER of a columnstore index");
    }
    let mut compression_delay = 0;
    for option in &index.options {
        if !option.on_partitions.is_empty() {
            return refuse("ON PARTITIONS of a columnstore index");
        }
        match (option.name.as_ref(), &option.value) {
            ("COMPRESSION_DELAY", value) => compression_delay = minutes(value)?,
            ("DATA_COMPRESSION", value) if value.word() == Some("COLUMNSTORE") => {}
            ("DROP_EXISTING" | "MAXDOP" | "ONLINE", _) => {}
            (other, _) => return refuse(&format!("the option {other} of a columnstore index")),
        }
    }
    Ok(ColumnstoreDef { name: index.name.to_string(), compression_delay, on: None })
}

/// Parses `COMPRESSION_DELAY = 10 [MINUTES]`: 0 to 10,080.
fn minutes(value: &ast::OptionValue) -> Result<i32> {
    let count = match value {
        ast::OptionValue::Literal(ast::Literal::Int(count)) => i64::from(*count),
        ast::OptionValue::Quantity(count, _) => i64::try_from(*count).unwrap_or(i64::MAX),
        _ => -1,
    };
    let known = i32::try_from(count).ok().filter(|count| (0..=10_080).contains(count));
    known.ok_or_else(|| Msg::NotSupported("this COMPRESSION_DELAY").into())
}

/// Checks that the table can have a clustered columnstore index.
///
/// # Errors
/// 35343 for a column of a type that can't be compressed; 40517 for what is not supported.
pub fn check(table: &TableDef) -> Result<()> {
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

/// Checks that a columnstore index can store a column of this type.
///
/// # Errors
/// 35343 if it can't.
pub fn check_type(column: &ColumnDef) -> Result<()> {
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

/// The error of a column whose type no columnstore index can store: 35343.
pub fn cannot_participate(column: &ColumnDef) -> Error {
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

/// Returns true if COMPRESS_ALL_ROW_GROUPS is ON.
///
/// # Errors
/// 40517 for other options.
pub fn compresses_all(alter: &ast::AlterIndex) -> Result<bool> {
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

/// Returns true if an index is a columnstore, clustered or not.
pub fn is_any(index: &ast::InlineIndex) -> bool {
    is_columnstore(index) || super::column_index::is_column_index(index)
}

/// Returns true if an index is a clustered columnstore.
pub fn is_columnstore(index: &ast::InlineIndex) -> bool {
    index.structure == Some(IndexStructure::ClusteredColumnstore)
}
