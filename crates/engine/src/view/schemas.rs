//! `sys.schemas`: the schemas of a database.

use super::column::{Column, INT, SYSNAME, col, int, opt, rows, shape, text};
use super::{Rows, Scope, SystemView};
use crate::catalog::Schema;

const COLUMNS: &[Column<Schema>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("schema_id", INT, |r| int(r.id)),
    opt("principal_id", INT, |r| int(r.owner)),
];

/// The view.
pub(super) static VIEW: SystemView =
    SystemView { schema: "sys", name: "schemas", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.database.schemas.values().cloned())
}
