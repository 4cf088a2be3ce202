//! `sys.dm_os_waiting_tasks`: the tasks that wait, the resource, and the task that blocks them.

use types::Value;

use metadata::column::{
    ADDRESS, BIGINT, Column, INT, SMALLINT, big, int, nv, opt, rows, shape, text,
};
use metadata::tasks::{WaitingRow, address_or_null, waiting_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<WaitingRow>] = &[
    opt("waiting_task_address", ADDRESS, |r| address_or_null(r.task_address)),
    opt("session_id", SMALLINT, |r| r.session_id.map_or(Value::Null, Value::SmallInt)),
    opt("exec_context_id", INT, |r| int(r.exec_context_id)),
    opt("wait_duration_ms", BIGINT, |r| big(r.ms)),
    opt("wait_type", nv(60), |r| text(r.wait_type)),
    opt("resource_address", ADDRESS, |r| address_or_null(r.resource)),
    opt("blocking_task_address", ADDRESS, |r| address_or_null(r.blocking_task)),
    opt("blocking_session_id", SMALLINT, |r| {
        r.blocking_session.map_or(Value::Null, Value::SmallInt)
    }),
    opt("blocking_exec_context_id", INT, |r| r.blocking_task.map_or(Value::Null, |_| int(0))),
    opt("resource_description", nv(3072), |r| r.description.as_deref().map_or(Value::Null, text)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_waiting_tasks",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, waiting_rows(scope))
}
