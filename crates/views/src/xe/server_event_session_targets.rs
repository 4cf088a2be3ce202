//! `sys.server_event_session_targets`: the targets in event session definitions.

use crate::{Rows, Scope, SystemView};
use ::catalog::EventTargetDef;
use metadata::column::{Column, INT, SYSNAME, col, int, rows, shape, text};

const COLUMNS: &[Column<(i32, EventTargetDef)>] = &[
    col("event_session_id", INT, |(session, _)| int(*session)),
    col("target_id", INT, |(_, r)| int(r.id)),
    col("name", SYSNAME, |(_, r)| text(r.spec.target.name)),
    col("package", SYSNAME, |(_, r)| text(r.spec.target.package.name)),
    col("module", SYSNAME, |(_, r)| text(r.spec.target.package.name)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "server_event_session_targets",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let sessions = super::server_event_sessions::sessions(scope);
    let targets = sessions
        .iter()
        .flat_map(|session| session.targets.iter().map(|target| (session.id, target.clone())));
    rows(COLUMNS, targets)
}
