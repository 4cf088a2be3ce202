//! `INFORMATION_SCHEMA.KEY_COLUMN_USAGE`: columns of keys and foreign keys.

use metadata::column::{Column, INT, SYSNAME, col, int, opt, rows, shape, text};
use metadata::objects::tables;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    opt("CONSTRAINT_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("CONSTRAINT_SCHEMA", SYSNAME, |r| text(&r.schema)),
    col("CONSTRAINT_NAME", SYSNAME, |r| text(&r.constraint)),
    opt("TABLE_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("TABLE_SCHEMA", SYSNAME, |r| text(&r.schema)),
    col("TABLE_NAME", SYSNAME, |r| text(&r.table)),
    opt("COLUMN_NAME", SYSNAME, |r| text(&r.column)),
    col("ORDINAL_POSITION", INT, |r| int(r.ordinal)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "INFORMATION_SCHEMA",
    name: "KEY_COLUMN_USAGE",
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
    table: String,
    constraint: String,
    column: String,
    ordinal: i32,
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let mut found = Vec::new();
    for table in tables(scope.session, scope.database) {
        let keys = table.indexes.iter().filter(|i| i.constraint.is_some()).map(|i| {
            (i.name.as_str(), i.keys.iter().map(|(ordinal, _)| *ordinal).collect::<Vec<_>>())
        });
        let foreign = table.foreign_keys.iter().map(|f| (f.name.as_str(), f.columns.clone()));
        for (constraint, columns) in keys.chain(foreign) {
            for (ordinal, column) in (1..).zip(columns) {
                found.push(Row {
                    catalog: scope.database.name.clone(),
                    schema: table.schema.clone(),
                    table: table.name.clone(),
                    constraint: constraint.to_owned(),
                    column: table.columns[usize::from(column)].name.clone(),
                    ordinal,
                });
            }
        }
    }
    found
}
