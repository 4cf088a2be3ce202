//! `sys.dm_xe_session_events`: the events of running event sessions.

use sos::xe::Event;

use super::{address, guid};
use crate::{Rows, Scope, SystemView};
use ::catalog::name::Name;
use metadata::column::{ADDRESS, Column, GUID, col, nv, opt, rows, shape, text, text_or_null};

/// An event of a running session.
struct Row {
    session: usize,
    event: &'static Event,
    predicate: String,
}

const COLUMNS: &[Column<Row>] = &[
    col("event_session_address", ADDRESS, |r| address(r.session)),
    col("event_name", nv(256), |r| text(r.event.name)),
    col("event_package_guid", GUID, |r| guid(r.event.package)),
    opt("event_predicate", nv(3072), |r| text_or_null(&r.predicate)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_xe_session_events",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let mut found = Vec::new();
    for session in scope.session.instance.events.reports() {
        let defined = scope.session.catalog.event_sessions.get(&Name::new(&session.spec.name));
        for spec in &session.spec.events {
            let event = defined
                .and_then(|defined| defined.events.iter().find(|e| e.spec.event == spec.event));
            let predicate = event.map(|event| event.predicate.clone()).unwrap_or_default();
            found.push(Row { session: session.address, event: spec.event, predicate });
        }
    }
    rows(COLUMNS, found)
}
