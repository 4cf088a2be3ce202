//! `sys.sql_dependencies`: what a module, constraint or computed column of the database names, if it is there.
//!
//! The predecessor of `sys.sql_expression_dependencies`: by ids alone, so that a name of nothing has no row.

use types::Value;

use super::dependencies::{Dependency, TYPE, dependencies};
use metadata::column::{
    BIT, Column, INT, TINYINT, bit, col, int, nv, opt, or_null, rows, shape, text, unknown,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Dependency>] = &[
    col("class", TINYINT, |r| Value::TinyInt(class(r))),
    opt("class_desc", nv(60), |r| text(class_name(class(r)))),
    col("object_id", INT, |r| int(r.referencing_id)),
    col("column_id", INT, |r| int(r.referencing_minor_id)),
    col("referenced_major_id", INT, |r| or_null(r.referenced_id, int)),
    col("referenced_minor_id", INT, |r| int(r.referenced_minor_id)),
    col("is_selected", BIT, |r| bit(r.selected)),
    col("is_updated", BIT, |r| bit(r.updated)),
    // Whether `*` selects it: the dependencies do not keep how a query selects.
    unknown("is_select_all", BIT),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "sql_dependencies",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

/// Returns the class of a reference, which differs from that of `sys.sql_expression_dependencies`.
fn class(dependency: &Dependency) -> u8 {
    if dependency.class == TYPE { 2 } else { u8::from(dependency.schema_bound) }
}

fn class_name(class: u8) -> &'static str {
    match class {
        0 => "OBJECT_OR_COLUMN_REFERENCE_NON_SCHEMA_BOUND",
        1 => "OBJECT_OR_COLUMN_REFERENCE_SCHEMA_BOUND",
        _ => "TYPE_REFERENCE",
    }
}

fn read(scope: &Scope<'_>) -> Rows {
    let found = dependencies(scope.database);
    rows(COLUMNS, found.into_iter().filter(|found| found.referenced_id.is_some()))
}
