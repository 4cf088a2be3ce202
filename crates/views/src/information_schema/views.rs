//! `INFORMATION_SCHEMA.VIEWS`: views and their definitions.

use std::sync::Arc;

use types::Value;

use ::catalog::{ModuleDef, Object};
use metadata::column::{Column, SYSNAME, ascii, col, nv, opt, rows, shape, text, vc};
use metadata::objects::checks_option;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    opt("TABLE_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("TABLE_SCHEMA", SYSNAME, |r| text(&r.view.schema)),
    col("TABLE_NAME", SYSNAME, |r| text(&r.view.name)),
    opt("VIEW_DEFINITION", nv(4000), |r| match r.withheld {
        true => Value::Null,
        false => text(&r.view.text.chars().take(4_000).collect::<String>()),
    }),
    opt("CHECK_OPTION", vc(7), |r| ascii(if r.checked { "CASCADE" } else { "NONE" })),
    col("IS_UPDATABLE", vc(2), |_| ascii("NO")),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "INFORMATION_SCHEMA",
    name: "VIEWS",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    catalog: String,
    view: Arc<ModuleDef>,
    checked: bool,
    withheld: bool,
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let views = scope.database.objects.values().filter_map(|o| match o {
        Object::View(view) => Some((Arc::clone(view), checks_option(o))),
        _ => None,
    });
    let row = |(view, checked): (Arc<ModuleDef>, bool)| Row {
        catalog: scope.database.name.clone(),
        withheld: scope.database.withheld.contains(&view.id) || view.is_encrypted(),
        view,
        checked,
    };
    views.map(row).collect()
}
