//! `sys.dm_os_workers`: the threads that run tasks, including idle ones.

use types::Value;

use metadata::column::{
    ADDRESS, BIGINT, BIT, Column, INT, SMALLINT, big, bit, col, int, nv, opt, rows, shape, small,
    text, unknown,
};
use metadata::tasks::{TaskRow, address, address_or_null, ms_ticks, thread_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<TaskRow>] = &[
    col("worker_address", ADDRESS, |r| address(r.worker_address())),
    unknown("status", INT),
    opt("is_preemptive", BIT, |r| bit(r.is_preemptive())),
    opt("is_fiber", BIT, |_| bit(false)),
    unknown("is_sick", BIT),
    unknown("is_in_cc_exception", BIT),
    unknown("is_fatal_exception", BIT),
    unknown("is_inside_catch", BIT),
    unknown("is_in_polling_io_completion_routine", BIT),
    col("context_switch_count", INT, |r| int(r.activity.waits())),
    col("pending_io_count", INT, |_| int(0)),
    col("pending_io_byte_count", BIGINT, |_| big(0)),
    col("pending_io_byte_average", INT, |_| int(0)),
    opt("wait_started_ms_ticks", BIGINT, |r| ticks_or_zero(r.activity.last_wait_ticks().0)),
    opt("wait_resumed_ms_ticks", BIGINT, |r| ticks_or_zero(r.activity.last_wait_ticks().1)),
    opt("task_bound_ms_ticks", BIGINT, task_bound),
    col("worker_created_ms_ticks", BIGINT, |r| big(ms_ticks(r.activity.created()))),
    unknown("exception_num", INT),
    unknown("exception_severity", INT),
    unknown("exception_address", ADDRESS),
    unknown("affinity", BIGINT),
    col("state", nv(60), |r| text(r.state())),
    unknown("start_quantum", BIGINT),
    unknown("end_quantum", BIGINT),
    opt("last_wait_type", nv(60), last_wait),
    unknown("return_code", INT),
    unknown("quantum_used", BIGINT),
    unknown("max_quantum", BIGINT),
    unknown("boost_count", INT),
    col("tasks_processed_count", INT, |r| int(r.activity.tasks())),
    unknown("fiber_address", ADDRESS),
    opt("task_address", ADDRESS, |r| address_or_null(r.task_address())),
    unknown("memory_object_address", ADDRESS),
    opt("thread_address", ADDRESS, |r| address(r.activity.handle())),
    unknown("signal_worker_address", ADDRESS),
    opt("scheduler_address", ADDRESS, |r| address_or_null(r.scheduler)),
    col("processor_group", SMALLINT, |_| small(0)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_workers",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, thread_rows(scope))
}

/// Returns `ms_ticks`; 0 if the thread has not waited yet, as documented.
fn ticks_or_zero(ticks: u64) -> Value {
    if ticks == 0 { big(0) } else { big(ms_ticks(ticks)) }
}

fn task_bound(row: &TaskRow) -> Value {
    let Some(card) = &row.card else { return Value::Null };
    let now_ms = sos::clock::monotonic_ns() / 1_000_000;
    big(now_ms.saturating_sub(card.elapsed_ms()))
}

fn last_wait(row: &TaskRow) -> Value {
    row.activity.last_wait().map_or(Value::Null, |wait_type| text(wait_type.name()))
}
