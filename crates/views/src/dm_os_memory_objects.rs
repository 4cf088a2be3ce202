//! `sys.dm_os_memory_objects`: the heap of each memory clerk, as one object per clerk.

use sos::memory::ClerkRow;
use types::Value;

use super::dm_os_memory_clerks::address;
use metadata::column::{
    ADDRESS, BIGINT, Column, DATETIME, INT, REAL, SMALLINT, big, col, int, nv, opt, rows, shape,
    small, text, unknown, vc,
};
use metadata::{Rows, Scope, SystemView};

const PAGE_BYTES: u64 = 8_192;

const COLUMNS: &[Column<ClerkRow>] = &[
    col("memory_object_address", ADDRESS, address),
    // No object is part of another.
    opt("parent_address", ADDRESS, |_| Value::Null),
    col("pages_allocated_count", INT, |r| int(r.bytes.div_ceil(PAGE_BYTES))),
    col("pages_in_bytes", BIGINT, |r| big(r.bytes)),
    unknown("creation_options", INT),
    opt("bytes_used", BIGINT, |r| big(r.bytes)),
    col("type", nv(60), |r| text(&type_of(r))),
    opt("name", vc(128), |_| Value::Null),
    col("memory_node_id", SMALLINT, |_| small(0)),
    unknown("creation_time", DATETIME),
    unknown("max_pages_allocated_count", INT),
    col("page_size_in_bytes", INT, |_| int(PAGE_BYTES)),
    unknown("max_pages_in_bytes", BIGINT),
    col("page_allocator_address", ADDRESS, address),
    unknown("creation_stack_address", ADDRESS),
    opt("sequence_num", INT, |_| int(0)),
    // 3: partitioned by CPU. Each thread allocates from its own part.
    col("partition_type", INT, |_| int(3)),
    // An allocation never waits for another thread's.
    col("contention_factor", REAL, |_| Value::Real(0.0)),
    col("waiting_tasks_count", BIGINT, |_| big(0)),
    col("exclusive_access_count", BIGINT, |_| big(0)),
];

/// Returns `type`: MEMOBJ_XTP for the clerk MEMORYCLERK_XTP.
fn type_of(row: &ClerkRow) -> String {
    let name = row.clerk.name();
    format!("MEMOBJ_{}", name.split_once('_').map_or(name, |(_, rest)| rest))
}

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_memory_objects",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, sos::memory::clerks().into_iter().filter(|row| row.bytes > 0))
}
