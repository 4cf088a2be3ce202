//! `sys.dm_xe_session_object_columns`: the settings of events and the parameters of targets in
//! running event sessions, including those with default values.

use sos::xe::{Package, SessionReport};

use super::{address, guid};
use crate::{Rows, Scope, SystemView};
use metadata::column::{ADDRESS, Column, GUID, INT, col, int, nv, opt, or_null, rows, shape, text};

/// A setting of an event, or a parameter of a target, in a running session.
struct Row {
    session: usize,
    name: &'static str,
    id: usize,
    value: Option<String>,
    kind: &'static str,
    object: (&'static Package, &'static str),
}

const COLUMNS: &[Column<Row>] = &[
    col("event_session_address", ADDRESS, |r| address(r.session)),
    col("column_name", nv(256), |r| text(r.name)),
    col("column_id", INT, |r| int(r.id)),
    opt("column_value", nv(3072), |r| or_null(r.value.as_deref(), text)),
    col("object_type", nv(60), |r| text(r.kind)),
    col("object_name", nv(256), |r| text(r.object.1)),
    col("object_package_guid", GUID, |r| guid(r.object.0)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_xe_session_object_columns",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let mut found = Vec::new();
    for session in scope.session.instance.events.reports() {
        of_session(&session, &mut found);
    }
    rows(COLUMNS, found)
}

fn of_session(session: &SessionReport, found: &mut Vec<Row>) {
    for spec in &session.spec.events {
        let object = (spec.event.package, spec.event.name);
        for (id, setting) in spec.event.settings.iter().enumerate() {
            let set = spec.settings.iter().find(|(place, _)| *place == id);
            let value = Some(set.map_or(setting.default, |(_, on)| *on).to_string());
            let (session, name) = (session.address, setting.name);
            found.push(Row { session, name, id, value, kind: "event", object });
        }
    }
    for spec in &session.spec.targets {
        let object = (spec.target.package, spec.target.name);
        for (id, parameter) in spec.target.parameters.iter().enumerate() {
            let set = spec.parameters.iter().find(|(name, _)| name == parameter.name);
            let value = set.map(|(_, value)| value.clone());
            let value = value.or_else(|| parameter.default.map(str::to_owned));
            let (session, name) = (session.address, parameter.name);
            found.push(Row { session, name, id, value, kind: "target", object });
        }
    }
}
