//! `sys.dm_os_memory_health_history`: snapshots of the server's memory, one every 15 seconds.

use std::fmt::Write as _;

use types::{DataType, Value};

use ::session::instance::{MemorySnapshot, Severity};
use metadata::column::{Column, INT, TINYINT, col, int, nv, opt, rows, shape, text};
use metadata::{Rows, Scope, SystemView};

const DATETIME2: DataType = DataType::DateTime2(7);

const COLUMNS: &[Column<MemorySnapshot>] = &[
    opt("snapshot_time", DATETIME2, |r| r.at.to_value(&DATETIME2).unwrap_or(Value::Null)),
    col("severity_level", TINYINT, |r| Value::TinyInt(severity(r).0)),
    col("severity_level_desc", nv(60), |r| text(severity(r).1)),
    col("allocation_potential_memory_mb", INT, |r| int(r.free_bytes >> 20)),
    col("reclaimable_cache_memory_mb", INT, |r| int(r.cache_bytes >> 20)),
    opt("top_memory_clerks", nv(4_000), |r| text(&clerks(r))),
    col("out_of_memory_event_count", INT, |r| int(r.refused)),
    col("memgrant_timeout_count", INT, |r| int(r.timed_out)),
    col("memgrant_waiter_count", INT, |r| int(r.waiting)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_memory_health_history",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn severity(snapshot: &MemorySnapshot) -> (u8, &'static str) {
    match snapshot.severity {
        Severity::Low => (1, "LOW"),
        Severity::Medium => (2, "MEDIUM"),
        Severity::High => (3, "HIGH"),
    }
}

/// Returns the largest clerks as JSON. Their names need no escapes.
fn clerks(snapshot: &MemorySnapshot) -> String {
    let mut json = String::from("[");
    for (place, (name, bytes)) in snapshot.clerks.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        let kb = bytes >> 10;
        // Writing to a String can't fail.
        let _ = write!(json, "{comma}{{\"clerk_type\":\"{name}\",\"pages_allocated_kb\":{kb}}}");
    }
    json + "]"
}

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.session.instance.memory_health.snapshots())
}
