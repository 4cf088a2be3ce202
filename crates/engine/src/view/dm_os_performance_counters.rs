//! `sys.dm_os_performance_counters`: those counters of SQL Server that are counted here.

use types::Value;

use super::column::{BIGINT, Column, INT, big, col, nc, opt, padded, rows, shape};
use super::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Reading>] = &[
    col("object_name", nc(128), |r| padded(r.object, 128)),
    col("counter_name", nc(128), |r| padded(r.counter, 128)),
    opt("instance_name", nc(128), |r| padded(r.instance, 128)),
    col("cntr_value", BIGINT, |r| big(r.value)),
    col("cntr_type", INT, |r| Value::Int(r.kind)),
];

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_performance_counters",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Reading {
    object: &'static str,
    counter: &'static str,
    instance: &'static str,
    value: u64,
    kind: i32,
}

/// PERF_COUNTER_LARGE_RAWCOUNT: the value as it is.
const RAW: i32 = 65_792;
/// PERF_COUNTER_BULK_COUNT: readers take the difference of two readings.
const PER_SECOND: i32 = 272_696_576;

fn items(scope: &Scope<'_>) -> Vec<Reading> {
    let instance = &scope.session.instance;
    let kb = |bytes: u64| bytes / 1_024;
    let connected = u64::try_from(instance.sessions.count()).unwrap_or(u64::MAX);
    let plans = u64::try_from(instance.programs.count()).unwrap_or(u64::MAX);
    let totals = instance.sessions.totals();
    let reading =
        |object, counter, instance, value, kind| Reading { object, counter, instance, value, kind };
    vec![
        reading("SQLServer:General Statistics", "User Connections", "", connected, RAW),
        reading("SQLServer:General Statistics", "Logins/sec", "", totals.logins, PER_SECOND),
        reading("SQLServer:General Statistics", "Logouts/sec", "", totals.logouts, PER_SECOND),
        reading(
            "SQLServer:General Statistics",
            "Connection Reset/sec",
            "",
            totals.resets,
            PER_SECOND,
        ),
        reading("SQLServer:SQL Statistics", "Batch Requests/sec", "", totals.requests, PER_SECOND),
        reading("SQLServer:Plan Cache", "Cache Object Counts", "SQL Plans", plans, RAW),
        reading(
            "SQLServer:Memory Manager",
            "Total Server Memory (KB)",
            "",
            kb(sos::memory::used_bytes()),
            RAW,
        ),
        reading(
            "SQLServer:Memory Manager",
            "Target Server Memory (KB)",
            "",
            kb(sos::memory::limit_bytes()),
            RAW,
        ),
    ]
}
