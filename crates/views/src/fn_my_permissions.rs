//! `sys.fn_my_permissions(securable, class)`: the permissions that the session has on a securable.

use super::dm_sql_referenced_entities::text_of;
use metadata::column::{Column, SYSNAME, col, nv, opt, rows, shape, text};
use metadata::function::permission::held;
use metadata::{Rows, Scope, SystemView};

struct Held {
    entity: String,
    permission: &'static str,
}

const COLUMNS: &[Column<Held>] = &[
    opt("entity_name", nv(128), |r| text(&r.entity)),
    col("subentity_name", SYSNAME, |_| text("")),
    opt("permission_name", nv(60), |r| text(r.permission)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "fn_my_permissions",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 2,
};

fn read(scope: &Scope<'_>) -> Rows {
    let argument = |place: usize| scope.arguments.get(place).and_then(text_of);
    let class = argument(1).unwrap_or_else(|| "SERVER".to_owned()).trim().to_ascii_uppercase();
    let name = argument(0).filter(|name| !name.is_empty());
    let entity = match (class.as_str(), &name) {
        ("SERVER", _) => "server".to_owned(),
        ("DATABASE", None) => "database".to_owned(),
        (_, name) => name.clone().unwrap_or_default(),
    };
    let name = name.as_deref().filter(|_| class != "SERVER");
    let found = held(scope.session, &class, name).unwrap_or_default();
    rows(COLUMNS, found.into_iter().map(|permission| Held { entity: entity.clone(), permission }))
}
