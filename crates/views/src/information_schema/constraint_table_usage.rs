//! `INFORMATION_SCHEMA.CONSTRAINT_TABLE_USAGE`: the tables that constraints use.

use super::usage::{Usage, usages};
use metadata::column::{Column, SYSNAME, col, opt, rows, shape, text};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Usage>] = &[
    opt("TABLE_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("TABLE_SCHEMA", SYSNAME, |r| text(&r.schema)),
    col("TABLE_NAME", SYSNAME, |r| text(&r.table)),
    opt("CONSTRAINT_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("CONSTRAINT_SCHEMA", SYSNAME, |r| text(&r.schema)),
    col("CONSTRAINT_NAME", SYSNAME, |r| text(&r.constraint)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "INFORMATION_SCHEMA",
    name: "CONSTRAINT_TABLE_USAGE",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let mut found = usages(scope);
    found.dedup_by(|a, b| a.constraint == b.constraint && a.table == b.table);
    rows(COLUMNS, found)
}
