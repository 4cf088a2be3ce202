//! `sysconstraints`: constraints with their tables and columns.

use ::catalog::{IndexConstraint, IndexDef, TableDef};
use metadata::column::{
    Column, INT, SMALLINT, TINYINT, col, int, opt, rows, shape, small, unknown,
};
use metadata::objects::tables_and_types;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("constid", INT, |r| int(r.constraint)),
    col("id", INT, |r| int(r.table)),
    opt("colid", SMALLINT, |r| small(r.column)),
    unknown("spare1", TINYINT),
    opt("status", INT, |r| int(r.kind + if r.column == 0 { OF_TABLE } else { OF_COLUMN })),
    unknown("actions", INT),
    unknown("error", INT),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "",
    name: "sysconstraints",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Row {
    constraint: i32,
    table: i32,
    /// `colid`: 0 for a constraint of the table.
    column: i32,
    kind: i32,
}

/// Bits of `status`, as documented.
const PRIMARY_KEY: i32 = 1;
const UNIQUE: i32 = 2;
const FOREIGN_KEY: i32 = 3;
const CHECK: i32 = 4;
const DEFAULT: i32 = 5;
const OF_COLUMN: i32 = 16;
const OF_TABLE: i32 = 32;

fn read(scope: &Scope<'_>) -> Rows {
    let tables = tables_and_types(scope.session, scope.database);
    rows(COLUMNS, tables.iter().flat_map(|table| of_table(table)))
}

fn of_table(table: &TableDef) -> Vec<Row> {
    let row = |constraint, column: Option<u16>, kind| Row {
        constraint,
        table: table.id,
        column: column.map_or(0, |ordinal| i32::from(ordinal) + 1),
        kind,
    };
    let key = |index: &IndexDef| {
        let kind = match index.constraint? {
            IndexConstraint::PrimaryKey => PRIMARY_KEY,
            IndexConstraint::Unique => UNIQUE,
        };
        Some(row(index.constraint_id, None, kind))
    };
    let mut found: Vec<Row> = table.indexes.iter().filter_map(key).collect();
    found.extend(table.foreign_keys.iter().map(|f| row(f.id, None, FOREIGN_KEY)));
    found.extend(table.checks.iter().map(|c| row(c.id, c.column, CHECK)));
    for (ordinal, column) in (0..).zip(&table.columns) {
        found.extend(column.default.iter().map(|d| row(d.id, Some(ordinal), DEFAULT)));
    }
    found
}
