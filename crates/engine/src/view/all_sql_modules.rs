//! `sys.all_sql_modules`: the text of modules; the system's own have none.

use super::column::{rows, shape};
use super::source::modules;
use super::sql_modules::COLUMNS;
use super::{Rows, Scope, SystemView};

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "all_sql_modules",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, modules(scope.database))
}
