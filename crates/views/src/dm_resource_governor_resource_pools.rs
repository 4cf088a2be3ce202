//! `sys.dm_resource_governor_resource_pools`: the pool `default`, which all queries belong to, and
//! the pool `internal`, which nothing is charged to: the memory clerks show the server's own memory.
//! I/O is not governed.

use sos::memory::MemoryClerk;
use types::Value;

use super::resource_governor::INTERNAL;
use ::session::grant::{POOL, WorkspaceNow};
use metadata::column::{
    BIGINT, Column, DATETIME, INT, SYSNAME, big, col, int, rows, shape, text, unknown,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Pool>] = &[
    col("pool_id", INT, |r| int(r.id)),
    col("name", SYSNAME, |r| text(r.name)),
    col("statistics_start_time", DATETIME, |r| r.started.clone()),
    col("total_cpu_usage_ms", BIGINT, |r| big(r.cpu_ms)),
    col("cache_memory_kb", BIGINT, |r| big(r.cache_kb)),
    col("compile_memory_kb", BIGINT, |r| big(r.compile_kb)),
    col("used_memgrant_kb", BIGINT, |r| big(r.grants.used / 1_024)),
    col("total_memgrant_count", BIGINT, |r| big(r.grants.granted)),
    col("total_memgrant_timeout_count", BIGINT, |r| big(r.grants.timed_out)),
    col("active_memgrant_count", INT, |r| int(r.grants.holding)),
    col("active_memgrant_kb", BIGINT, |r| big(r.grants.used / 1_024)),
    col("memgrant_waiter_count", INT, |r| int(r.grants.waiting)),
    col("max_memory_kb", BIGINT, |r| big(r.limit_kb)),
    col("used_memory_kb", BIGINT, |r| big(r.used_kb)),
    col("target_memory_kb", BIGINT, |r| big(r.limit_kb)),
    unknown("out_of_memory_count", BIGINT),
    col("min_cpu_percent", INT, |_| int(0)),
    col("max_cpu_percent", INT, |_| int(100)),
    col("min_memory_percent", INT, |_| int(0)),
    col("max_memory_percent", INT, |_| int(100)),
    col("cap_cpu_percent", INT, |_| int(100)),
    col("min_iops_per_volume", INT, |_| int(0)),
    col("max_iops_per_volume", INT, |_| int(0)),
    unknown("read_io_queued_total", INT),
    unknown("read_io_issued_total", INT),
    unknown("read_io_completed_total", INT),
    unknown("read_io_throttled_total", INT),
    unknown("read_bytes_total", BIGINT),
    unknown("read_io_stall_total_ms", BIGINT),
    unknown("read_io_stall_queued_ms", BIGINT),
    unknown("write_io_queued_total", INT),
    unknown("write_io_issued_total", INT),
    unknown("write_io_completed_total", INT),
    unknown("write_io_throttled_total", INT),
    unknown("write_bytes_total", BIGINT),
    unknown("write_io_stall_total_ms", BIGINT),
    unknown("write_io_stall_queued_ms", BIGINT),
    unknown("io_issue_violations_total", INT),
    unknown("io_issue_delay_total_ms", BIGINT),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_resource_governor_resource_pools",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

#[derive(Default)]
struct Pool {
    name: &'static str,
    id: i32,
    started: Value,
    cpu_ms: u64,
    cache_kb: u64,
    compile_kb: u64,
    used_kb: u64,
    limit_kb: u64,
    grants: WorkspaceNow,
}

fn read(scope: &Scope<'_>) -> Rows {
    let instance = &scope.session.instance;
    let times = sos::sys::cpu_times();
    let clerks = sos::memory::clerks();
    let kb = |clerk: MemoryClerk| clerks[clerk.index()].bytes / 1_024;
    let pool = Pool {
        name: POOL.0,
        id: POOL.1,
        started: instance.started.clone(),
        cpu_ms: (times.user_ns + times.kernel_ns) / 1_000_000,
        cache_kb: kb(MemoryClerk::ObjectPlans) + kb(MemoryClerk::SqlPlans),
        compile_kb: kb(MemoryClerk::Optimizer),
        used_kb: sos::memory::used_bytes() / 1_024,
        limit_kb: instance.config.memory_max / 1_024,
        grants: instance.workspace.now(),
    };
    let started = pool.started.clone();
    let (name, id) = INTERNAL;
    let internal = Pool { name, id, started, limit_kb: pool.limit_kb, ..Pool::default() };
    rows(COLUMNS, [internal, pool])
}
