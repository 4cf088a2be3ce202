//! `sysperfinfo`: the performance counters.

use types::Value;

use metadata::column::{BIGINT, Column, INT, big, col, nc, opt, padded, rows, shape};
use metadata::counters::{Reading, readings};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Reading>] = &[
    col("object_name", nc(128), |r| padded(&r.object, 128)),
    col("counter_name", nc(128), |r| padded(r.counter, 128)),
    opt("instance_name", nc(128), |r| padded(&r.instance, 128)),
    col("cntr_value", BIGINT, |r| big(r.value)),
    col("cntr_type", INT, |r| Value::Int(r.kind as i32)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "",
    name: "sysperfinfo",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, readings(scope))
}
