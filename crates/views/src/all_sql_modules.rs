//! `sys.all_sql_modules`, `sys.system_sql_modules` and `sys.server_sql_modules`: the text of modules. The system's
//! own have none; those of the server are its triggers.

use super::sql_modules::COLUMNS;
use metadata::column::{rows, shape};
use metadata::objects::{modules, server_modules};
use metadata::{Rows, Scope, SystemView};

/// Columns that the view of the server's modules has of those.
const OF_SERVER: usize = 9;

/// The view of all.
pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "all_sql_modules",
    columns: || shape(COLUMNS),
    rows: |scope: &Scope<'_>| rows(COLUMNS, modules(scope.database)),
    arity: 0,
};

/// The view of the system's.
pub(crate) static SYSTEM: SystemView = SystemView {
    schema: "sys",
    name: "system_sql_modules",
    columns: || shape(COLUMNS),
    rows: |_: &Scope<'_>| Ok(Vec::new()),
    arity: 0,
};

/// The view of the server's.
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
