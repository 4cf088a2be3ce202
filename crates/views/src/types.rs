//! `sys.types`: the system's types, alias types and table types.

use types::Value;

use metadata::column::{
    BIT, Column, INT, SMALLINT, SYSNAME, TINYINT, bit, col, int, opt, rows, shape, text,
    text_or_null,
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
    opt("collation_name", SYSNAME, |r| text_or_null(&r.collation)),
    opt("is_nullable", BIT, |r| bit(r.nullable)),
    col("is_user_defined", BIT, |r| bit(r.user_defined)),
    col("is_assembly_type", BIT, |_| bit(false)),
    col("default_object_id", INT, |_| int(0)),
    col("rule_object_id", INT, |_| int(0)),
    col("is_table_type", BIT, |r| bit(r.table_type)),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "sys", name: "types", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, type_rows(scope.database))
}
