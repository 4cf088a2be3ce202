//! `sys.server_event_sessions`: the event session definitions, running or not.

use std::sync::Arc;

use crate::{Rows, Scope, SystemView};
use ::catalog::{Choice, EventSessionDef, PARTITIONS, RETENTIONS};
use metadata::column::{BIT, Column, INT, SYSNAME, bit, col, int, nc, nv, opt, rows, shape, text};

const COLUMNS: &[Column<Arc<EventSessionDef>>] = &[
    col("event_session_id", INT, |r| int(r.id)),
    col("name", SYSNAME, |r| text(&r.name)),
    opt("event_retention_mode", nc(1), |r| text(Choice::of(&RETENTIONS, r.options.retention).1)),
    opt("event_retention_mode_desc", nv(60), |r| {
        text(Choice::of(&RETENTIONS, r.options.retention).0)
    }),
    opt("max_dispatch_latency", INT, |r| int(r.options.max_dispatch_latency_ms)),
    col("max_memory", INT, |r| int(r.options.max_memory_kb)),
    col("max_event_size", INT, |r| int(r.options.max_event_size_kb)),
    opt("memory_partition_mode", nc(1), |r| text(Choice::of(&PARTITIONS, r.options.partition).1)),
    opt("memory_partition_mode_desc", nv(60), |r| {
        text(Choice::of(&PARTITIONS, r.options.partition).0)
    }),
    opt("track_causality", BIT, |r| bit(r.options.track_causality)),
    opt("startup_state", BIT, |r| bit(r.options.startup_state)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "server_event_sessions",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, sessions(scope))
}

/// Returns the definitions, ordered by `event_session_id`.
pub(crate) fn sessions(scope: &Scope<'_>) -> Vec<Arc<EventSessionDef>> {
    let mut sessions: Vec<_> =
        scope.session.catalog.event_sessions.values().map(Arc::clone).collect();
    sessions.sort_by_key(|session| session.id);
    sessions
}
