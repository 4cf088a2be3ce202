//! `INFORMATION_SCHEMA.SCHEMATA`: schemas.

use types::Collation;
use types::Value;

use ::catalog::Schema;
use metadata::column::{Column, SYSNAME, col, opt, rows, shape, text, text_or_null, vc};
use metadata::objects::character_set_name;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    opt("CATALOG_NAME", SYSNAME, |r| text(&r.catalog)),
    col("SCHEMA_NAME", SYSNAME, |r| text(&r.schema)),
    opt("SCHEMA_OWNER", SYSNAME, |r| text_or_null(&r.owner)),
    opt("DEFAULT_CHARACTER_SET_CATALOG", vc(6), |_| Value::Null),
    opt("DEFAULT_CHARACTER_SET_SCHEMA", vc(3), |_| Value::Null),
    opt("DEFAULT_CHARACTER_SET_NAME", SYSNAME, |r| text(character_set_name(r.collation))),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "INFORMATION_SCHEMA",
    name: "SCHEMATA",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    catalog: String,
    schema: String,
    owner: String,
    collation: Collation,
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let database = scope.database;
    let owner = |id| database.principals.values().find(|p| p.id == id);
    let row = |s: &Schema| Row {
        catalog: database.name.clone(),
        schema: s.name.clone(),
        owner: owner(s.owner).map(|p| p.name.clone()).unwrap_or_default(),
        collation: database.collation,
    };
    database.schemas.values().map(row).collect()
}
