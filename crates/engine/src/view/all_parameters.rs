//! `sys.all_parameters`: parameters of procedures and functions.

use super::column::{rows, shape};
use super::parameters::COLUMNS;
use super::source::parameters;
use super::{Rows, Scope, SystemView};

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "all_parameters",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, parameters(scope.database))
}
