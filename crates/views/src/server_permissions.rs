//! `sys.server_permissions`: permissions on the server, granted and denied.

use std::collections::BTreeSet;

use types::Value;

use ::catalog::security::SERVER_PUBLIC;
use ::catalog::{Class, Permission};
use metadata::column::{
    Column, INT, TINYINT, ascii, ch, col, int, nv, opt, or_null, rows, shape, text,
};
use metadata::permissions::{permission_type, state};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Permission>] = &[
    col("class", TINYINT, |r| Value::TinyInt(class(r).0)),
    opt("class_desc", nv(60), |r| text(class(r).1)),
    col("major_id", INT, |r| int(r.object_id)),
    col("minor_id", INT, |_| int(0)),
    col("grantee_principal_id", INT, |r| int(r.principal_id)),
    col("grantor_principal_id", INT, |r| int(r.grantor)),
    opt("type", ch(4), |r| or_null(permission_type(&r.permission), |t| ascii(&format!("{t:<4}")))),
    opt("permission_name", nv(128), |r| text(&r.permission)),
    col("state", ch(1), |r| ascii(state(r).0)),
    opt("state_desc", nv(60), |r| text(state(r).1)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "server_permissions",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn class(permission: &Permission) -> (u8, &'static str) {
    match permission.class {
        Class::Whole | Class::Object | Class::Schema | Class::Type => (100, "SERVER"),
        Class::Principal => (101, "SERVER_PRINCIPAL"),
    }
}

fn read(scope: &Scope<'_>) -> Rows {
    let session = scope.session;
    let logins = session.identity.rights.logins_in_sight(&session.catalog);
    let shown: BTreeSet<i32> = logins.map(|login| login.principal_id).collect();
    let is_shown =
        |p: &&Permission| p.principal_id == SERVER_PUBLIC || shown.contains(&p.principal_id);
    rows(COLUMNS, session.catalog.server_permissions.iter().filter(is_shown).cloned())
}
