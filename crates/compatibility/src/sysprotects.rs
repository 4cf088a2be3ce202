//! `sysprotects`: permissions in a database, granted or denied, that have a number in this view.

use types::Value;

use ::catalog::{Class, Permission};
use metadata::column::{
    Column, INT, SMALLINT, TINYINT, binary, col, int, opt, rows, shape, small, vb,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("id", INT, |r| int(r.permission.object_id)),
    opt("uid", SMALLINT, |r| small(r.permission.principal_id)),
    col("action", TINYINT, |r| Value::TinyInt(r.action)),
    opt("protecttype", TINYINT, |r| Value::TinyInt(protect_type(&r.permission))),
    opt("columns", vb(8000), |r| {
        // Bit 0: the permission is on all columns.
        if matches!(r.action, 193 | 197) { binary(&[1]) } else { Value::Null }
    }),
    opt("grantor", SMALLINT, |r| small(r.permission.grantor)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "",
    name: "sysprotects",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

/// Returns `protecttype`: 204 GRANT_W_GRANT, 205 GRANT or 206 DENY.
fn protect_type(permission: &Permission) -> u8 {
    match (permission.granted, permission.with_option) {
        (true, true) => 204,
        (true, false) => 205,
        (false, _) => 206,
    }
}

struct Row {
    permission: Permission,
    action: u8,
}

/// Values of `action`, as documented.
const ACTIONS: &[(&str, u8)] = &[
    ("REFERENCES", 26),
    ("CREATE FUNCTION", 178),
    ("SELECT", 193),
    ("INSERT", 195),
    ("DELETE", 196),
    ("UPDATE", 197),
    ("CREATE TABLE", 198),
    ("CREATE DATABASE", 203),
    ("CREATE VIEW", 207),
    ("CREATE PROCEDURE", 222),
    ("EXECUTE", 224),
    ("BACKUP DATABASE", 228),
    ("CREATE DEFAULT", 233),
    ("BACKUP LOG", 235),
    ("CREATE RULE", 236),
];

fn read(scope: &Scope<'_>) -> Rows {
    let row = |permission: &Permission| {
        let (_, action) = ACTIONS.iter().find(|(name, _)| *name == permission.permission)?;
        let known = !matches!(permission.class, Class::Schema | Class::Type);
        known.then(|| Row { permission: permission.clone(), action: *action })
    };
    rows(COLUMNS, scope.database.permissions.iter().filter_map(row))
}
