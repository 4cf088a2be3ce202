//! `sys.trigger_events`: what each trigger fires for.

use super::column::{BIT, Column, INT, bit, col, int, nv, opt, rows, shape, text, unknown};
use super::source_triggers::triggers;
use super::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(i32, i32, String)>] = &[
    col("object_id", INT, |r| int(r.0)),
    col("type", INT, |r| int(r.1)),
    col("type_desc", nv(60), |r| text(&r.2)),
    opt("is_trigger_event", BIT, |_| bit(true)),
    unknown("event_group_type", INT),
    unknown("event_group_type_desc", nv(60)),
    col("is_first", BIT, |_| bit(false)),
    col("is_last", BIT, |_| bit(false)),
];

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "trigger_events",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

/// The number of an event of a table.
fn number(event: &str) -> i32 {
    match event {
        "INSERT" => 1,
        "UPDATE" => 2,
        _ => 3,
    }
}

fn read(scope: &Scope<'_>) -> Rows {
    let events = triggers(scope.database).into_iter().flat_map(|trigger| {
        let id = trigger.module.id;
        trigger.events.into_iter().map(move |event| (id, number(&event), event))
    });
    rows(COLUMNS, events)
}
