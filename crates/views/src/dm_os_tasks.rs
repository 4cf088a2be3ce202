//! `sys.dm_os_tasks`: requests that a thread works on, and the server's background threads.

use types::Value;

use metadata::column::{
    ADDRESS, BIGINT, Column, INT, SMALLINT, big, int, nv, opt, rows, shape, text, unknown,
};
use metadata::tasks::{TaskRow, address, address_or_null, task_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<TaskRow>] = &[
    opt("task_address", ADDRESS, |r| address_or_null(r.task_address())),
    opt("task_state", nv(60), |r| text(r.state())),
    unknown("context_switches_count", INT),
    opt("pending_io_count", INT, |_| int(0)),
    opt("pending_io_byte_count", BIGINT, |_| big(0)),
    opt("pending_io_byte_average", INT, |_| int(0)),
    opt("scheduler_id", INT, |r| r.scheduler_id().map_or(Value::Null, int)),
    opt("session_id", SMALLINT, |r| r.session_id().map_or(Value::Null, Value::SmallInt)),
    opt("exec_context_id", INT, |r| int(r.exec_context_id())),
    opt("request_id", INT, |r| r.session_id().map_or(Value::Null, |_| int(0))),
    opt("worker_address", ADDRESS, |r| address(r.worker_address())),
    unknown("host_address", ADDRESS),
    opt("parent_task_address", ADDRESS, |r| address_or_null(r.parent_task_address())),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_tasks",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, task_rows(scope))
}
