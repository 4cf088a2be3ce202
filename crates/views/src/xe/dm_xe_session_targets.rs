//! `sys.dm_xe_session_targets`: the targets of running event sessions, and their data.

use super::{address, guid};
use crate::{Rows, Scope, SystemView};
use ::session::event::xml;
use metadata::column::{
    ADDRESS, BIGINT, Column, GUID, NVMAX, big, col, nv, opt, or_null, rows, shape, text,
};

/// A target of a running session.
struct Row {
    session: usize,
    report: sos::xe::TargetReport,
    data: Option<String>,
}

const COLUMNS: &[Column<Row>] = &[
    col("event_session_address", ADDRESS, |r| address(r.session)),
    col("target_name", nv(60), |r| text(r.report.target.name)),
    col("target_package_guid", GUID, |r| guid(r.report.target.package)),
    col("execution_count", BIGINT, |r| big(r.report.executions)),
    col("execution_duration_ms", BIGINT, |r| big(r.report.execution_ns / 1_000_000)),
    opt("target_data", NVMAX, |r| or_null(r.data.as_deref(), text)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_xe_session_targets",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let events = &scope.session.instance.events;
    let mut found = Vec::new();
    for session in events.reports() {
        for (place, report) in session.targets.iter().enumerate() {
            let data = events.target_data(&session.spec.name, place);
            let data = data.as_ref().map(xml::target);
            found.push(Row { session: session.address, report: *report, data });
        }
    }
    rows(COLUMNS, found)
}
