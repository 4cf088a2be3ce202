//! `sysmembers`: the members of each role of a database.

use metadata::column::{Column, SMALLINT, opt, rows, shape, small};
use metadata::permissions::role_members;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(i32, i32)>] =
    &[opt("memberuid", SMALLINT, |r| small(r.1)), opt("groupuid", SMALLINT, |r| small(r.0))];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "", name: "sysmembers", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, role_members(scope.database))
}
