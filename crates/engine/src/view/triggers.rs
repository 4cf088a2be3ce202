//! `sys.triggers`: triggers on tables and views.

use super::column::{
    BIT, Column, DATETIME, INT, SYSNAME, TINYINT, ascii, bit, ch, col, int, nv, opt, rows, shape,
    text,
};
use super::source_triggers::{TriggerRow, triggers};
use super::{Rows, Scope, SystemView};
use types::Value;

const COLUMNS: &[Column<TriggerRow>] = &[
    col("name", SYSNAME, |r| text(&r.module.name)),
    col("object_id", INT, |r| int(r.module.id)),
    col("parent_class", TINYINT, |_| Value::TinyInt(1)),
    opt("parent_class_desc", nv(60), |_| text("OBJECT_OR_COLUMN")),
    col("parent_id", INT, |r| int(r.module.parent_id)),
    col("type", ch(2), |_| ascii("TR")),
    opt("type_desc", nv(60), |_| text("SQL_TRIGGER")),
    col("create_date", DATETIME, |r| r.module.created.clone()),
    col("modify_date", DATETIME, |r| r.module.created.clone()),
    col("is_ms_shipped", BIT, |_| bit(false)),
    col("is_disabled", BIT, |r| bit(r.module.disabled)),
    col("is_not_for_replication", BIT, |r| bit(r.not_for_replication)),
    col("is_instead_of_trigger", BIT, |r| bit(r.instead)),
];

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "triggers",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, triggers(scope.database))
}
