//! Fires triggers: when a statement has changed its rows and before it counts as done.
//!
//! A trigger runs as statements of the transaction that the statement is in, with the rows before and
//! after as its tables `deleted` and `inserted`. Where the statement has a transaction of its own, the
//! trigger still finds one open: it may roll it back, which ends the batch.

use std::sync::Arc;

use storage::{RowImage, Transaction};
use types::{Msg, Result, Value};

use crate::Cx;
use catalog::row_trigger::{Event, triggers_of};
use catalog::{Catalog, ForeignKeyDef, ReferenceAction, TableDef};
use plan::statement::{Firing, OutputClause, OutputTarget};

/// Triggers that a statement has to fire.
pub(crate) struct Pending {
    firing: Arc<Firing>,
    /// The new rows' values and then the old rows'.
    rows: Vec<Vec<Value>>,
    /// Whether the rows were not changed: the trigger does it.
    instead: bool,
}

/// Finds the triggers among what a statement outputs.
fn firing_of(clauses: &[OutputClause]) -> Option<&Arc<Firing>> {
    clauses.iter().find_map(|clause| match &clause.target {
        OutputTarget::Triggers(firing) => Some(firing),
        OutputTarget::Client(_) | OutputTarget::Table(_) | OutputTarget::Insert(_) => None,
    })
}

/// Tells whether a statement fires triggers.
pub(crate) fn fires(clauses: &[OutputClause]) -> bool {
    firing_of(clauses).is_some()
}

/// Tells whether an INSTEAD OF trigger takes the statement's place; its own statements act on the table.
pub(crate) fn is_instead(clauses: &[OutputClause], cx: &Cx<'_>) -> bool {
    let instead = firing_of(clauses).and_then(|firing| firing.instead.as_ref());
    instead.is_some_and(|trigger| trigger.id != cx.frame.procedure_id)
}

/// As [`is_instead`], of what MERGE does to a row: `INSERT`, `UPDATE` or `DELETE`.
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

/// Notes the rows for the triggers, which fire when the statement has done its part.
pub(crate) fn note(firing: &Arc<Firing>, rows: Vec<Vec<Value>>, cx: &mut Cx<'_>) {
    let instead = firing.instead.as_ref().is_some_and(|t| t.id != cx.frame.procedure_id);
    cx.pending.push(Pending { firing: Arc::clone(firing), rows, instead });
}

/// Rows of a table that foreign keys have changed in the course of a statement.
pub(crate) struct Cascaded {
    table: i32,
    event: Event,
    /// The table's triggers for it, if it has any.
    firing: Option<Arc<Firing>>,
    rows: Vec<Vec<Value>>,
}

/// Notes a row that a foreign key has changed: as it was and, unless it is gone, as it is.
pub(crate) fn note_cascaded(
    (table, key): (&Arc<TableDef>, &ForeignKeyDef),
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

/// Finds the AFTER triggers of a table for what a foreign key of it does.
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

/// Tells whether foreign keys that follow a change of a table come to tables that have triggers.
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

/// Puts the triggers of tables that foreign keys came to before those of the statement's own table: the
/// table that was reached last comes first.
pub(crate) fn in_order(cascaded: Vec<Cascaded>, own: Vec<Pending>) -> Vec<Pending> {
    if cascaded.is_empty() {
        return own;
    }
    let pending = cascaded.into_iter().rev().filter_map(|Cascaded { firing, rows, .. }| {
        firing.map(|firing| Pending { firing, rows, instead: false })
    });
    pending.chain(own).collect()
}

/// Fires what is noted, in the transaction of the statement; gives it back unless a trigger ended it.
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
        // A trigger does not fire itself (RECURSIVE_TRIGGERS is OFF).
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
