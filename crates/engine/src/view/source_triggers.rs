//! Triggers as the catalog views show them.

use std::sync::Arc;

use tsql::ast::{StatementKind, TriggerTiming};

use crate::catalog::{Database, ModuleDef, Object};

/// A trigger.
pub(super) struct TriggerRow {
    /// Its definition.
    pub(super) module: Arc<ModuleDef>,
    /// Whether it takes the statement's place.
    pub(super) instead: bool,
    /// NOT FOR REPLICATION.
    pub(super) not_for_replication: bool,
    /// What it fires for, in upper case.
    pub(super) events: Vec<String>,
}

/// Returns the triggers of a database.
pub(super) fn triggers(database: &Database) -> Vec<TriggerRow> {
    let row = |object: &Object| {
        let Object::Trigger(module) = object else { return None };
        let StatementKind::CreateTrigger(create) = &module.ast.kind else { return None };
        Some(TriggerRow {
            module: Arc::clone(module),
            instead: create.timing == TriggerTiming::InsteadOf,
            not_for_replication: create.not_for_replication,
            events: create.events.iter().map(ToString::to_string).collect(),
        })
    };
    database.objects.values().filter_map(row).collect()
}
