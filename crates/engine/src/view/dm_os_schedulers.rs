//! `sys.dm_os_schedulers`: the schedulers of the instance.

use sos::sched::SchedulerRow;

use super::column::{
    ADDRESS, BIGINT, BIT, Column, INT, SMALLINT, big, bit, col, int, nv, opt, rows, shape, small,
    text, unknown,
};
use super::{Rows, Scope, SystemView};

const COLUMNS: &[Column<SchedulerRow>] = &[
    unknown("scheduler_address", ADDRESS),
    col("parent_node_id", INT, |_| int(0)),
    col("scheduler_id", INT, |r| int(r.id)),
    opt("cpu_id", SMALLINT, |r| small(r.id)),
    col("status", nv(60), |_| text("VISIBLE ONLINE")),
    col("is_online", BIT, |_| bit(true)),
    opt("is_idle", BIT, |r| bit(r.workers == r.idle_workers)),
    unknown("preemptive_switches_count", INT),
    unknown("context_switches_count", INT),
    unknown("idle_switches_count", INT),
    opt("current_tasks_count", INT, |r| int(r.workers.saturating_sub(r.idle_workers))),
    opt("runnable_tasks_count", INT, |r| int(r.runnable)),
    opt("current_workers_count", INT, |r| int(r.workers)),
    opt("active_workers_count", INT, |r| int(r.workers.saturating_sub(r.idle_workers))),
    unknown("work_queue_count", BIGINT),
    unknown("pending_disk_io_count", INT),
    opt("load_factor", INT, |r| int(r.connections)),
    unknown("yield_count", INT),
    unknown("last_timer_activity", BIGINT),
    unknown("failed_to_create_worker", BIT),
    unknown("active_worker_address", ADDRESS),
    unknown("memory_object_address", ADDRESS),
    unknown("task_memory_object_address", ADDRESS),
    opt("quantum_length_us", BIGINT, |_| big(4_000)),
    unknown("total_cpu_usage_ms", BIGINT),
    unknown("total_cpu_idle_capped_ms", BIGINT),
    unknown("total_scheduler_delay_ms", BIGINT),
    unknown("ideal_workers_limit", INT),
];

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_schedulers",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.session.instance.machine.schedulers())
}
