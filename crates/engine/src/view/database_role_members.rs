//! `sys.database_role_members`: who is in which role.

use super::column::{Column, INT, col, int, rows, shape};
use super::{Rows, Scope, SystemView};
use crate::catalog::Database;

const COLUMNS: &[Column<(i32, i32)>] =
    &[col("role_principal_id", INT, |r| int(r.0)), col("member_principal_id", INT, |r| int(r.1))];

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "database_role_members",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, role_members(scope.database))
}

/// Returns role and member by their ids.
pub(super) fn role_members(database: &Database) -> Vec<(i32, i32)> {
    let members = database.principals.values();
    members.flat_map(|p| p.member_of.iter().map(|role| (*role, p.id))).collect()
}
