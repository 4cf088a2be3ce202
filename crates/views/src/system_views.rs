//! `sys.system_views`: the views of the system.

use super::views::COLUMNS;
use metadata::column::{rows, shape};
use metadata::objects::system_objects;
use metadata::{Rows, Scope, SystemView};

/// The view.
pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "system_views",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, system_objects(scope.session))
}
