//! `sys.dm_xe_session_counts`: what became of the events of running sessions, to show why a session
//! has gathered none. SQL Server has no such view. It has one row per session, with NULL as
//! `event_name`, and one per event. `seen` is the sum of rejected, dropped and published.

use sos::xe::{Drops, Event, EventTotals};

use super::address;
use crate::{Rows, Scope, SystemView};
use metadata::column::{ADDRESS, BIGINT, Column, big, col, nv, opt, or_null, rows, shape, text};

/// Counters of a session or of one of its events.
struct Row {
    session: usize,
    name: String,
    event: Option<&'static Event>,
    totals: EventTotals,
    drops: Option<Drops>,
}

const COLUMNS: &[Column<Row>] = &[
    col("event_session_address", ADDRESS, |r| address(r.session)),
    col("session_name", nv(256), |r| text(&r.name)),
    opt("package_name", nv(256), |r| or_null(r.event, |e| text(e.package.name))),
    opt("event_name", nv(256), |r| or_null(r.event, |e| text(e.name))),
    col("seen", BIGINT, |r| big(r.totals.seen)),
    col("rejected", BIGINT, |r| big(r.totals.rejected)),
    col("dropped", BIGINT, |r| big(r.totals.dropped)),
    col("published", BIGINT, |r| big(r.totals.published)),
    opt("dropped_busy", BIGINT, |r| or_null(r.drops, |d| big(d.busy))),
    opt("dropped_full", BIGINT, |r| or_null(r.drops, |d| big(d.full))),
    opt("dropped_too_large", BIGINT, |r| or_null(r.drops, |d| big(d.too_large))),
    opt("dropped_in_buffers", BIGINT, |r| or_null(r.drops, |d| big(d.in_buffers))),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_xe_session_counts",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let mut found = Vec::new();
    for report in scope.session.instance.events.reports() {
        let row = |event, totals, drops| Row {
            session: report.address,
            name: report.spec.name.clone(),
            event,
            totals,
            drops,
        };
        found.push(row(None, report.totals, Some(report.drops)));
        found.extend(report.events.iter().map(|e| row(Some(e.event), e.totals, None)));
    }
    rows(COLUMNS, found)
}
