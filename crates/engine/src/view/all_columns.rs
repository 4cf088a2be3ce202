//! `sys.all_columns`: columns of tables and views, those of the system included.

use super::column::{rows, shape};
use super::columns::COLUMNS;
use super::{Rows, Scope, SystemView};
use crate::view::source::{columns, system_columns};

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "all_columns",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, columns(scope).into_iter().chain(system_columns()))
}
