//! `sys.parameters`: parameters of procedures and functions.

use types::Value;

use metadata::column::{
    BIT, Column, INT, SMALLINT, SYSNAME, TINYINT, VARIANT, bit, col, int, nv, opt, rows, shape,
    text,
};
use metadata::objects::{ParameterRow, parameters};
use metadata::{Rows, Scope, SystemView};

/// The columns, shared with `sys.all_parameters`.
pub(crate) const COLUMNS: &[Column<ParameterRow>] = &[
    col("object_id", INT, |r| int(r.object_id)),
    opt("name", SYSNAME, |r| text(&r.definition.name)),
    col("parameter_id", INT, |r| int(r.id)),
    col("system_type_id", TINYINT, |r| Value::TinyInt(r.system_type_id())),
    col("user_type_id", INT, |r| int(r.user_type_id())),
    col("max_length", SMALLINT, |r| {
        Value::SmallInt(if r.definition.table_type.is_some() {
            -1
        } else {
            r.definition.ty.data_type.max_length()
        })
    }),
    col("precision", TINYINT, |r| Value::TinyInt(r.definition.ty.data_type.precision())),
    col("scale", TINYINT, |r| Value::TinyInt(r.definition.ty.data_type.scale())),
    col("is_output", BIT, |r| bit(r.definition.output)),
    col("is_cursor_ref", BIT, |r| bit(r.definition.cursor)),
    col("has_default_value", BIT, |_| bit(false)),
    col("is_xml_document", BIT, |_| bit(false)),
    opt("default_value", VARIANT, |_| Value::Null),
    col("xml_collection_id", INT, |_| int(0)),
    col("is_readonly", BIT, |r| bit(r.definition.table_type.is_some())),
    opt("is_nullable", BIT, |_| bit(true)),
    opt("encryption_type", INT, |_| Value::Null),
    opt("encryption_type_desc", nv(64), |_| Value::Null),
    opt("encryption_algorithm_name", SYSNAME, |_| Value::Null),
    opt("column_encryption_key_id", INT, |_| Value::Null),
    opt("column_encryption_key_database_name", SYSNAME, |_| Value::Null),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "parameters",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, parameters(scope.database))
}
