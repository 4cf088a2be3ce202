//! `sys.system_columns`: columns of the system views.

use super::columns::COLUMNS;
use metadata::column::{rows, shape};
use metadata::objects::system_columns;
use metadata::{Rows, Scope, SystemView};

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "system_columns",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, system_columns(scope.session))
}
