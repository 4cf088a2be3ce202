//! `sys.dm_os_threads`: the operating system threads of the server.

use sos::sys::{StackBounds, ThreadTimes, thread_times};
use types::Value;

use ::session::instance::datetime_of;
use metadata::column::{
    ADDRESS, BIGINT, BIT, Column, DATETIME, INT, SMALLINT, big, bit, col, int, opt, rows, shape,
    small, unknown,
};
use metadata::tasks::{TaskRow, address, address_or_null, thread_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<ThreadRow>] = &[
    col("thread_address", ADDRESS, |r| address(r.task.activity.handle())),
    opt("started_by_sqlservr", BIT, |_| bit(true)),
    opt("os_thread_id", INT, |r| int(r.task.activity.thread_id())),
    unknown("status", INT),
    unknown("instruction_address", ADDRESS),
    opt("creation_time", DATETIME, |r| datetime_of(r.task.activity.created())),
    opt("kernel_time", BIGINT, |r| r.times.map_or(Value::Null, |times| big(times.kernel_ms))),
    opt("usermode_time", BIGINT, |r| r.times.map_or(Value::Null, |times| big(times.user_ms))),
    opt("stack_base_address", ADDRESS, |r| address_or_null(r.stack().map(|stack| stack.high))),
    opt("stack_end_address", ADDRESS, |r| address_or_null(r.stack().map(|stack| stack.low))),
    unknown("stack_bytes_committed", INT),
    unknown("stack_bytes_used", INT),
    unknown("affinity", BIGINT),
    opt("priority", INT, |r| r.times.map_or(Value::Null, |times| int(times.priority))),
    unknown("locale", INT),
    unknown("token", ADDRESS),
    opt("is_impersonating", INT, |_| int(0)),
    unknown("is_waiting_on_loader_lock", INT),
    unknown("fiber_data", ADDRESS),
    opt("thread_handle", ADDRESS, |r| address(r.task.activity.handle())),
    unknown("event_handle", ADDRESS),
    opt("scheduler_address", ADDRESS, |r| address_or_null(r.task.scheduler)),
    opt("worker_address", ADDRESS, |r| address(r.task.worker_address())),
    unknown("fiber_context_address", ADDRESS),
    unknown("self_address", ADDRESS),
    opt("processor_group", SMALLINT, |_| small(0)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_threads",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

/// A thread, and what the kernel reports about it.
struct ThreadRow {
    task: TaskRow,
    times: Option<ThreadTimes>,
}

impl ThreadRow {
    fn stack(&self) -> Option<StackBounds> {
        self.task.activity.stack()
    }
}

fn read(scope: &Scope<'_>) -> Rows {
    let row = |task: TaskRow| ThreadRow { times: thread_times(task.activity.thread_id()), task };
    rows(COLUMNS, thread_rows(scope).into_iter().map(row))
}
