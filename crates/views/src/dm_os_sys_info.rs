//! `sys.dm_os_sys_info`: the machine and the server's process, in one row.

use std::collections::BTreeMap;

use sos::memory::MemoryModel;
use sos::sched::QUANTUM;
use sos::sys::{CpuTimes, Topology};
use types::Value;

use metadata::column::{
    BIGINT, Column, DATETIME, INT, ascii, big, col, int, nv, opt, or_null, rows, shape, text,
    unknown, vc,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Facts>] = &[
    col("cpu_ticks", BIGINT, |r| big(r.ticks)),
    col("ms_ticks", BIGINT, |r| big(r.monotonic_ms)),
    col("cpu_count", INT, |r| int(r.topology.cpus)),
    // Logical CPUs per package, as documented; NULL if packages differ.
    opt("hyperthread_ratio", INT, |r| or_null(r.per_socket(r.topology.cpus), int)),
    col("physical_memory_kb", BIGINT, |r| big(r.memory_kb)),
    opt("virtual_memory_kb", BIGINT, |r| or_null(r.address_space_kb, big)),
    col("committed_kb", INT, |r| int(r.used_kb)),
    col("committed_target_kb", INT, |r| int(r.limit_kb)),
    col("visible_target_kb", INT, |r| int(r.limit_kb)),
    col("stack_size_in_bytes", INT, |_| int(sos::thread::STACK_BYTES)),
    col("os_quantum", BIGINT, |_| big(QUANTUM.as_millis())),
    // Exists on Windows only.
    unknown("os_error_mode", INT),
    unknown("os_priority_class", INT),
    col("max_workers_count", INT, |r| int(r.workers_max)),
    col("scheduler_count", INT, |r| int(r.schedulers)),
    col("scheduler_total_count", INT, |r| int(r.schedulers)),
    unknown("deadlock_monitor_serial_number", INT),
    col("sqlserver_start_time_ms_ticks", BIGINT, |r| big(r.started_ms)),
    col("sqlserver_start_time", DATETIME, |r| r.started.clone()),
    // 2, AUTO: no statement sets an affinity.
    col("affinity_type", INT, |_| int(2)),
    col("affinity_type_desc", vc(60), |_| ascii("AUTO")),
    col("process_kernel_time_ms", BIGINT, |r| big(r.cpu.kernel_ns / 1_000_000)),
    col("process_user_time_ms", BIGINT, |r| big(r.cpu.user_ns / 1_000_000)),
    // The documented values are two Windows calls.
    unknown("time_source", INT),
    unknown("time_source_desc", nv(60)),
    opt("virtual_machine_type", INT, |r| or_null(r.is_virtual, |is| int(u8::from(is)))),
    opt("virtual_machine_type_desc", nv(60), |r| {
        or_null(r.is_virtual, |is| text(if is { "HYPERVISOR" } else { "NONE" }))
    }),
    col("softnuma_configuration", INT, |_| int(0)),
    col("softnuma_configuration_desc", nv(60), |_| text("OFF")),
    col("process_physical_affinity", nv(3072), |r| text(&r.affinity)),
    col("sql_memory_model", INT, |_| int(memory_model().0)),
    col("sql_memory_model_desc", nv(120), |_| text(memory_model().1)),
    opt("socket_count", INT, |r| or_null(r.topology.sockets, int)),
    opt("cores_per_socket", INT, |r| {
        or_null(r.topology.cores.and_then(|cores| r.per_socket(cores)), int)
    }),
    opt("numa_node_count", INT, |r| or_null(r.topology.nodes, int)),
    unknown("container_type", INT),
    unknown("container_type_desc", nv(60)),
];

/// Returns `sql_memory_model` and its description.
fn memory_model() -> (i32, &'static str) {
    match sos::memory::model() {
        MemoryModel::Conventional => (1, "CONVENTIONAL"),
        MemoryModel::Locked => (2, "LOCK_PAGES"),
        MemoryModel::Large => (3, "LARGE_PAGES"),
    }
}

pub(crate) static VIEW: SystemView = SystemView {
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
    topology: Topology,
    memory_kb: u64,
    address_space_kb: Option<u64>,
    used_kb: u64,
    limit_kb: u64,
    workers_max: usize,
    schedulers: usize,
    started_ms: u64,
    started: Value,
    cpu: CpuTimes,
    is_virtual: Option<bool>,
    affinity: String,
}

impl Facts {
    fn of(scope: &Scope<'_>) -> Self {
        let instance = &scope.session.instance;
        Self {
            ticks: sos::clock::now_ticks(),
            monotonic_ms: sos::clock::monotonic_ns() / 1_000_000,
            topology: sos::sys::topology(),
            memory_kb: sos::sys::total_memory_bytes() / 1_024,
            address_space_kb: sos::sys::address_space_kb(),
            used_kb: sos::memory::used_bytes() / 1_024,
            limit_kb: sos::memory::limit_bytes() / 1_024,
            workers_max: instance.machine.workers_max(),
            schedulers: instance.machine.schedulers().len(),
            started_ms: instance.started_ms,
            started: instance.started.clone(),
            cpu: sos::sys::cpu_times(),
            is_virtual: sos::sys::is_virtual(),
            affinity: affinity(&sos::sys::allowed_cpus()),
        }
    }

    /// Divides a number of CPUs or cores by the number of packages; `None` if packages differ.
    fn per_socket(&self, count: usize) -> Option<usize> {
        let sockets = self.topology.sockets?;
        (sockets > 0 && count.is_multiple_of(sockets)).then_some(count / sockets)
    }
}

/// Formats CPUs as groups of 64 with a mask each: `{{0,3}}`.
fn affinity(cpus: &[usize]) -> String {
    let mut masks: BTreeMap<usize, u64> = BTreeMap::new();
    for cpu in cpus {
        *masks.entry(cpu / 64).or_default() |= 1 << (cpu % 64);
    }
    let groups = masks.iter().map(|(group, mask)| format!("{{{group},{mask:x}}}"));
    format!("{{{}}}", groups.collect::<String>())
}
