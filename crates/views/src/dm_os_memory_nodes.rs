//! `sys.dm_os_memory_nodes`: one node, to which all memory belongs.

use super::dm_os_nodes::mask;
use metadata::column::{BIGINT, Column, SMALLINT, big, col, rows, shape, small};
use metadata::{Rows, Scope, SystemView};
use sos::sys::ProcessMemory;

const COLUMNS: &[Column<Node>] = &[
    col("memory_node_id", SMALLINT, |_| small(0)),
    col("virtual_address_space_reserved_kb", BIGINT, |r| big(r.memory.reserved_kb)),
    col("virtual_address_space_committed_kb", BIGINT, |r| big(r.memory.resident_kb)),
    col("locked_page_allocations_kb", BIGINT, |r| big(r.memory.locked_kb)),
    col("pages_kb", BIGINT, |_| big(sos::memory::used_bytes() / 1_024)),
    col("shared_memory_reserved_kb", BIGINT, |_| big(0)),
    col("shared_memory_committed_kb", BIGINT, |_| big(0)),
    col("cpu_affinity_mask", BIGINT, |_| big(mask(&sos::sys::allowed_cpus()))),
    col("online_scheduler_mask", BIGINT, |r| big(mask(&r.schedulers))),
    col("processor_group", SMALLINT, |_| small(0)),
    col("foreign_committed_kb", BIGINT, |_| big(0)),
    col("target_kb", BIGINT, |_| big(sos::memory::limit_bytes() / 1_024)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_memory_nodes",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Node {
    memory: ProcessMemory,
    schedulers: Vec<usize>,
}

fn read(scope: &Scope<'_>) -> Rows {
    let schedulers = scope.session.instance.machine.schedulers();
    let schedulers = schedulers.iter().filter_map(|s| usize::try_from(s.id).ok()).collect();
    rows(COLUMNS, sos::sys::process_memory().map(|memory| Node { memory, schedulers }))
}
