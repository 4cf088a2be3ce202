//! `INFORMATION_SCHEMA.CHECK_CONSTRAINTS`: CHECK constraints and their conditions.

use types::Value;

use ::catalog::CheckDef;
use metadata::column::{Column, SYSNAME, col, nv, opt, rows, shape, text};
use metadata::objects::tables;
use metadata::{Rows, Scope, SystemView};

/// Catalog, schema, name, and the condition if the reader may see it.
type Row = ([String; 3], Option<String>);

const COLUMNS: &[Column<Row>] = &[
    opt("CONSTRAINT_CATALOG", SYSNAME, |r| text(&r.0[0])),
    opt("CONSTRAINT_SCHEMA", SYSNAME, |r| text(&r.0[1])),
    col("CONSTRAINT_NAME", SYSNAME, |r| text(&r.0[2])),
    opt("CHECK_CLAUSE", nv(4000), |r| r.1.as_deref().map_or(Value::Null, text)),
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
            let condition = Some(check.text.text.clone());
            let shown = condition.filter(|_| !scope.database.withheld.contains(&table.id));
            ([catalog.clone(), table.schema.clone(), check.name.clone()], shown)
        };
        table.checks.iter().map(row)
    });
    rows(COLUMNS, checks)
}
