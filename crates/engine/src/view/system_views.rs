//! `sys.system_views`: the views of the system.

use super::column::{rows, shape};
use super::views::COLUMNS;
use super::{Rows, Scope, SystemView};
use crate::view::source::system_objects;

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "system_views",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, system_objects(scope.session))
}
