//! `sys.dm_server_login_failures`: failed logins by login and by client address, and the delay of
//! the next answer. SQL Server has no such view.

use types::Value;

use super::{Rows, Scope, SystemView, column::shape};
use ::session::instance::{FailureKind, FailureRow};
use metadata::column::{
    BIGINT, Column, DATETIME, INT, SYSNAME, ascii, big, col, int, rows, text, vc,
};

const COLUMNS: &[Column<FailureRow>] = &[
    col("kind", vc(7), |r| {
        ascii(match r.kind {
            FailureKind::Login => "LOGIN",
            FailureKind::Address => "ADDRESS",
        })
    }),
    col("name", SYSNAME, |r| text(&r.name)),
    col("failure_count", BIGINT, |r| big(r.count)),
    col("recent_failure_count", INT, |r| int(r.streak)),
    col("delay_ms", INT, |r| int(r.delay_ms)),
    col("first_failure_time", DATETIME, |r| r.first.clone()),
    col("last_failure_time", DATETIME, |r| r.last.clone()),
    col("last_state", INT, |r| Value::Int(i32::from(r.state))),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_server_login_failures",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.session.instance.login_failures.rows())
}
