//! `sys.all_parameters`: parameters of procedures and functions.

use super::parameters::COLUMNS;
use metadata::column::{rows, shape};
use metadata::objects::parameters;
use metadata::{Rows, Scope, SystemView};

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "all_parameters",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, parameters(scope.database))
}
