//! `sys.system_views`: the system views as objects.

use super::views::COLUMNS;
use metadata::column::{rows, shape};
use metadata::system_objects::system_objects;
use metadata::{Rows, Scope, SystemView};

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "system_views",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let all = system_objects(scope.session).into_iter();
    rows(COLUMNS, all.filter(|o| o.code == "V" || o.code == "TF"))
}
