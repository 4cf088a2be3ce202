//! `INFORMATION_SCHEMA.TABLE_CONSTRAINTS`: keys, foreign keys and CHECK constraints.

use metadata::column::{Column, SYSNAME, ascii, col, opt, rows, shape, text, vc};
use metadata::objects::{ObjectRow, objects};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    opt("CONSTRAINT_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("CONSTRAINT_SCHEMA", SYSNAME, |r| text(&r.object.schema)),
    col("CONSTRAINT_NAME", SYSNAME, |r| text(&r.object.name)),
    opt("TABLE_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("TABLE_SCHEMA", SYSNAME, |r| text(&r.object.schema)),
    opt("TABLE_NAME", SYSNAME, |r| text(&r.table)),
    opt("CONSTRAINT_TYPE", vc(11), |r| ascii(r.kind)),
    col("IS_DEFERRABLE", vc(2), |_| ascii("NO")),
    col("INITIALLY_DEFERRED", vc(2), |_| ascii("NO")),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "INFORMATION_SCHEMA",
    name: "TABLE_CONSTRAINTS",
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
    table: String,
    kind: &'static str,
}

fn kind(code: &str) -> Option<&'static str> {
    Some(match code {
        "PK" => "PRIMARY KEY",
        "UQ" => "UNIQUE",
        "F" => "FOREIGN KEY",
        "C" => "CHECK",
        _ => return None,
    })
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let all = objects(scope.session, scope.database);
    let name = |id: i32| all.iter().find(|o| o.id == id).map(|o| o.name.clone());
    let of_type = |id: i32| scope.database.table_types().any(|table| table.id == id);
    let row = |object: &ObjectRow| {
        Some(Row {
            catalog: scope.database.name.clone(),
            kind: kind(object.code)?,
            // The standard has no table types.
            table: name(object.parent_id).filter(|_| !of_type(object.parent_id))?,
            object: object.clone(),
        })
    };
    all.iter().filter_map(row).collect()
}
