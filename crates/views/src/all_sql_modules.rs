//! `sys.all_sql_modules`, `sys.system_sql_modules` and `sys.server_sql_modules`: the text of
//! modules. System modules have no text here; the server's modules are its triggers.

use super::sql_modules::COLUMNS;
use metadata::column::{rows, shape};
use metadata::objects::{modules, server_modules};
use metadata::{RowSet, Rows, Scope, SystemView};

/// The first columns of [`COLUMNS`] that `sys.server_sql_modules` has.
const OF_SERVER: usize = 9;

/// `sys.all_sql_modules`: modules of the database and the system.
pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "all_sql_modules",
    columns: || shape(COLUMNS),
    rows: |scope: &Scope<'_>| rows(COLUMNS, modules(scope.database)),
    arity: 0,
};

/// `sys.system_sql_modules`: always empty, for system modules have no text here.
pub(crate) static SYSTEM: SystemView = SystemView {
    schema: "sys",
    name: "system_sql_modules",
    columns: || shape(COLUMNS),
    rows: |_: &Scope<'_>| Ok(RowSet::default()),
    arity: 0,
};

/// `sys.server_sql_modules`: the triggers of the server.
pub(crate) static SERVER: SystemView = SystemView {
    schema: "sys",
    name: "server_sql_modules",
    columns: || shape(&COLUMNS[..OF_SERVER]),
    rows: read_server,
    arity: 0,
};

fn read_server(scope: &Scope<'_>) -> Rows {
    rows(&COLUMNS[..OF_SERVER], server_modules(&scope.session.catalog))
}
