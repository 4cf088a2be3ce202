//! `sys.dm_os_sys_info`: the machine and the process, in one row.

use types::Value;

use super::column::{
    BIGINT, Column, DATETIME, INT, big, col, int, nv, rows, shape, text, unknown, vc,
};
use super::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Facts>] = &[
    col("cpu_ticks", BIGINT, |r| big(r.ticks)),
    col("ms_ticks", BIGINT, |r| big(r.monotonic_ms)),
    col("cpu_count", INT, |r| int(r.cpus)),
    unknown("hyperthread_ratio", INT),
    col("physical_memory_kb", BIGINT, |r| big(r.memory_kb)),
    unknown("virtual_memory_kb", BIGINT),
    col("committed_kb", INT, |r| int(r.used_kb)),
    col("committed_target_kb", INT, |r| int(r.limit_kb)),
    col("visible_target_kb", INT, |r| int(r.limit_kb)),
    unknown("stack_size_in_bytes", INT),
    col("os_quantum", BIGINT, |_| big(4)),
    unknown("os_error_mode", INT),
    unknown("os_priority_class", INT),
    unknown("max_workers_count", INT),
    col("scheduler_count", INT, |r| int(r.schedulers)),
    col("scheduler_total_count", INT, |r| int(r.schedulers)),
    unknown("deadlock_monitor_serial_number", INT),
    unknown("sqlserver_start_time_ms_ticks", BIGINT),
    col("sqlserver_start_time", DATETIME, |r| r.started.clone()),
    unknown("affinity_type", INT),
    unknown("affinity_type_desc", vc(60)),
    col("process_kernel_time_ms", BIGINT, |r| big(r.kernel_ms)),
    col("process_user_time_ms", BIGINT, |r| big(r.user_ms)),
    unknown("time_source", INT),
    unknown("time_source_desc", nv(60)),
    unknown("virtual_machine_type", INT),
    unknown("virtual_machine_type_desc", nv(60)),
    col("softnuma_configuration", INT, |_| int(0)),
    col("softnuma_configuration_desc", nv(60), |_| text("OFF")),
    unknown("process_physical_affinity", nv(3072)),
    unknown("sql_memory_model", INT),
    unknown("sql_memory_model_desc", nv(120)),
    unknown("socket_count", INT),
    unknown("cores_per_socket", INT),
    unknown("numa_node_count", INT),
    unknown("container_type", INT),
    unknown("container_type_desc", nv(60)),
];

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_sys_info",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, [Facts::of(scope)])
}

struct Facts {
    ticks: u64,
    monotonic_ms: u64,
    cpus: usize,
    memory_kb: u64,
    used_kb: u64,
    limit_kb: u64,
    schedulers: usize,
    started: Value,
    kernel_ms: u64,
    user_ms: u64,
}

impl Facts {
    fn of(scope: &Scope<'_>) -> Self {
        let times = sos::sys::cpu_times();
        let instance = &scope.session.instance;
        Self {
            ticks: sos::clock::now_ticks(),
            monotonic_ms: sos::clock::monotonic_ns() / 1_000_000,
            cpus: sos::sys::allowed_cpus().len(),
            memory_kb: sos::sys::total_memory_bytes() / 1_024,
            used_kb: sos::memory::used_bytes() / 1_024,
            limit_kb: sos::memory::limit_bytes() / 1_024,
            schedulers: instance.machine.schedulers().len(),
            started: instance.started.clone(),
            kernel_ms: times.kernel_ns / 1_000_000,
            user_ms: times.user_ns / 1_000_000,
        }
    }
}
