//! `sys.sql_logins`: logins with SQL Server authentication.

use std::sync::Arc;

use types::Value;

use ::catalog::Login;
use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, ascii, binary, bit, ch, col, int, nv, opt, rows, shape,
    text, vb,
};
use metadata::{Rows, Scope, SystemView};

/// A login, and whether its password hash is shown (CONTROL SERVER).
struct Row(Arc<Login>, bool);

const COLUMNS: &[Column<Row>] = &[
    col("name", SYSNAME, |r| text(&r.0.name)),
    col("principal_id", INT, |r| int(r.0.principal_id)),
    opt("sid", vb(85), |r| binary(&r.0.sid)),
    col("type", ch(1), |_| ascii("S")),
    opt("type_desc", nv(60), |_| text("SQL_LOGIN")),
    opt("is_disabled", BIT, |r| bit(r.0.disabled)),
    col("create_date", DATETIME, |r| r.0.created.clone()),
    col("modify_date", DATETIME, |r| r.0.modified.clone()),
    opt("default_database_name", SYSNAME, |r| text(&r.0.default_database)),
    opt("default_language_name", SYSNAME, |r| text(r.0.default_language.name())),
    opt("credential_id", INT, |_| Value::Null),
    opt("is_policy_checked", BIT, |r| bit(r.0.policy.checked)),
    opt("is_expiration_checked", BIT, |r| bit(r.0.policy.expires)),
    opt("password_hash", vb(256), |r| if r.1 { binary(&r.0.password_hash) } else { Value::Null }),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "sql_logins",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let shows_hashes = scope.session.identity.rights.is_all();
    let logins = scope.session.identity.rights.logins_in_sight(&scope.session.catalog);
    rows(COLUMNS, logins.map(|login| Row(Arc::clone(login), shows_hashes)))
}
