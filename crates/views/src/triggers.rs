//! `sys.triggers` and `sys.server_triggers`: DML triggers, and DDL triggers of a database or the
//! server.

use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, TINYINT, ascii, bit, ch, col, int, nv, opt, rows, shape,
    text,
};
use metadata::triggers::{TriggerRow, server_triggers, triggers};
use metadata::{Rows, Scope, SystemView};
use types::Value;

const COLUMNS: &[Column<TriggerRow>] = &[
    col("name", SYSNAME, |r| text(&r.module.name)),
    col("object_id", INT, |r| int(r.module.id)),
    col("parent_class", TINYINT, |r| Value::TinyInt(u8::from(!r.of_definitions))),
    opt("parent_class_desc", nv(60), |r| {
        text(if r.of_definitions { "DATABASE" } else { "OBJECT_OR_COLUMN" })
    }),
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

const SERVER_COLUMNS: &[Column<TriggerRow>] = &[
    col("name", SYSNAME, |r| text(&r.module.name)),
    col("object_id", INT, |r| int(r.module.id)),
    col("parent_class", TINYINT, |_| Value::TinyInt(100)),
    opt("parent_class_desc", nv(60), |_| text("SERVER")),
    col("parent_id", INT, |r| int(r.module.parent_id)),
    col("type", ch(2), |_| ascii("TR")),
    opt("type_desc", nv(60), |_| text("SQL_TRIGGER")),
    col("create_date", DATETIME, |r| r.module.created.clone()),
    col("modify_date", DATETIME, |r| r.module.created.clone()),
    col("is_ms_shipped", BIT, |_| bit(false)),
    col("is_disabled", BIT, |r| bit(r.module.disabled)),
];

/// `sys.triggers`: the triggers of a database.
pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "triggers",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

/// `sys.server_triggers`: the triggers of the server.
pub(crate) static SERVER: SystemView = SystemView {
    schema: "sys",
    name: "server_triggers",
    columns: || shape(SERVER_COLUMNS),
    rows: read_server,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, triggers(scope.database))
}

fn read_server(scope: &Scope<'_>) -> Rows {
    rows(SERVER_COLUMNS, server_triggers(&scope.session.catalog))
}
