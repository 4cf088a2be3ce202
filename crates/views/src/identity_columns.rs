//! `sys.identity_columns`: identity columns, their seeds, increments and last values; columns of
//! views that are identity columns of tables, without them.

use types::Family;
use types::value::ColumnType;
use types::{DataType, Value};

use metadata::column::{
    BIT, Column, INT, SMALLINT, SYSNAME, TINYINT, VARIANT, bit, col, int, nv, opt, rows, shape,
    text,
};
use metadata::objects::{ColumnRow, collation_name, columns, last_identity, tables};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("object_id", INT, |r| int(r.column.object_id)),
    opt("name", SYSNAME, |r| text(&r.column.name)),
    col("column_id", INT, |r| int(r.column.id)),
    col("system_type_id", TINYINT, |r| Value::TinyInt(r.column.system_type_id())),
    col("user_type_id", INT, |r| int(r.column.user_type_id)),
    col("max_length", SMALLINT, |r| Value::SmallInt(r.column.ty.data_type.max_length())),
    col("precision", TINYINT, |r| Value::TinyInt(r.column.ty.data_type.precision())),
    col("scale", TINYINT, |r| Value::TinyInt(r.column.ty.data_type.scale())),
    opt("collation_name", SYSNAME, |r| collation_name(&r.column.ty)),
    opt("is_nullable", BIT, |r| bit(r.column.ty.nullable)),
    col("is_ansi_padded", BIT, |r| {
        bit(matches!(
            r.column.ty.data_type.family(),
            Family::String | Family::UnicodeString | Family::Binary | Family::Variant
        ))
    }),
    col("is_rowguidcol", BIT, |r| bit(r.column.is(|d| d.row_guid))),
    col("is_identity", BIT, |r| bit(r.column.traits.identity)),
    col("is_computed", BIT, |r| bit(r.column.is(|d| d.computed.is_some()))),
    col("is_filestream", BIT, |_| bit(false)),
    opt("is_replicated", BIT, |_| bit(false)),
    opt("is_non_sql_subscribed", BIT, |_| bit(false)),
    opt("is_merge_published", BIT, |_| bit(false)),
    opt("is_dts_replicated", BIT, |_| bit(false)),
    col("is_xml_document", BIT, |_| bit(false)),
    col("xml_collection_id", INT, |_| int(0)),
    col("default_object_id", INT, |r| int(r.column.default_id())),
    col("rule_object_id", INT, |_| int(0)),
    opt("is_sparse", BIT, |_| bit(false)),
    opt("is_column_set", BIT, |_| bit(false)),
    opt("generated_always_type", TINYINT, |_| Value::TinyInt(0)),
    opt("generated_always_type_desc", nv(60), |_| text("NOT_APPLICABLE")),
    opt("encryption_type", INT, |_| Value::Null),
    opt("encryption_type_desc", nv(64), |_| Value::Null),
    opt("encryption_algorithm_name", SYSNAME, |_| Value::Null),
    opt("column_encryption_key_id", INT, |_| Value::Null),
    opt("column_encryption_key_database_name", SYSNAME, |_| Value::Null),
    opt("is_hidden", BIT, |_| bit(false)),
    col("is_masked", BIT, |_| bit(false)),
    opt("graph_type", INT, |_| Value::Null),
    opt("graph_type_desc", nv(60), |_| Value::Null),
    opt("seed_value", VARIANT, |r| variant(r.seed, &r.column)),
    opt("increment_value", VARIANT, |r| variant(r.increment, &r.column)),
    opt("last_value", VARIANT, |r| variant(r.last, &r.column)),
    opt("is_not_for_replication", BIT, |r| bit(r.column.is(|d| d.not_for_replication))),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "identity_columns",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    column: ColumnRow,
    /// `None`, as the next two, for a view's column.
    seed: Option<i64>,
    increment: Option<i64>,
    last: Option<i64>,
}

/// Converts a number to `sql_variant`, with the column's type inside.
fn variant(number: Option<i64>, column: &ColumnRow) -> Value {
    let Some(number) = number else { return Value::Null };
    let from = ColumnType::nullable(DataType::BigInt);
    let options = types::ConvertOptions::default();
    let value = Value::BigInt(number);
    match types::convert(&value, &from, &column.ty, 0, types::Mode::Explicit, &options) {
        Ok(value) => Value::Variant(Box::new((value, column.ty))),
        Err(_) => Value::Variant(Box::new((Value::BigInt(number), from))),
    }
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let tables = tables(scope.session, scope.database);
    let row = |column: ColumnRow| {
        let identity = column.definition.as_ref().and_then(|d| d.identity);
        let table = tables.iter().find(|t| t.id == column.object_id);
        let last = table.and_then(|table| last_identity(table));
        Row { column, seed: identity.map(|(seed, _)| seed), increment: identity.map(|i| i.1), last }
    };
    columns(scope).into_iter().filter(|column| column.traits.identity).map(row).collect()
}
