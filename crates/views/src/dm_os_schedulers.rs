//! `sys.dm_os_schedulers`: the schedulers of the instance and their load.

use sos::sched::{QUANTUM, SchedulerRow};
use types::Value;

use metadata::column::{
    ADDRESS, BIGINT, BIT, Column, INT, SMALLINT, big, bit, col, int, nv, opt, rows, shape, small,
    text, unknown,
};
use metadata::tasks::{TaskRow, address, address_or_null, thread_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("scheduler_address", ADDRESS, |r| address(r.address)),
    col("parent_node_id", INT, |_| int(0)),
    col("scheduler_id", INT, |r| int(r.id)),
    // NULL if workers have no CPU affinity: the kernel places them.
    opt("cpu_id", SMALLINT, |r| r.cpu.map_or(Value::Null, small)),
    col("status", nv(60), |_| text("VISIBLE ONLINE")),
    col("is_online", BIT, |_| bit(true)),
    opt("is_idle", BIT, |r| bit(r.is_idle)),
    opt("preemptive_switches_count", INT, |r| int(r.counts.preemptive_switches)),
    opt("context_switches_count", INT, |r| int(r.counts.switches)),
    opt("idle_switches_count", INT, |r| int(r.counts.idle_switches)),
    opt("current_tasks_count", INT, |r| int(r.tasks + r.queued)),
    opt("runnable_tasks_count", INT, |r| int(r.runnable)),
    opt("current_workers_count", INT, |r| int(r.workers)),
    opt("active_workers_count", INT, |r| int(r.tasks)),
    opt("work_queue_count", BIGINT, |r| big(r.queued)),
    // There is no asynchronous I/O to count.
    opt("pending_disk_io_count", INT, |_| int(0)),
    opt("load_factor", INT, |r| int(r.connections)),
    opt("yield_count", INT, |r| int(r.counts.progress)),
    opt("last_timer_activity", BIGINT, |r| big(r.counts.timer_ticks)),
    opt("failed_to_create_worker", BIT, |r| bit(r.counts.refused_hires > 0)),
    opt("active_worker_address", ADDRESS, |r| address_or_null(r.holder)),
    unknown("memory_object_address", ADDRESS),
    unknown("task_memory_object_address", ADDRESS),
    opt("quantum_length_us", BIGINT, |_| big(QUANTUM.as_micros())),
    opt("total_cpu_usage_ms", BIGINT, |r| ms(r.cpu_ns)),
    // Azure service tiers only.
    opt("total_cpu_idle_capped_ms", BIGINT, |_| big(0)),
    opt("total_scheduler_delay_ms", BIGINT, |r| ms(r.delay_ns)),
    opt("ideal_workers_limit", INT, |r| int(r.workers_ideal)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_schedulers",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

/// A scheduler, the number of its tasks and the worker that runs on it.
struct Row {
    scheduler: SchedulerRow,
    /// Requests that have a worker, running or waiting.
    tasks: u64,
    holder: Option<usize>,
}

impl std::ops::Deref for Row {
    type Target = SchedulerRow;
    fn deref(&self) -> &SchedulerRow {
        &self.scheduler
    }
}

fn read(scope: &Scope<'_>) -> Rows {
    let threads = thread_rows(scope);
    let row = |scheduler: SchedulerRow| {
        let own = || threads.iter().filter(|t| t.scheduler_id() == Some(scheduler.id));
        let tasks = own().filter(|t| t.card.is_some()).count();
        let holder = own().find(|t| t.activity.number() == scheduler.counts.holder);
        let holder = holder.map(TaskRow::worker_address);
        Row { tasks: u64::try_from(tasks).unwrap_or(u64::MAX), holder, scheduler }
    };
    rows(COLUMNS, scope.session.instance.machine.schedulers().into_iter().map(row))
}

fn ms(ns: Option<u64>) -> Value {
    ns.map_or(Value::Null, |ns| big(ns / 1_000_000))
}
