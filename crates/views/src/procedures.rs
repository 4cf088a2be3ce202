//! `sys.procedures`: stored procedures.

use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, ascii, bit, ch, col, int, nv, opt, or_null, rows, shape,
    text,
};
use metadata::objects::{ObjectRow, of_kind, type_description};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<ObjectRow>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("object_id", INT, |r| int(r.id)),
    opt("principal_id", INT, |r| or_null(r.owner, int)),
    col("schema_id", INT, |r| int(r.schema_id)),
    col("parent_object_id", INT, |r| int(r.parent_id)),
    opt("type", ch(2), |r| ascii(&format!("{:<2}", r.code))),
    opt("type_desc", nv(60), |r| text(type_description(r.code))),
    col("create_date", DATETIME, |r| r.created.clone()),
    col("modify_date", DATETIME, |r| r.modified.clone()),
    col("is_ms_shipped", BIT, |r| bit(r.system)),
    col("is_published", BIT, |_| bit(false)),
    col("is_schema_published", BIT, |_| bit(false)),
    col("is_auto_executed", BIT, |_| bit(false)),
    opt("is_execution_replicated", BIT, |_| bit(false)),
    opt("is_repl_serializable_only", BIT, |_| bit(false)),
    opt("skips_repl_constraints", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "procedures",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, of_kind(scope.session, scope.database, &["P"]))
}
