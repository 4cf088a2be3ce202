//! Fires triggers: when a statement has changed its rows and before it counts as done.
//!
//! A trigger runs as statements of the transaction that the statement is in, with the rows before and
//! after as its tables `deleted` and `inserted`. Where the statement has a transaction of its own, the
//! trigger still finds one open: it may roll it back, which ends the batch.

use std::sync::Arc;

use storage::{RowImage, Transaction};
use types::row::RowBuffer;
use types::{Error, Msg, Result, Value};

use crate::catalog::{ModuleDef, TableRows};
use crate::exec::fault::{self, Interruption};
use crate::exec::run::{Stop, enter};
use crate::exec::{Cx, Frame};
use crate::plan::statement::{Firing, OutputClause, OutputTarget};

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
        OutputTarget::Client(_) | OutputTarget::Table(_) => None,
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

/// Notes the rows for the triggers, which fire when the statement has done its part.
pub(crate) fn note(firing: &Arc<Firing>, rows: Vec<Vec<Value>>, cx: &mut Cx<'_>) {
    let instead = firing.instead.as_ref().is_some_and(|t| t.id != cx.frame.procedure_id);
    cx.pending.push(Pending { firing: Arc::clone(firing), rows, instead });
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
        run(trigger, pending, cx)?;
        if cx.session.transaction.active.is_none() {
            break;
        }
    }
    Ok(())
}

fn run(trigger: &Arc<ModuleDef>, pending: &Pending, cx: &mut Cx<'_>) -> Result<()> {
    let firing = &pending.firing;
    let program = cx.session.take_trigger(trigger, &firing.table).map_err(|s| raised(s, cx))?;
    let mut frame = Frame::for_program(cx.session, &program).map_err(|s| raised(s, cx))?;
    let width = firing.table.columns.len();
    let mut place = 0;
    for (present, table) in [firing.inserted, firing.deleted].into_iter().zip(&frame.tables) {
        if present {
            let rows = pending.rows.iter().map(|row| &row[place..place + width]);
            fill(table, &firing.table, rows, cx)?;
            place += width;
        }
    }
    frame.procedure_id = trigger.id;
    frame.updated = Some(firing.updated.clone());
    let options = &mut cx.session.options;
    let xact_abort = std::mem::replace(&mut options.xact_abort, true);
    cx.session.row_count = u64::try_from(pending.rows.len()).unwrap_or(u64::MAX);
    cx.session.trigger_level += 1;
    let switched = cx.session.enter_module(trigger.database_id, trigger.execute_as);
    let outcome = enter(&program, &trigger.name, &mut frame, cx);
    cx.session.leave_module(switched);
    cx.session.trigger_level -= 1;
    cx.session.options.xact_abort = xact_abort;
    cx.session.keep_function(trigger, program);
    outcome.map(drop).map_err(|stop| raised(stop, cx))
}

/// Fills `inserted` or `deleted`.
fn fill<'r>(
    table: &Arc<TableRows>,
    shape: &crate::catalog::TableDef,
    rows: impl Iterator<Item = &'r [Value]>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let store = Arc::clone(&cx.session.instance.store);
    let transaction = store.begin(storage::TransactionOptions::STATEMENT);
    let mut buffer = RowBuffer::default();
    for row in rows {
        shape.layout.encode(row, &mut buffer);
        let stored = transaction.insert(&table.data, RowImage::from(&buffer)).map(|_| ());
        stored.map_err(|e| fault::raise(cx, e))?;
    }
    transaction.commit().map_err(|e| fault::raise(cx, e))
}

/// The error that a stop is to the statement that fired the trigger.
fn raised(stop: Stop, cx: &mut Cx<'_>) -> Error {
    let (interruption, error) = match stop {
        Stop::Error(error) | Stop::Thrown(error) | Stop::Unbound(error) => return error,
        Stop::Scope | Stop::Batch => (Interruption::Reported, Msg::ErrorInTrigger.into()),
        Stop::Cancelled => (Interruption::Cancelled, Error::custom(0, 16, 1, "Cancelled.")),
        Stop::Disconnected => {
            (Interruption::Disconnected, Error::custom(0, 20, 1, "The client is gone."))
        }
    };
    cx.interrupted = Some(interruption);
    error
}
