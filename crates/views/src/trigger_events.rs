//! `sys.trigger_events`, `sys.events`, the same of the server, and `sys.trigger_event_types`: the events that each
//! trigger fires for, and the events that exist. There are no event notifications.

use types::Value;

use ::catalog::{DDL_EVENTS, DdlEvent, TriggerPlace};
use metadata::column::{BIT, Column, INT, bit, col, int, nv, opt, rows, shape, text};
use metadata::triggers::{EventRow, events, server_triggers, triggers};
use metadata::{Rows, Scope, SystemView};

const EVENT_COLUMNS: [Column<EventRow>; 6] = [
    col("object_id", INT, |r| int(r.id)),
    col("type", INT, |r| int(r.event.0)),
    col("type_desc", nv(60), |r| text(&r.event.1)),
    opt("is_trigger_event", BIT, |_| bit(true)),
    opt("event_group_type", INT, |r| r.group.map_or(Value::Null, |group| int(group.0))),
    opt("event_group_type_desc", nv(60), |r| r.group.map_or(Value::Null, |group| text(group.1))),
];

/// The columns of the views of triggers: those of the views of events, and two more.
const COLUMNS: &[Column<EventRow>] = {
    let [id, kind, name, of_trigger, group, group_name] = EVENT_COLUMNS;
    &[
        id,
        kind,
        name,
        of_trigger,
        group,
        group_name,
        col("is_first", BIT, |r| bit(r.place == TriggerPlace::First)),
        col("is_last", BIT, |r| bit(r.place == TriggerPlace::Last)),
    ]
};

const TYPE_COLUMNS: &[Column<&'static DdlEvent>] = &[
    col("type", INT, |r| int(r.number)),
    col("type_name", nv(64), |r| text(r.name)),
    opt("parent_type", INT, |r| DdlEvent::find(r.group).map_or(Value::Null, |g| int(g.number))),
];

/// `sys.trigger_events`: the events of a database's triggers.
pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "trigger_events",
    columns: || shape(COLUMNS),
    rows: |scope: &Scope<'_>| rows(COLUMNS, events(triggers(scope.database))),
    arity: 0,
};

/// `sys.server_trigger_events`: the events of the server's triggers.
pub(crate) static SERVER: SystemView = SystemView {
    schema: "sys",
    name: "server_trigger_events",
    columns: || shape(COLUMNS),
    rows: |scope: &Scope<'_>| rows(COLUMNS, events(server_triggers(&scope.session.catalog))),
    arity: 0,
};

/// `sys.events`: the events of a database's triggers, without their order.
pub(crate) static EVENTS: SystemView = SystemView {
    schema: "sys",
    name: "events",
    columns: || shape(&EVENT_COLUMNS),
    rows: |scope: &Scope<'_>| rows(&EVENT_COLUMNS, events(triggers(scope.database))),
    arity: 0,
};

/// `sys.server_events`: the events of the server's triggers, without their order.
pub(crate) static SERVER_EVENTS: SystemView = SystemView {
    schema: "sys",
    name: "server_events",
    columns: || shape(&EVENT_COLUMNS),
    rows: |scope: &Scope<'_>| rows(&EVENT_COLUMNS, events(server_triggers(&scope.session.catalog))),
    arity: 0,
};

/// `sys.trigger_event_types`: all events that triggers can fire for.
pub(crate) static TYPES: SystemView = SystemView {
    schema: "sys",
    name: "trigger_event_types",
    columns: || shape(TYPE_COLUMNS),
    rows: read_types,
    arity: 0,
};

fn read_types(_: &Scope<'_>) -> Rows {
    rows(TYPE_COLUMNS, DDL_EVENTS.iter())
}
