//! `sys.server_event_session_actions`: the actions of each event in event session definitions.

use sos::xe::Action;

use crate::{Rows, Scope, SystemView};
use metadata::column::{Column, INT, SYSNAME, col, int, rows, shape, text};

/// An action of an event.
struct Row {
    session: i32,
    event: i32,
    action: &'static Action,
}

const COLUMNS: &[Column<Row>] = &[
    col("event_session_id", INT, |r| int(r.session)),
    col("event_id", INT, |r| int(r.event)),
    col("name", SYSNAME, |r| text(r.action.name)),
    col("package", SYSNAME, |r| text(r.action.package.name)),
    col("module", SYSNAME, |r| text(r.action.package.name)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "server_event_session_actions",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let mut found = Vec::new();
    for session in super::server_event_sessions::sessions(scope) {
        for event in &session.events {
            let row =
                |action: &&'static Action| Row { session: session.id, event: event.id, action };
            found.extend(event.spec.actions.iter().map(row));
        }
    }
    rows(COLUMNS, found)
}
