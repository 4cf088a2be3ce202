//! `sys.all_columns`: columns of the database's tables and views, and of the system views.

use super::columns::COLUMNS;
use metadata::column::{rows, shape};
use metadata::objects::{columns, system_columns};
use metadata::{Rows, Scope, SystemView};

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "all_columns",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, columns(scope).into_iter().chain(system_columns(scope.session)))
}
