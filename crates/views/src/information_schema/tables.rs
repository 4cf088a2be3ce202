//! `INFORMATION_SCHEMA.TABLES`: tables and views.

use metadata::column::{Column, SYSNAME, ascii, col, opt, rows, shape, text, vc};
use metadata::objects::{ObjectRow, objects};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    opt("TABLE_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("TABLE_SCHEMA", SYSNAME, |r| text(&r.object.schema)),
    col("TABLE_NAME", SYSNAME, |r| text(&r.object.name)),
    opt("TABLE_TYPE", vc(10), |r| ascii(if r.object.code == "V" { "VIEW" } else { "BASE TABLE" })),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "INFORMATION_SCHEMA",
    name: "TABLES",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    catalog: String,
    object: ObjectRow,
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let catalog = &scope.database.name;
    let objects = objects(scope.session, scope.database).into_iter();
    objects
        .filter(|o| matches!(o.code, "U" | "V"))
        .map(|object| Row { catalog: catalog.clone(), object })
        .collect()
}
