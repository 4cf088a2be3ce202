//! `INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE`: columns that constraints are about.

use super::super::column::{Column, SYSNAME, col, opt, rows, shape, text};
use super::super::{Rows, Scope, SystemView};
use super::usage::{Usage, usages};

const COLUMNS: &[Column<Usage>] = &[
    opt("TABLE_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("TABLE_SCHEMA", SYSNAME, |r| text(&r.schema)),
    col("TABLE_NAME", SYSNAME, |r| text(&r.table)),
    opt("COLUMN_NAME", SYSNAME, |r| text(&r.column)),
    opt("CONSTRAINT_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("CONSTRAINT_SCHEMA", SYSNAME, |r| text(&r.schema)),
    col("CONSTRAINT_NAME", SYSNAME, |r| text(&r.constraint)),
];

/// The view.
pub(in crate::view) static VIEW: SystemView = SystemView {
    schema: "INFORMATION_SCHEMA",
    name: "CONSTRAINT_COLUMN_USAGE",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, usages(scope))
}
