//! `sys.dm_os_stalls`: stalls that the monitor thread found: of the whole machine, or of one
//! scheduler.

use sos::sched::Stall;
use types::{DataType, Value};

use ::session::session_id;
use metadata::column::{
    BIGINT, Column, INT, SMALLINT, big, col, int, nv, opt, rows, shape, text, text_or_null,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Stall>] = &[
    opt("began_at", DataType::DateTime2(7), began),
    col("duration_ns", BIGINT, |r| big(r.duration_ns)),
    col("kind", nv(60), |r| text(r.kind.name())),
    opt("scheduler_id", INT, |r| r.scheduler.map_or(Value::Null, int)),
    opt("os_thread_id", INT, |r| r.thread_id.map_or(Value::Null, int)),
    opt("session_id", SMALLINT, session),
    opt("state", nv(60), |r| text_or_null(r.state)),
    opt("label", nv(60), |r| text_or_null(r.label)),
    col("look_count", BIGINT, |r| big(r.looks)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_stalls",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.session.instance.machine.stalls())
}

fn began(stall: &Stall) -> Value {
    let ago = sos::clock::utc_100ns().saturating_sub(stall.began_100ns);
    let moment = ::catalog::clock::clock().plus_ticks(-i64::try_from(ago).unwrap_or(0));
    moment.and_then(|m| m.to_value(&DataType::DateTime2(7)).ok()).unwrap_or(Value::Null)
}

fn session(stall: &Stall) -> Value {
    stall.work.and_then(session_id).map_or(Value::Null, Value::SmallInt)
}
