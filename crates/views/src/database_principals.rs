//! `sys.database_principals`: users and roles of a database.

use std::sync::Arc;

use types::Value;

use ::catalog::name::Name;
use ::catalog::{Principal, PrincipalKind};
use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, ascii, binary, bit, ch, col, int, nv, opt, or_null, rows,
    shape, text, text_or_null, vb,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("principal_id", INT, |r| int(r.id)),
    col("type", ch(1), |r| ascii(principal_type(r).0)),
    opt("type_desc", nv(60), |r| text(principal_type(r).1)),
    opt("default_schema_name", SYSNAME, |r| text_or_null(&r.default_schema)),
    col("create_date", DATETIME, |r| r.created.clone()),
    col("modify_date", DATETIME, |r| r.created.clone()),
    opt("owning_principal_id", INT, |r| or_null(r.owner, int)),
    opt("sid", vb(85), |r| r.sid.as_ref().map_or(Value::Null, |sid| binary(sid))),
    col("is_fixed_role", BIT, |r| bit(r.id >= 16_384)),
    col("authentication_type", INT, |r| int(i32::from(r.login))),
    opt("authentication_type_desc", nv(60), |r| text(if r.login { "INSTANCE" } else { "NONE" })),
    opt("default_language_name", SYSNAME, |_| Value::Null),
    opt("default_language_lcid", INT, |_| Value::Null),
    opt("allow_encrypted_value_modifications", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "database_principals",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

/// Highest `principal_id` of the users that every database has.
const SYSTEM_LAST: i32 = 4;

struct Row {
    id: i32,
    name: String,
    role: bool,
    default_schema: String,
    created: Value,
    sid: Option<Vec<u8>>,
    login: bool,
    owner: Option<i32>,
}

fn principal_type(row: &Row) -> (&'static str, &'static str) {
    if row.role { ("R", "DATABASE_ROLE") } else { ("S", "SQL_USER") }
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let logins = &scope.session.catalog.logins;
    let sid = |p: &Principal| match &p.login {
        Some(login) => logins.get(&Name::new(login)).map(|l| l.sid.clone()),
        // guest, sys and INFORMATION_SCHEMA have no SID.
        None if p.id > SYSTEM_LAST => Some(p.own_sid(scope.database.id)),
        None => None,
    };
    let row = |p: &Arc<Principal>| Row {
        id: p.id,
        name: p.name.clone(),
        role: p.kind == PrincipalKind::DatabaseRole,
        default_schema: p.default_schema.clone(),
        created: scope.database.created.clone(),
        sid: if p.kind == PrincipalKind::SqlUser { sid(p) } else { None },
        login: p.login.is_some(),
        owner: (p.kind == PrincipalKind::DatabaseRole).then_some(p.owner),
    };
    scope.database.principals.values().map(row).collect()
}
