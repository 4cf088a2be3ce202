//! `INFORMATION_SCHEMA.CHECK_CONSTRAINTS`: CHECK constraints and their conditions.

use ::catalog::CheckDef;
use metadata::column::{Column, SYSNAME, col, nv, opt, rows, shape, text};
use metadata::objects::tables;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<[String; 4]>] = &[
    opt("CONSTRAINT_CATALOG", SYSNAME, |r| text(&r[0])),
    opt("CONSTRAINT_SCHEMA", SYSNAME, |r| text(&r[1])),
    col("CONSTRAINT_NAME", SYSNAME, |r| text(&r[2])),
    opt("CHECK_CLAUSE", nv(4000), |r| text(&r[3])),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "INFORMATION_SCHEMA",
    name: "CHECK_CONSTRAINTS",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let tables = tables(scope.session, scope.database);
    let catalog = &scope.database.name;
    let checks = tables.iter().flat_map(|table| {
        let row = |check: &CheckDef| {
            [catalog.clone(), table.schema.clone(), check.name.clone(), check.text.text.clone()]
        };
        table.checks.iter().map(row)
    });
    rows(COLUMNS, checks)
}
