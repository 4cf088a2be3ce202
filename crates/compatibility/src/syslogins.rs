//! `syslogins`: logins and their fixed server roles.

use std::sync::Arc;

use ::catalog::Login;
use metadata::column::{
    Column, DATETIME, INT, SMALLINT, SYSNAME, binary, col, int, nv, opt, rows, shape, small, text,
    unknown, vb,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    opt("sid", vb(85), |r| binary(&r.0.sid)),
    opt("status", SMALLINT, |_| small(9)),
    col("createdate", DATETIME, |r| r.0.created.clone()),
    col("updatedate", DATETIME, |r| r.0.created.clone()),
    col("accdate", DATETIME, |r| r.0.created.clone()),
    col("totcpu", INT, |_| int(0)),
    col("totio", INT, |_| int(0)),
    col("spacelimit", INT, |_| int(0)),
    col("timelimit", INT, |_| int(0)),
    col("resultlimit", INT, |_| int(0)),
    col("name", SYSNAME, |r| text(&r.0.name)),
    opt("dbname", SYSNAME, |r| text(&r.0.default_database)),
    unknown("password", nv(128)),
    opt("language", SYSNAME, |r| text(r.0.default_language.name())),
    opt("denylogin", INT, |_| int(0)),
    opt("hasaccess", INT, |_| int(1)),
    opt("isntname", INT, |_| int(0)),
    opt("isntgroup", INT, |_| int(0)),
    opt("isntuser", INT, |_| int(0)),
    opt("sysadmin", INT, |r| int(i32::from(r.is_member("sysadmin")))),
    opt("securityadmin", INT, |r| int(i32::from(r.is_member("securityadmin")))),
    opt("serveradmin", INT, |r| int(i32::from(r.is_member("serveradmin")))),
    opt("setupadmin", INT, |r| int(i32::from(r.is_member("setupadmin")))),
    opt("processadmin", INT, |r| int(i32::from(r.is_member("processadmin")))),
    opt("diskadmin", INT, |r| int(i32::from(r.is_member("diskadmin")))),
    opt("dbcreator", INT, |r| int(i32::from(r.is_member("dbcreator")))),
    opt("bulkadmin", INT, |r| int(i32::from(r.is_member("bulkadmin")))),
    opt("loginname", nv(128), |r| text(&r.0.name)),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "", name: "syslogins", columns: || shape(COLUMNS), rows: read, arity: 0 };

struct Row(Arc<Login>);

impl Row {
    fn is_member(&self, role: &str) -> bool {
        if role == "sysadmin" { self.0.sysadmin } else { self.0.roles.contains(&role) }
    }
}

fn read(scope: &Scope<'_>) -> Rows {
    let logins = scope.session.identity.rights.logins_in_sight(&scope.session.catalog);
    rows(COLUMNS, logins.map(|login| Row(Arc::clone(login))))
}
