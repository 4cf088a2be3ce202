//! `sysmembers`: who is a member of which role of a database.

use crate::view::column::{Column, SMALLINT, opt, rows, shape, small};
use crate::view::database_role_members::role_members;
use crate::view::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(i32, i32)>] =
    &[opt("memberuid", SMALLINT, |r| small(r.1)), opt("groupuid", SMALLINT, |r| small(r.0))];

/// The view.
pub(in crate::view) static VIEW: SystemView =
    SystemView { schema: "", name: "sysmembers", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, role_members(scope.database))
}
