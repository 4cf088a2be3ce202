//! Triggers and their events, as `sys.triggers` and `sys.trigger_events` show them.

use std::sync::Arc;

use tsql::ast::{CreateTrigger, StatementKind, TriggerTiming};

use ::catalog::{Catalog, DDL_EVENTS, Database, DdlEvent, ModuleDef, Object, TriggerPlace};

/// A trigger: a row of `sys.triggers`.
pub struct TriggerRow {
    /// The definition, as the catalog has it.
    pub module: Arc<ModuleDef>,
    /// `is_instead_of_trigger`: whether it replaces the statement.
    pub instead: bool,
    /// Whether it is a DDL trigger (`parent_class` DATABASE or SERVER).
    pub of_definitions: bool,
    /// `is_not_for_replication`: NOT FOR REPLICATION was specified.
    pub not_for_replication: bool,
    /// Events and event groups that it fires for, in upper case.
    events: Vec<String>,
}

impl TriggerRow {
    /// Returns whether it names an event.
    pub fn fires_for(&self, event: &str) -> bool {
        self.events.iter().any(|own| own == event)
    }
}

/// An event that a trigger fires for: a row of `sys.trigger_events`.
pub struct EventRow {
    /// `object_id` of the trigger.
    pub id: i32,
    /// Number and name of the event.
    pub event: (i32, String),
    /// Number and name of the group that the trigger names.
    pub group: Option<(i32, &'static str)>,
    /// `is_first` and `is_last`: the place of the trigger for the event.
    pub place: TriggerPlace,
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

/// Returns a database's triggers: those on its tables and views, and its DDL triggers.
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

/// Returns the events that triggers fire for; an event group gives a row for each of its events.
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
                        place: trigger.module.place_for(event.name),
                    }));
                }
                found => {
                    let number = found.map_or_else(|| number(&name), |event| event.number);
                    let place = trigger.module.place_for(&name);
                    rows.push(EventRow { id, event: (number, name), group: None, place });
                }
            }
        }
    }
    rows
}

/// Returns `type` of a DML event.
fn number(event: &str) -> i32 {
    match event {
        "INSERT" => 1,
        "UPDATE" => 2,
        _ => 3,
    }
}
