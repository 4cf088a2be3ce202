//! Fires triggers, after a statement has changed its rows and before it completes.
//!
//! A trigger runs in the statement's transaction; the rows before and after the change are its
//! tables `deleted` and `inserted`. An autocommit statement's transaction is open for the trigger
//! too: ROLLBACK in the trigger ends the batch.

use std::sync::Arc;

use storage::{RowImage, Transaction};
use types::{Msg, Result, Value};

use crate::Cx;
use catalog::row_trigger::{Event, triggers_of};
use catalog::{Catalog, ForeignKeyDef, ReferenceAction, TableDef};
use plan::statement::{Firing, OutputClause, OutputTarget};

/// A set of triggers to fire and the rows for them.
pub(crate) struct Pending {
    firing: Arc<Firing>,
    /// The values of the new row followed by those of the old row.
    rows: Vec<Vec<Value>>,
    /// Whether these are INSTEAD OF triggers, for which the rows were not changed.
    instead: bool,
}

/// Returns the triggers among the output clauses of a statement.
fn firing_of(clauses: &[OutputClause]) -> Option<&Arc<Firing>> {
    clauses.iter().find_map(|clause| match &clause.target {
        OutputTarget::Triggers(firing) => Some(firing),
        OutputTarget::Client(_) | OutputTarget::Table(_) | OutputTarget::Insert(_) => None,
    })
}

/// Returns true if a statement fires triggers.
pub(crate) fn fires(clauses: &[OutputClause]) -> bool {
    firing_of(clauses).is_some()
}

/// Returns true if an INSTEAD OF trigger replaces the statement. Inside that trigger, its own
/// statements change the table.
pub(crate) fn is_instead(clauses: &[OutputClause], cx: &Cx<'_>) -> bool {
    let instead = firing_of(clauses).and_then(|firing| firing.instead.as_ref());
    instead.is_some_and(|trigger| trigger.id != cx.frame.procedure_id)
}

/// As [`is_instead`], for an action of MERGE: `INSERT`, `UPDATE` or `DELETE`.
pub(crate) fn is_instead_of(clauses: &[OutputClause], action: &str, cx: &Cx<'_>) -> bool {
    clauses.iter().any(|clause| match &clause.target {
        OutputTarget::Triggers(firing) if firing.event == action => {
            firing.instead.as_ref().is_some_and(|trigger| trigger.id != cx.frame.procedure_id)
        }
        OutputTarget::Triggers(_)
        | OutputTarget::Client(_)
        | OutputTarget::Table(_)
        | OutputTarget::Insert(_) => false,
    })
}

/// Records rows for triggers, which fire after the statement has changed all rows.
pub(crate) fn note(firing: &Arc<Firing>, rows: Vec<Vec<Value>>, cx: &mut Cx<'_>) {
    let instead = firing.instead.as_ref().is_some_and(|t| t.id != cx.frame.procedure_id);
    cx.pending.push(Pending { firing: Arc::clone(firing), rows, instead });
}

/// Rows of one table that a statement's foreign keys have changed by cascading.
pub(crate) struct Cascaded {
    table: i32,
    event: Event,
    /// The table's triggers for this action, if it has any.
    firing: Option<Arc<Firing>>,
    rows: Vec<Vec<Value>>,
}

/// Records a row that a foreign key has changed: its old values and, unless it was deleted, its new
/// ones.
pub(crate) fn note_cascaded(
    table: &Arc<TableDef>,
    key: &ForeignKeyDef,
    old: RowImage<'_>,
    new: Option<RowImage<'_>>,
    cx: &mut Cx<'_>,
) {
    let event = if new.is_some() { Event::Update } else { Event::Delete };
    let is_it = |noted: &Cascaded| noted.table == table.id && noted.event == event;
    let place = cx.cascaded.iter().position(is_it).unwrap_or_else(|| {
        let firing = firing_after(&cx.session.catalog, table, key, event).map(Arc::new);
        cx.cascaded.push(Cascaded { table: table.id, event, firing, rows: Vec::new() });
        cx.cascaded.len() - 1
    });
    let noted = &mut cx.cascaded[place];
    if noted.firing.is_none() {
        return;
    }
    let mut row = Vec::with_capacity(2 * table.columns.len());
    for image in new.into_iter().chain([old]) {
        let view = table.layout.view(image.bytes, image.blobs);
        row.extend((0..table.columns.len()).map(|i| view.get(i)));
    }
    noted.rows.push(row);
}

/// Finds the AFTER triggers of a table for the action of its foreign key.
fn firing_after(
    catalog: &Catalog,
    table: &Arc<TableDef>,
    key: &ForeignKeyDef,
    event: Event,
) -> Option<Firing> {
    let (after, _) = triggers_of(catalog, table, event).filter(|(after, _)| !after.is_empty())?;
    let mut updated = vec![0; table.columns.len().div_ceil(8)];
    for column in key.columns.iter().filter(|_| event == Event::Update) {
        updated[usize::from(*column) / 8] |= 1 << (column % 8);
    }
    Some(Firing {
        event: event.name(),
        table: Arc::clone(table),
        after,
        instead: None,
        inserted: event == Event::Update,
        deleted: true,
        updated,
    })
}

/// Returns true if cascades from a table can reach a table with triggers.
pub(crate) fn may_cascade_to(table: &TableDef, catalog: &Catalog) -> bool {
    if !table.referenced {
        return false;
    }
    let Some(database) = catalog.database_by_id(table.database_id) else { return false };
    let mut reached = vec![table.id];
    let mut next = 0;
    while let Some(parent) = reached.get(next).copied() {
        next += 1;
        for child in database.tables() {
            let follows = |key: &ForeignKeyDef| {
                let acts = [key.on_delete, key.on_update];
                key.referenced == parent
                    && key.enabled
                    && acts.iter().any(|action| *action != ReferenceAction::NoAction)
            };
            if !child.foreign_keys.iter().any(follows) {
                continue;
            }
            if database.triggers_on(child.id).any(|(trigger, _)| !trigger.disabled) {
                return true;
            }
            if !reached.contains(&child.id) {
                reached.push(child.id);
            }
        }
    }
    false
}

/// Orders the triggers: those of tables reached by cascades first, the last table reached before
/// the others, then those of the statement's own table.
pub(crate) fn in_order(cascaded: Vec<Cascaded>, own: Vec<Pending>) -> Vec<Pending> {
    if cascaded.is_empty() {
        return own;
    }
    let pending = cascaded.into_iter().rev().filter_map(|Cascaded { firing, rows, .. }| {
        firing.map(|firing| Pending { firing, rows, instead: false })
    });
    pending.chain(own).collect()
}

/// Fires the recorded triggers in the statement's transaction; returns it, unless a trigger ended
/// it.
pub(crate) fn fire(cx: &mut Cx<'_>, transaction: Transaction) -> (Option<Transaction>, Result<()>) {
    let pending = std::mem::take(&mut cx.pending);
    let before = cx.session.transaction.count;
    cx.session.transaction.count = before.max(1);
    cx.session.transaction.active = Some(transaction);
    let mut fired = Ok(());
    for one in &pending {
        fired = fire_all(one, cx);
        if fired.is_err() {
            break;
        }
    }
    match cx.session.transaction.active.take() {
        Some(transaction) => {
            cx.session.transaction.count = before;
            (Some(transaction), fired)
        }
        None => (None, fired.and(Err(Msg::TransactionEndedInTrigger.into()))),
    }
}

fn fire_all(pending: &Pending, cx: &mut Cx<'_>) -> Result<()> {
    let firing = &pending.firing;
    let instead = firing.instead.iter().filter(|_| pending.instead);
    let after = firing.after.iter().filter(|_| !pending.instead);
    for trigger in instead.chain(after) {
        // A trigger does not fire itself: RECURSIVE_TRIGGERS is OFF.
        if trigger.id == cx.frame.procedure_id {
            continue;
        }
        cx.host.run_trigger(trigger, (firing, &pending.rows), cx)?;
        if cx.session.transaction.active.is_none() {
            break;
        }
    }
    Ok(())
}
