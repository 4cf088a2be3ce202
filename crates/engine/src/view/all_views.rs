//! `sys.all_views`: views of users and of the system.

use super::column::{rows, shape};
use super::views::COLUMNS;
use super::{Rows, Scope, SystemView};
use crate::view::source::all_objects;

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "all_views",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, all_objects(scope.session, scope.database).into_iter().filter(|o| o.code == "V"))
}
