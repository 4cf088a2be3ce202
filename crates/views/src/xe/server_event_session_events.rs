//! `sys.server_event_session_events`: the events in event session definitions.

use crate::{Rows, Scope, SystemView};
use ::catalog::EventDef;
use metadata::column::{
    Column, INT, SYSNAME, col, int, nv, opt, rows, shape, text, text_or_null, unknown,
};

const COLUMNS: &[Column<(i32, EventDef)>] = &[
    col("event_session_id", INT, |(session, _)| int(*session)),
    col("event_id", INT, |(_, r)| int(r.id)),
    col("name", SYSNAME, |(_, r)| text(r.spec.event.name)),
    col("package", SYSNAME, |(_, r)| text(r.spec.event.package.name)),
    col("module", SYSNAME, |(_, r)| text(r.spec.event.package.name)),
    opt("predicate", nv(3000), |(_, r)| text_or_null(&r.predicate)),
    unknown("predicate_xml", nv(3000)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "server_event_session_events",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let sessions = super::server_event_sessions::sessions(scope);
    let events = sessions
        .iter()
        .flat_map(|session| session.events.iter().map(|event| (session.id, event.clone())));
    rows(COLUMNS, events)
}
