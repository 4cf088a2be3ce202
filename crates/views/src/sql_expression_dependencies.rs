//! `sys.sql_expression_dependencies`: a row for each object that a module, constraint or computed
//! column of the database names.

use types::Value;

use super::dependencies::{Dependency, OBJECT, class_name, dependencies};
use metadata::column::{
    BIT, Column, INT, SYSNAME, TINYINT, bit, col, int, nv, opt, or_null, rows, shape, text,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Dependency>] = &[
    col("referencing_id", INT, |r| int(r.referencing_id)),
    col("referencing_minor_id", INT, |r| int(r.referencing_minor_id)),
    opt("referencing_class", TINYINT, |_| Value::TinyInt(OBJECT)),
    opt("referencing_class_desc", nv(60), |_| text(class_name(OBJECT))),
    col("is_schema_bound_reference", BIT, |r| bit(r.schema_bound)),
    opt("referenced_class", TINYINT, |r| Value::TinyInt(r.class)),
    opt("referenced_class_desc", nv(60), |r| text(class_name(r.class))),
    opt("referenced_server_name", SYSNAME, |r| or_null(r.server.as_deref(), text)),
    opt("referenced_database_name", SYSNAME, |r| or_null(r.database.as_deref(), text)),
    opt("referenced_schema_name", SYSNAME, |r| or_null(r.schema.as_deref(), text)),
    opt("referenced_entity_name", SYSNAME, |r| text(&r.entity)),
    opt("referenced_id", INT, |r| or_null(r.referenced_id, int)),
    col("referenced_minor_id", INT, |r| int(r.referenced_minor_id)),
    col("is_caller_dependent", BIT, |r| bit(r.caller_dependent)),
    // A name that may be a method of a column of a CLR type; there are none.
    col("is_ambiguous", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "sql_expression_dependencies",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, dependencies(scope.database))
}
