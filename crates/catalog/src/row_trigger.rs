//! Triggers on rows: which of a table a statement fires.

use std::sync::Arc;

use tsql::ast::TriggerTiming;

use crate::{Catalog, ModuleDef, TableDef};

/// What a statement does to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// INSERT, or the INSERT of a MERGE.
    Insert,
    /// UPDATE, or the UPDATE of a MERGE.
    Update,
    /// DELETE, or the DELETE of a MERGE.
    Delete,
}

impl Event {
    /// Returns the keyword: `INSERT`, `UPDATE` or `DELETE`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// The AFTER triggers in order, and the INSTEAD OF trigger.
pub type Triggers = (Vec<Arc<ModuleDef>>, Option<Arc<ModuleDef>>);

/// Finds the enabled triggers of a table for an event: the first, those without an order as they were made, the last.
/// None if there is no trigger.
pub fn triggers_of(catalog: &Catalog, table: &TableDef, event: Event) -> Option<Triggers> {
    if table.id < 0 {
        return None;
    }
    let database = catalog.database_by_id(table.database_id)?;
    let mut found: Vec<_> = database
        .triggers_on(table.id)
        .filter(|(trigger, create)| {
            !trigger.disabled && create.events.iter().any(|e| **e == *event.name())
        })
        .collect();
    if found.is_empty() {
        return None;
    }
    found.sort_by_key(|(trigger, _)| (trigger.place_for(event.name()), trigger.id));
    let of = |timing: TriggerTiming| {
        let of = found.iter().filter(move |(_, create)| create.timing == timing);
        of.map(|(trigger, _)| Arc::clone(trigger))
    };
    Some((of(TriggerTiming::After).collect(), of(TriggerTiming::InsteadOf).next()))
}
