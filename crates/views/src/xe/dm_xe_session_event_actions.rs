//! `sys.dm_xe_session_event_actions`: the actions of each event of running event sessions.

use sos::xe::{Action, Event};

use super::{address, guid};
use crate::{Rows, Scope, SystemView};
use metadata::column::{ADDRESS, Column, GUID, col, nv, rows, shape, text};

const COLUMNS: &[Column<(usize, &'static Event, &'static Action)>] = &[
    col("event_session_address", ADDRESS, |r| address(r.0)),
    col("action_name", nv(256), |r| text(r.2.name)),
    col("action_package_guid", GUID, |r| guid(r.2.package)),
    col("event_name", nv(256), |r| text(r.1.name)),
    col("event_package_guid", GUID, |r| guid(r.1.package)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_xe_session_event_actions",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let mut found = Vec::new();
    for session in scope.session.instance.events.reports() {
        for event in &session.spec.events {
            found.extend(event.actions.iter().map(|&a| (session.address, event.event, a)));
        }
    }
    rows(COLUMNS, found)
}
