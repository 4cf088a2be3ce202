//! `sys.server_principals`: logins and the fixed server roles.

use std::sync::Arc;

use types::Value;

use ::catalog::Login;
use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, ascii, binary, bit, ch, col, int, nv, opt, rows, shape,
    text, text_or_null, vb,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("principal_id", INT, |r| int(r.principal_id)),
    opt("sid", vb(85), |r| r.sid.as_ref().map_or(Value::Null, |sid| binary(sid))),
    col("type", ch(1), |r| ascii(if r.role { "R" } else { "S" })),
    opt("type_desc", nv(60), |r| text(if r.role { "SERVER_ROLE" } else { "SQL_LOGIN" })),
    opt("is_disabled", BIT, |r| bit(r.disabled)),
    col("create_date", DATETIME, |r| r.created.clone()),
    col("modify_date", DATETIME, |r| r.modified.clone()),
    opt("default_database_name", SYSNAME, |r| text_or_null(&r.default_database)),
    opt("default_language_name", SYSNAME, |r| text_or_null(r.default_language)),
    opt("credential_id", INT, |_| Value::Null),
    opt("owning_principal_id", INT, |r| if r.role { int(1) } else { Value::Null }),
    col("is_fixed_role", BIT, |r| bit(r.role && r.principal_id > 2)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "server_principals",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    name: String,
    principal_id: i32,
    sid: Option<Vec<u8>>,
    role: bool,
    disabled: bool,
    created: Value,
    modified: Value,
    default_database: String,
    default_language: &'static str,
}

/// Fixed server roles with their `principal_id`s.
pub(crate) const ROLES: [(i32, &str); 10] = [
    (2, "public"),
    (3, "sysadmin"),
    (4, "securityadmin"),
    (5, "serveradmin"),
    (6, "setupadmin"),
    (7, "processadmin"),
    (8, "diskadmin"),
    (9, "dbcreator"),
    (10, "bulkadmin"),
    (11, "##MS_ServerStateReader##"),
];

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let login = |l: &Arc<Login>| Row {
        name: l.name.clone(),
        principal_id: l.principal_id,
        sid: Some(l.sid.clone()),
        role: false,
        disabled: l.disabled,
        created: l.created.clone(),
        modified: l.modified.clone(),
        default_database: l.default_database.clone(),
        default_language: l.default_language.name(),
    };
    let role = |(principal_id, name): (i32, &str)| Row {
        name: name.to_owned(),
        principal_id,
        sid: None,
        role: true,
        disabled: false,
        modified: scope.session.instance.started.clone(),
        created: scope.session.instance.started.clone(),
        default_database: String::new(),
        default_language: "",
    };
    let session = scope.session;
    let logins = session.identity.rights.logins_in_sight(&session.catalog).map(login);
    logins.chain(ROLES.into_iter().map(role)).collect()
}
