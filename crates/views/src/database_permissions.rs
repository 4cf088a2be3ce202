//! `sys.database_permissions`: permissions granted and denied in a database.

use types::Value;

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
    col("minor_id", INT, |r| int(r.column_id)),
    col("grantee_principal_id", INT, |r| int(r.principal_id)),
    col("grantor_principal_id", INT, |r| int(r.grantor)),
    opt("type", ch(4), |r| or_null(permission_type(&r.permission), |t| ascii(&format!("{t:<4}")))),
    opt("permission_name", nv(128), |r| text(&r.permission)),
    col("state", ch(1), |r| ascii(state(r).0)),
    opt("state_desc", nv(60), |r| text(state(r).1)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "database_permissions",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn class(permission: &Permission) -> (u8, &'static str) {
    match permission.class {
        Class::Whole => (0, "DATABASE"),
        Class::Object => (1, "OBJECT_OR_COLUMN"),
        Class::Schema => (3, "SCHEMA"),
        Class::Principal => (4, "DATABASE_PRINCIPAL"),
        Class::Type => (6, "TYPE"),
    }
}

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.database.permissions.iter().cloned())
}
