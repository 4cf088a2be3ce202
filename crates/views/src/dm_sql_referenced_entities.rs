//! `sys.dm_sql_referenced_entities(name, class)`: the objects that a module names. Columns of those
//! objects have no rows.

use ::catalog::Database;
use types::{Msg, Value};

use super::dependencies::{Dependency, OBJECT, class_name, dependencies_of, find, seen};
use metadata::column::{
    BIT, Column, INT, SYSNAME, TINYINT, bit, col, int, nv, opt, or_null, rows, shape, text, unknown,
};
use metadata::{RowSet, Rows, Scope, SystemView};

const COLUMNS: &[Column<Dependency>] = &[
    col("referencing_minor_id", INT, |r| int(r.referencing_minor_id)),
    opt("referenced_server_name", SYSNAME, |r| or_null(r.server.as_deref(), text)),
    opt("referenced_database_name", SYSNAME, |r| or_null(r.database.as_deref(), text)),
    opt("referenced_schema_name", SYSNAME, |r| or_null(r.schema.as_deref(), text)),
    opt("referenced_entity_name", SYSNAME, |r| text(&r.entity)),
    unknown("referenced_minor_name", SYSNAME),
    opt("referenced_id", INT, |r| or_null(r.referenced_id, int)),
    opt("referenced_minor_id", INT, |r| int(r.referenced_minor_id)),
    opt("referenced_class", TINYINT, |r| Value::TinyInt(r.class)),
    opt("referenced_class_desc", nv(60), |r| text(class_name(r.class))),
    col("is_caller_dependent", BIT, |r| bit(r.caller_dependent)),
    col("is_ambiguous", BIT, |_| bit(false)),
    col("is_selected", BIT, |r| bit(r.selected)),
    col("is_updated", BIT, |r| bit(r.updated)),
    col("is_select_all", BIT, |_| bit(false)),
    col("is_all_columns_found", BIT, |r| bit(r.referenced_id.is_some())),
    col("is_insert_all", BIT, |_| bit(false)),
    col("is_incomplete", BIT, |r| bit(r.referenced_id.is_none() && !r.caller_dependent)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_sql_referenced_entities",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 2,
};

fn read(scope: &Scope<'_>) -> Rows {
    let argument = |place: usize| scope.arguments.get(place).and_then(text_of);
    let (Some(name), Some(class)) = (argument(0), argument(1)) else {
        return Ok(RowSet::default());
    };
    let Some(database) = seen(scope) else { return Ok(RowSet::default()) };
    let id = match class.to_ascii_uppercase().as_str() {
        "OBJECT" => find(&database, &name, OBJECT),
        "DATABASE_DDL_TRIGGER" => trigger(&database, &name),
        "SERVER_DDL_TRIGGER" => {
            return Err(
                Msg::NotSupported("dm_sql_referenced_entities of SERVER_DDL_TRIGGER").into()
            );
        }
        _ => None,
    };
    let found = id.map(|id| dependencies_of(&database, id)).unwrap_or_default();
    rows(COLUMNS, found)
}

/// Finds a trigger ON DATABASE by its name.
fn trigger(database: &Database, name: &str) -> Option<i32> {
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    database.triggers.values().find(|t| t.name.eq_ignore_ascii_case(bare)).map(|t| t.id)
}

/// Returns a string argument.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    value.as_text(types::Collation::default()).map(|text| text.to_string())
}
