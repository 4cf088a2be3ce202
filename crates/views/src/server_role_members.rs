//! `sys.server_role_members`: members of the fixed server roles.

use super::server_principals::ROLES;
use metadata::column::{Column, INT, col, int, rows, shape};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(i32, i32)>] =
    &[col("role_principal_id", INT, |r| int(r.0)), col("member_principal_id", INT, |r| int(r.1))];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "server_role_members",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let mut found = Vec::new();
    for login in scope.session.identity.rights.logins_in_sight(&scope.session.catalog) {
        let names =
            login.sysadmin.then_some("sysadmin").into_iter().chain(login.roles.iter().copied());
        let ids = names.filter_map(|name| ROLES.iter().find(|(_, role)| *role == name));
        found.extend(ids.map(|(id, _)| (*id, login.principal_id)));
    }
    found.sort_unstable();
    rows(COLUMNS, found)
}
