//! `sys.columns`: columns of the tables and views of a database.

use types::Family;
use types::Value;

use metadata::column::{
    BIT, Column, INT, SMALLINT, SYSNAME, TINYINT, bit, col, int, nv, opt, rows, shape, text,
};
use metadata::objects::generated_always;
use metadata::objects::{ColumnRow, collation_name, columns};
use metadata::{Rows, Scope, SystemView};

/// The columns, shared by other views of columns.
pub(crate) const COLUMNS: &[Column<ColumnRow>] = &[
    col("object_id", INT, |r| int(r.object_id)),
    opt("name", SYSNAME, |r| text(&r.name)),
    col("column_id", INT, |r| int(r.id)),
    col("system_type_id", TINYINT, |r| Value::TinyInt(r.system_type_id())),
    col("user_type_id", INT, |r| int(r.user_type_id)),
    col("max_length", SMALLINT, |r| Value::SmallInt(r.ty.data_type.max_length())),
    col("precision", TINYINT, |r| Value::TinyInt(r.ty.data_type.precision())),
    col("scale", TINYINT, |r| Value::TinyInt(r.ty.data_type.scale())),
    opt("collation_name", SYSNAME, |r| collation_name(&r.ty)),
    opt("is_nullable", BIT, |r| bit(r.ty.nullable)),
    col("is_ansi_padded", BIT, |r| {
        let padded = matches!(
            r.ty.data_type.family(),
            Family::String | Family::UnicodeString | Family::Binary | Family::Variant
        );
        bit(padded && !r.is(|d| d.trims))
    }),
    col("is_rowguidcol", BIT, |r| bit(r.is(|d| d.row_guid))),
    col("is_identity", BIT, |r| bit(r.traits.identity)),
    col("is_computed", BIT, |r| bit(r.is(|d| d.computed.is_some()))),
    col("is_filestream", BIT, |_| bit(false)),
    opt("is_replicated", BIT, |_| bit(false)),
    opt("is_non_sql_subscribed", BIT, |_| bit(false)),
    opt("is_merge_published", BIT, |_| bit(false)),
    opt("is_dts_replicated", BIT, |_| bit(false)),
    col("is_xml_document", BIT, |_| bit(false)),
    col("xml_collection_id", INT, |_| int(0)),
    col("default_object_id", INT, |r| int(r.default_id())),
    col("rule_object_id", INT, |_| int(0)),
    opt("is_sparse", BIT, |r| bit(r.is(|d| d.sparse))),
    opt("is_column_set", BIT, |_| bit(false)),
    opt("generated_always_type", TINYINT, |r| {
        Value::TinyInt(generated_always(r.definition.as_ref().and_then(|d| d.generated)).0)
    }),
    opt("generated_always_type_desc", nv(60), |r| {
        text(generated_always(r.definition.as_ref().and_then(|d| d.generated)).1)
    }),
    opt("encryption_type", INT, |_| Value::Null),
    opt("encryption_type_desc", nv(64), |_| Value::Null),
    opt("encryption_algorithm_name", SYSNAME, |_| Value::Null),
    opt("column_encryption_key_id", INT, |_| Value::Null),
    opt("column_encryption_key_database_name", SYSNAME, |_| Value::Null),
    opt("is_hidden", BIT, |r| bit(r.is(|d| d.hidden))),
    col("is_masked", BIT, |_| bit(false)),
    opt("graph_type", INT, |_| Value::Null),
    opt("graph_type_desc", nv(60), |_| Value::Null),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "sys", name: "columns", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, columns(scope))
}
