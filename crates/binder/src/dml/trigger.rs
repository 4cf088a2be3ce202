//! Triggers that a statement fires: bound as an OUTPUT of whole rows to the triggers.

use std::sync::Arc;

use tsql::ast::TriggerTiming;
use types::{Msg, Result};

use crate::Binder;
use catalog::{Catalog, ModuleDef, TableDef};
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{OutputColumn, TableSource};
use plan::sink::Traits;
use plan::statement::{Firing, OutputClause, OutputTarget};

/// The change that a trigger is for.
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
    /// Returns the T-SQL keyword.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// Registers of the new and the old row's columns; `None` if there is no such row.
pub(crate) struct Images<'r> {
    pub inserted: Option<&'r dyn Fn(usize) -> Register>,
    pub deleted: Option<&'r dyn Fn(usize) -> Register>,
}

/// Adds the enabled triggers of the target for an event, if there are any. `named` are the columns
/// that the statement names.
///
/// # Errors
/// 334 if the statement also has OUTPUT to the client.
pub(crate) fn add(
    binder: &Binder<'_>,
    target: &TableSource,
    event: Event,
    images: &Images<'_>,
    named: &dyn Fn(usize) -> bool,
    output: &mut Vec<OutputClause>,
) -> Result<()> {
    let TableSource::Table(table) = target else { return Ok(()) };
    let Some((after, instead)) = triggers(binder, table, event) else { return Ok(()) };
    if output.iter().any(|clause| matches!(clause.target, OutputTarget::Client(_))) {
        return Err(Msg::OutputWithTriggers(&table.name).into());
    }
    let mut columns = Vec::new();
    for register in [images.inserted, images.deleted].into_iter().flatten() {
        columns.extend(table.columns.iter().enumerate().map(|(i, column)| OutputColumn {
            name: column.name.as_str().into(),
            expr: Expr::new(ExprKind::Column(register(i)), column.ty),
            traits: Traits::default(),
        }));
    }
    let mut updated = vec![0; table.columns.len().div_ceil(8)];
    for ordinal in (0..table.columns.len()).filter(|i| named(*i)) {
        updated[ordinal / 8] |= 1 << (ordinal % 8);
    }
    let firing = Firing {
        event: event.name(),
        table: Arc::clone(table),
        after,
        instead,
        inserted: images.inserted.is_some(),
        deleted: images.deleted.is_some(),
        updated,
    };
    output.push(OutputClause { columns, target: OutputTarget::Triggers(Arc::new(firing)) });
    Ok(())
}

/// AFTER triggers in order, and the INSTEAD OF trigger.
pub(super) type Triggers = (Vec<Arc<ModuleDef>>, Option<Arc<ModuleDef>>);

/// Finds the enabled triggers of a table for an event, in the order of their creation.
pub(crate) fn triggers(binder: &Binder<'_>, table: &TableDef, event: Event) -> Option<Triggers> {
    find(binder.catalog, table, event)
}

/// Like `triggers`, with only a catalog.
pub fn find(catalog: &Catalog, table: &TableDef, event: Event) -> Option<Triggers> {
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
    found.sort_by_key(|(trigger, _)| trigger.id);
    let of = |timing: TriggerTiming| {
        let of = found.iter().filter(move |(_, create)| create.timing == timing);
        of.map(|(trigger, _)| Arc::clone(trigger))
    };
    Some((of(TriggerTiming::After).collect(), of(TriggerTiming::InsteadOf).next()))
}
