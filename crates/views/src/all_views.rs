//! `sys.all_views`: users' views and system views.

use super::views::COLUMNS;
use metadata::column::{rows, shape};
use metadata::objects::all_objects;
use metadata::{Rows, Scope, SystemView};

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "all_views",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, all_objects(scope.session, scope.database).into_iter().filter(|o| o.code == "V"))
}
