//! `sys.schemas`: the schemas of a database.

use ::catalog::Schema;
use metadata::column::{Column, INT, SYSNAME, col, int, opt, rows, shape, text};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Schema>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("schema_id", INT, |r| int(r.id)),
    opt("principal_id", INT, |r| int(r.owner)),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "sys", name: "schemas", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.database.schemas.values().cloned())
}
