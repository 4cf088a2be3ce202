//! `sys.sql_logins`: SQL logins.

use std::sync::Arc;

use types::Value;

use super::column::{
    BIT, Column, DATETIME, INT, SYSNAME, ascii, binary, bit, ch, col, int, nv, opt, rows, shape,
    text, unknown, vb,
};
use super::{Rows, Scope, SystemView};
use crate::catalog::Login;

const COLUMNS: &[Column<Arc<Login>>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("principal_id", INT, |r| int(r.principal_id)),
    opt("sid", vb(85), |r| binary(&r.sid)),
    col("type", ch(1), |_| ascii("S")),
    opt("type_desc", nv(60), |_| text("SQL_LOGIN")),
    opt("is_disabled", BIT, |_| bit(false)),
    col("create_date", DATETIME, |r| r.created.clone()),
    col("modify_date", DATETIME, |r| r.created.clone()),
    opt("default_database_name", SYSNAME, |r| text(&r.default_database)),
    opt("default_language_name", SYSNAME, |_| text("us_english")),
    opt("credential_id", INT, |_| Value::Null),
    opt("is_policy_checked", BIT, |_| bit(false)),
    opt("is_expiration_checked", BIT, |_| bit(false)),
    unknown("password_hash", vb(256)),
];

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "sql_logins",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.session.catalog.logins.values().map(Arc::clone))
}
