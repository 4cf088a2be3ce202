//! `sys.periods`: the SYSTEM_TIME periods of a database's tables.

use ::catalog::Period;
use metadata::column::{Column, INT, SYSNAME, TINYINT, col, int, nv, opt, rows, shape, text};
use metadata::objects::tables;
use metadata::{Rows, Scope, SystemView};
use types::Value;

const COLUMNS: &[Column<(i32, Period)>] = &[
    col("name", SYSNAME, |_| text("SYSTEM_TIME")),
    opt("period_type", TINYINT, |_| Value::TinyInt(1)),
    opt("period_type_desc", nv(60), |_| text("SYSTEM_TIME_PERIOD")),
    col("object_id", INT, |r| int(r.0)),
    col("start_column_id", INT, |r| int(i32::from(r.1.start) + 1)),
    col("end_column_id", INT, |r| int(i32::from(r.1.end) + 1)),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "sys", name: "periods", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    let tables = tables(scope.session, scope.database).into_iter();
    rows(COLUMNS, tables.filter_map(|table| Some((table.id, table.period?))))
}
