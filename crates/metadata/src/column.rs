//! Columns of system views: a view lists its columns in a registry, one line per column, each with
//! the function that reads it from a row of type `T`.

use plan::long::{Growing, push};
use plan::view::RowSet;
use types::value::ColumnType;
use types::{Collation, DataType, Length, Result, Value};

use super::{Rows, Scope};

/// A column of a view whose rows are made from `T`s.
pub struct Column<T> {
    name: &'static str,
    data_type: DataType,
    nullable: bool,
    read: fn(&T) -> Value,
}

/// Makes a column that is never NULL.
pub const fn col<T>(name: &'static str, data_type: DataType, read: fn(&T) -> Value) -> Column<T> {
    Column { name, data_type, nullable: false, read }
}

/// Makes a column that may be NULL.
pub const fn opt<T>(name: &'static str, data_type: DataType, read: fn(&T) -> Value) -> Column<T> {
    Column { name, data_type, nullable: true, read }
}

/// Makes a column that is documented, but has no truthful value here: NULL.
pub const fn unknown<T>(name: &'static str, data_type: DataType) -> Column<T> {
    Column { name, data_type, nullable: true, read: |_| Value::Null }
}

/// Returns names and types of columns.
pub fn shape<T>(columns: &[Column<T>]) -> Vec<(&'static str, ColumnType)> {
    let collation = Collation::default();
    let ty = |c: &Column<T>| ColumnType { data_type: c.data_type, collation, nullable: c.nullable };
    columns.iter().map(|c| (c.name, ty(c))).collect()
}

/// Makes one row of the view from each item.
///
/// # Errors
/// 701 if the memory limit does not leave room for them.
pub fn rows<T>(columns: &[Column<T>], items: impl IntoIterator<Item = T>) -> Rows {
    list(columns, items).map(RowSet::from)
}

/// As [`rows`], for a caller that goes on with them.
///
/// # Errors
/// As [`rows`].
pub fn list<T>(
    columns: &[Column<T>],
    items: impl IntoIterator<Item = T>,
) -> Result<Vec<Vec<Value>>> {
    collect(items.into_iter().map(|item| values(columns, &item)))
}

fn collect(rows: impl Iterator<Item = Vec<Value>>) -> Result<Vec<Vec<Value>>> {
    let (mut list, mut memory) = (Vec::new(), Growing::default());
    for row in rows {
        let texts = row.iter().filter_map(Value::string_bytes).map(<[u8]>::len).sum::<usize>();
        memory.take(size_of_val(row.as_slice()) + size_of::<Vec<Value>>() + texts)?;
        push(&mut list, row)?;
    }
    Ok(list)
}

/// As [`rows`], of the columns that the query reads; the others are NULL. For views with many rows
/// and columns.
///
/// # Errors
/// As [`rows`].
pub fn rows_needed<T>(
    scope: &Scope<'_>,
    columns: &[Column<T>],
    items: impl IntoIterator<Item = T>,
) -> Rows {
    let values = |item: T| {
        let mut row = vec![Value::Null; columns.len()];
        for ordinal in scope.needed.iter().map(|ordinal| usize::from(*ordinal)) {
            row[ordinal] = (columns[ordinal].read)(&item);
        }
        row
    };
    collect(items.into_iter().map(values)).map(RowSet::from)
}

/// Makes one row of the view: the value of each column, in order.
pub fn values<T>(columns: &[Column<T>], item: &T) -> Vec<Value> {
    columns.iter().map(|c| (c.read)(item)).collect()
}

/// The SQL type `bit`.
pub const BIT: DataType = DataType::Bit;
/// The SQL type `tinyint`: 0 to 255.
pub const TINYINT: DataType = DataType::TinyInt;
/// The SQL type `smallint`: 16 bits.
pub const SMALLINT: DataType = DataType::SmallInt;
/// The SQL type `int`: 32 bits.
pub const INT: DataType = DataType::Int;
/// The SQL type `bigint`: 64 bits.
pub const BIGINT: DataType = DataType::BigInt;
/// The SQL type `real`: 32-bit float.
pub const REAL: DataType = DataType::Real;
/// The SQL type `float(53)`: 64-bit float.
pub const FLOAT: DataType = DataType::Float;
/// The SQL type `datetime`.
pub const DATETIME: DataType = DataType::DateTime;
/// The SQL type `uniqueidentifier`.
pub const GUID: DataType = DataType::UniqueIdentifier;
/// The SQL type `sql_variant`.
pub const VARIANT: DataType = DataType::SqlVariant;
/// `sysname`, which is `nvarchar(128)`.
pub const SYSNAME: DataType = nv(128);
/// The SQL type `nvarchar(max)`.
pub const NVMAX: DataType = DataType::NVarChar(Length::Max);
/// `varbinary(8)`, the type of addresses in memory.
pub const ADDRESS: DataType = vb(8);

/// `nvarchar(n)`, `n` in UTF-16 units.
pub const fn nv(n: u16) -> DataType {
    DataType::NVarChar(Length::Limited(n))
}

/// `nchar(n)`, `n` in UTF-16 units.
pub const fn nc(n: u16) -> DataType {
    DataType::NChar(n)
}

/// `varchar(n)`, `n` in bytes.
pub const fn vc(n: u16) -> DataType {
    DataType::VarChar(Length::Limited(n))
}

/// `char(n)`, `n` in bytes.
pub const fn ch(n: u16) -> DataType {
    DataType::Char(n)
}

/// `varbinary(n)`, at most `n` bytes.
pub const fn vb(n: u16) -> DataType {
    DataType::VarBinary(Length::Limited(n))
}

/// `binary(n)`, always `n` bytes.
pub const fn bin(n: u16) -> DataType {
    DataType::Binary(n)
}

/// Makes an `nvarchar` value.
pub fn text(value: &str) -> Value {
    Value::nvarchar(value)
}

/// Makes an `nvarchar` value; NULL for empty text.
pub fn text_or_null(value: &str) -> Value {
    if value.is_empty() { Value::Null } else { Value::nvarchar(value) }
}

/// Makes a `varchar` value of ASCII text.
pub fn ascii(value: &str) -> Value {
    Value::VarChar(types::Bytes::copy_from(value.as_bytes()))
}

/// Converts `Some` with `show`; NULL for `None`.
pub fn or_null<T>(value: Option<T>, show: impl FnOnce(T) -> Value) -> Value {
    value.map_or(Value::Null, show)
}

/// Makes an `nchar(n)` value, padded with blanks to `length`.
pub fn padded(value: &str, length: usize) -> Value {
    Value::nvarchar(&format!("{value:<length$}"))
}

/// Makes a `bit` value.
pub const fn bit(value: bool) -> Value {
    Value::Bit(value)
}

/// Makes an `int` value; a number out of range becomes the nearest end of the range.
pub fn int(value: impl TryInto<i32>) -> Value {
    Value::Int(value.try_into().unwrap_or(i32::MAX))
}

/// Makes a `smallint` value; a number out of range becomes the nearest end of the range.
pub fn small(value: impl TryInto<i16>) -> Value {
    Value::SmallInt(value.try_into().unwrap_or(i16::MAX))
}

/// Makes a `bigint` value; a number out of range becomes the nearest end of the range.
pub fn big(value: impl TryInto<i64>) -> Value {
    Value::BigInt(value.try_into().unwrap_or(i64::MAX))
}

/// Makes an `int` value: clock ticks converted to milliseconds.
pub fn ms(ticks: u64) -> Value {
    int(sos::clock::ticks_to_ns(ticks) / 1_000_000)
}

/// Makes a `bigint` value: clock ticks converted to microseconds.
pub fn us(ticks: u64) -> Value {
    big(sos::clock::ticks_to_ns(ticks) / 1_000)
}

/// Makes a `binary` value.
pub fn binary(value: &[u8]) -> Value {
    Value::VarBinary(types::Bytes::copy_from(value))
}
