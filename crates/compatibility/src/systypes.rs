//! `systypes`: the system's types and those of users.

use types::{DataType, Value};

use metadata::column::{
    BIT, Column, INT, SMALLINT, SYSNAME, TINYINT, bit, col, int, opt, rows, shape, small, text,
    text_or_null, unknown, vc,
};
use metadata::type_facts::{character_length, datetime_precision, numeric_facts};
use metadata::types::{TypeRow, type_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<TypeRow>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("xtype", TINYINT, |r| Value::TinyInt(r.system_type_id)),
    unknown("status", TINYINT),
    opt("xusertype", SMALLINT, |r| small(r.user_type_id)),
    col("length", SMALLINT, |r| Value::SmallInt(r.max_length)),
    col("xprec", TINYINT, |r| Value::TinyInt(r.precision)),
    col("xscale", TINYINT, |r| Value::TinyInt(r.scale)),
    col("tdefault", INT, |_| int(0)),
    col("domain", INT, |_| int(0)),
    opt("uid", SMALLINT, |r| small(r.schema_id)),
    unknown("reserved", SMALLINT),
    unknown("collationid", INT),
    opt("usertype", SMALLINT, |r| small(old_user_type(r.user_type_id))),
    col("variable", BIT, |r| bit(matches!(r.system_type_id, 98 | 165 | 167 | 231))),
    opt("allownulls", BIT, |r| bit(r.nullable)),
    unknown("type", TINYINT),
    unknown("printfmt", vc(255)),
    opt("prec", SMALLINT, digits_of_row),
    opt("scale", TINYINT, scale_of_row),
    opt("collation", SYSNAME, |r| text_or_null(&r.collation)),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "", name: "systypes", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, type_rows(scope.database))
}

/// Returns `prec`: characters of a string, bytes of binary, digits of a number; -1 for xml, 0 for
/// other types.
fn digits_of_row(row: &TypeRow) -> Value {
    match row.system_type_id {
        231 | 239 => small(row.max_length / 2),
        167 | 175 | 165 | 173 => small(row.max_length),
        241 => small(-1),
        // `text`, `ntext` and `image` are longer than a smallint counts.
        34 | 35 | 99 => Value::Null,
        36 => small(16),
        189 => small(8),
        _ => small(row.precision),
    }
}

fn scale_of_row(row: &TypeRow) -> Value {
    match row.system_type_id {
        48 | 52 | 56 | 127 | 104 => Value::TinyInt(0),
        40..=43 | 58 | 60 | 61 | 106 | 108 | 122 => Value::TinyInt(row.scale),
        _ => Value::Null,
    }
}

/// Returns `prec` of a type with its length.
pub(crate) fn digits(data_type: &DataType) -> Value {
    match data_type {
        DataType::Text | DataType::NText | DataType::Image => Value::Null,
        DataType::Xml => small(-1),
        DataType::UniqueIdentifier => small(16),
        DataType::RowVersion => small(8),
        other => match character_length(other) {
            Some(length) => small(length),
            None => small(other.precision()),
        },
    }
}

/// Returns `scale` of a type; `None` for a type without scale.
pub(crate) fn scale_of(data_type: &DataType) -> Option<i32> {
    if let Some((_, _, scale)) = numeric_facts(data_type) {
        return scale;
    }
    match data_type {
        DataType::Bit => Some(0),
        other => datetime_precision(other).map(i32::from),
    }
}

/// Returns `usertype`, the type number before SQL Server 7.0, by `user_type_id`; 0 for later types.
pub(crate) fn old_user_type(user_type_id: i32) -> i32 {
    match user_type_id {
        34 => 20,
        35 => 19,
        48 => 5,
        52 => 6,
        56 => 7,
        58 => 22,
        59 => 23,
        60 => 11,
        61 => 12,
        62 => 8,
        104 => 16,
        106 => 24,
        108 => 10,
        122 => 21,
        165 => 4,
        167 => 2,
        173 => 3,
        175 => 1,
        189 => 80,
        256 => 18,
        user if user > 256 => user,
        _ => 0,
    }
}
