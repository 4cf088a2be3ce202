//! `sys.sql_modules`: the text of procedures, views, functions and triggers.

use types::Value;

use metadata::column::{BIT, Column, INT, NVMAX, bit, col, int, opt, rows, shape, text};
use metadata::objects::{ModuleRow, modules};
use metadata::{Rows, Scope, SystemView};

/// The columns, shared with `sys.all_sql_modules`.
pub(crate) const COLUMNS: &[Column<ModuleRow>] = &[
    col("object_id", INT, |r| int(r.id)),
    opt("definition", NVMAX, |r| r.text.as_deref().map_or(Value::Null, text)),
    opt("uses_ansi_nulls", BIT, |r| bit(r.ansi_nulls)),
    opt("uses_quoted_identifier", BIT, |r| bit(r.quoted_identifier)),
    opt("is_schema_bound", BIT, |r| bit(r.schema_bound)),
    opt("uses_database_collation", BIT, |_| bit(false)),
    opt("is_recompiled", BIT, |r| bit(r.recompiled)),
    opt("null_on_null_input", BIT, |r| bit(r.null_on_null)),
    opt("execute_as_principal_id", INT, |r| {
        r.execute_as.map_or(Value::Null, |clause| int(clause.principal))
    }),
    opt("uses_native_compilation", BIT, |r| bit(r.native)),
    opt("inline_type", BIT, |_| bit(false)),
    opt("is_inlineable", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "sql_modules",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, modules(scope.database))
}
