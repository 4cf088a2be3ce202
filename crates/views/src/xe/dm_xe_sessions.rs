//! `sys.dm_xe_sessions`: the running event sessions, their buffers and lost events.

use sos::xe::{Retention, SessionReport};

use super::address;
use crate::{Rows, Scope, SystemView};
use metadata::column::{
    ADDRESS, BIGINT, Column, DATETIME, INT, big, col, int, nv, rows, shape, text,
};

const COLUMNS: &[Column<SessionReport>] = &[
    col("address", ADDRESS, |r| address(r.address)),
    col("name", nv(256), |r| text(&r.spec.name)),
    col("pending_buffers", INT, |r| int(r.pending_buffers)),
    col("total_regular_buffers", INT, |r| int(r.regular_buffers)),
    col("regular_buffer_size", BIGINT, |r| big(r.regular_buffer_bytes)),
    col("total_large_buffers", INT, |r| int(r.large_buffers)),
    col("large_buffer_size", BIGINT, |r| big(r.large_buffer_bytes)),
    col("total_buffer_size", BIGINT, |r| big(r.memory_bytes)),
    col("buffer_policy_flags", INT, |r| int(policy(r).0)),
    col("buffer_policy_desc", nv(256), |r| text(policy(r).1)),
    col("flags", INT, |r| int(u8::from(r.spec.options.track_causality))),
    col("flag_desc", nv(256), |r| {
        text(if r.spec.options.track_causality { "track causality" } else { "" })
    }),
    col("dropped_event_count", INT, |r| int(r.totals.dropped)),
    col("dropped_buffer_count", INT, |r| int(r.drops.buffers)),
    col("blocked_event_fire_time", INT, |r| int(r.blocked_ns / 1_000_000)),
    col("create_time", DATETIME, |r| ::session::event::datetime_of(r.created_100ns)),
    col("largest_event_dropped_size", INT, |r| int(r.drops.largest_bytes)),
];

/// Returns `buffer_policy_flags` and `buffer_policy_desc` of a session.
fn policy(report: &SessionReport) -> (i32, &'static str) {
    match report.spec.options.retention {
        Retention::SingleEventLoss => (0, "drop event"),
        Retention::MultipleEventLoss => (1, "drop buffer"),
        Retention::NoEventLoss => (2, "block"),
    }
}

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_xe_sessions",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.session.instance.events.reports())
}
