//! Triggers as the catalog views show them.

use std::sync::Arc;

use tsql::ast::{CreateTrigger, StatementKind, TriggerTiming};

use ::catalog::{Catalog, DDL_EVENTS, Database, DdlEvent, ModuleDef, Object};

/// A trigger.
pub struct TriggerRow {
    /// Its definition.
    pub module: Arc<ModuleDef>,
    /// Whether it takes the statement's place.
    pub instead: bool,
    /// Whether it is a DDL trigger.
    pub of_definitions: bool,
    /// NOT FOR REPLICATION.
    pub not_for_replication: bool,
    /// What it fires for, in upper case.
    events: Vec<String>,
}

/// An event that a trigger fires for.
pub struct EventRow {
    /// `object_id` of the trigger.
    pub id: i32,
    /// Number and name of the event.
    pub event: (i32, String),
    /// Number and name of the group that the trigger names.
    pub group: Option<(i32, &'static str)>,
}

fn row(module: &Arc<ModuleDef>, create: &CreateTrigger) -> TriggerRow {
    TriggerRow {
        module: Arc::clone(module),
        instead: create.timing == TriggerTiming::InsteadOf,
        of_definitions: module.parent_id == 0,
        not_for_replication: create.not_for_replication,
        events: create.events.iter().map(ToString::to_string).collect(),
    }
}

fn row_of(module: &Arc<ModuleDef>) -> Option<TriggerRow> {
    match &module.ast.kind {
        StatementKind::CreateTrigger(create) => Some(row(module, create)),
        _ => None,
    }
}

/// Returns the triggers of a database: those on its tables and views, and those on itself.
pub fn triggers(database: &Database) -> Vec<TriggerRow> {
    let of_object = |object: &Object| match object {
        Object::Trigger(module) => row_of(module),
        _ => None,
    };
    let of_objects = database.objects.values().filter_map(of_object);
    of_objects.chain(database.triggers.values().filter_map(row_of)).collect()
}

/// Returns the triggers of the server.
pub fn server_triggers(catalog: &Catalog) -> Vec<TriggerRow> {
    catalog.triggers.values().filter_map(row_of).collect()
}

/// Returns the events that triggers fire for: of a group, all that are in it.
pub fn events(triggers: Vec<TriggerRow>) -> Vec<EventRow> {
    let mut rows = Vec::new();
    for trigger in triggers {
        let id = trigger.module.id;
        for name in trigger.events {
            match DdlEvent::find(&name) {
                Some(group) if trigger.of_definitions && group.is_group() => {
                    let of_group = DDL_EVENTS.iter().filter(|e| !e.is_group() && group.covers(e));
                    rows.extend(of_group.map(|event| EventRow {
                        id,
                        event: (event.number, event.name.to_owned()),
                        group: Some((group.number, group.name)),
                    }));
                }
                Some(event) => rows.push(EventRow { id, event: (event.number, name), group: None }),
                None => rows.push(EventRow { id, event: (number(&name), name), group: None }),
            }
        }
    }
    rows
}

/// The number of an event of a table.
fn number(event: &str) -> i32 {
    match event {
        "INSERT" => 1,
        "UPDATE" => 2,
        _ => 3,
    }
}
