//! `sys.database_role_members`: the members of each role of a database.

use metadata::column::{Column, INT, col, int, rows, shape};
use metadata::permissions::role_members;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(i32, i32)>] =
    &[col("role_principal_id", INT, |r| int(r.0)), col("member_principal_id", INT, |r| int(r.1))];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "database_role_members",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, role_members(scope.database))
}
