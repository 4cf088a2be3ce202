//! `sys.dm_os_memory_clerks`: memory by clerk, the component that it is charged to.

use sos::memory::ClerkRow;

use metadata::column::{
    ADDRESS, BIGINT, Column, SMALLINT, big, binary, col, nv, rows, shape, small, text, unknown,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<ClerkRow>] = &[
    col("memory_clerk_address", ADDRESS, address),
    col("type", nv(60), |r| text(r.clerk.name())),
    col("name", nv(256), |r| {
        text(if r.clerk.name() == "MEMORYCLERK_SOSNODE" { "SOS_Node" } else { "Default" })
    }),
    col("memory_node_id", SMALLINT, |_| small(0)),
    col("pages_kb", BIGINT, |r| big(r.bytes / 1_024)),
    // All memory of a clerk is in pages; scripts add these columns up.
    col("virtual_memory_reserved_kb", BIGINT, |_| big(0)),
    col("virtual_memory_committed_kb", BIGINT, |_| big(0)),
    col("awe_allocated_kb", BIGINT, |_| big(0)),
    col("shared_memory_reserved_kb", BIGINT, |_| big(0)),
    col("shared_memory_committed_kb", BIGINT, |_| big(0)),
    col("page_size_in_bytes", BIGINT, |_| big(8_192)),
    col("page_allocator_address", ADDRESS, address),
    unknown("host_address", ADDRESS),
];

/// Returns `memory_clerk_address`; views join on it.
pub(crate) fn address(row: &ClerkRow) -> types::Value {
    binary(&(row.address as u64).to_be_bytes())
}

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_memory_clerks",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, sos::memory::clerks())
}
