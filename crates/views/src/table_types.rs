//! `sys.table_types`: user-defined table types.

use types::Value;

use metadata::column::{
    BIT, Column, INT, SMALLINT, SYSNAME, TINYINT, bit, col, int, opt, rows, shape, text,
};
use metadata::types::{TypeRow, type_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<TypeRow>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("system_type_id", TINYINT, |r| Value::TinyInt(r.system_type_id)),
    col("user_type_id", INT, |r| int(r.user_type_id)),
    col("schema_id", INT, |r| int(r.schema_id)),
    opt("principal_id", INT, |r| r.owner.map_or(Value::Null, Value::Int)),
    col("max_length", SMALLINT, |r| Value::SmallInt(r.max_length)),
    col("precision", TINYINT, |r| Value::TinyInt(r.precision)),
    col("scale", TINYINT, |r| Value::TinyInt(r.scale)),
    opt("collation_name", SYSNAME, |_| Value::Null),
    opt("is_nullable", BIT, |r| bit(r.nullable)),
    col("is_user_defined", BIT, |_| bit(true)),
    col("is_assembly_type", BIT, |_| bit(false)),
    col("default_object_id", INT, |_| int(0)),
    col("rule_object_id", INT, |_| int(0)),
    col("is_table_type", BIT, |_| bit(true)),
    opt("type_table_object_id", INT, |r| int(r.table_id)),
    opt("is_memory_optimized", BIT, |r| bit(r.memory_optimized)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "table_types",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, type_rows(scope.database).into_iter().filter(|t| t.table_type))
}
