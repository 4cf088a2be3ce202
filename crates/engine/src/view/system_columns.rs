//! `sys.system_columns`: columns of the views of the system.

use super::column::{rows, shape};
use super::columns::COLUMNS;
use super::{Rows, Scope, SystemView};
use crate::view::source::system_columns;

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "system_columns",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, system_columns())
}
