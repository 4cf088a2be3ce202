//! Runs the bodies of triggers: a program one level deeper than the statement that fires it, with
//! the changed rows as its tables `deleted` and `inserted`.

use std::sync::Arc;

use storage::RowImage;
use types::row::RowBuffer;
use types::{Error, Msg, Result, Value};

use crate::{Caller, Stop, enter};
use ::catalog::{ModuleDef, TableDef, TableRows};
use ::executor::fault::{self, Interruption};
use ::executor::{Cx, Frame};
use ::plan::program::RoutineKind;
use ::plan::statement::Firing;
use ::session::event::emit::{self, statement::Called};

/// Runs a trigger. Each row has the values of the new row, followed by those of the old row.
///
/// # Errors
/// The errors of its body.
pub fn run(
    trigger: &Arc<ModuleDef>,
    (firing, rows): (&Firing, &[Vec<Value>]),
    cx: &mut Cx<'_>,
) -> Result<()> {
    let program = ::compile::function::take_trigger(cx.session, trigger, Some(&firing.table))
        .map_err(|s| raised(s, cx))?;
    let mut frame = Frame::for_program(cx.session, &program).map_err(|s| raised(s, cx))?;
    let width = firing.table.columns.len();
    let mut place = 0;
    for (present, table) in [firing.inserted, firing.deleted].into_iter().zip(frame.tables.iter()) {
        if present {
            let rows = rows.iter().map(|row| &row[place..place + width]);
            fill(table, &firing.table, rows, cx)?;
            place += width;
        }
    }
    frame.procedure_id = trigger.id;
    frame.updated = Some(firing.updated.clone());
    let options = &mut cx.session.options;
    let xact_abort = std::mem::replace(&mut options.xact_abort, true);
    cx.session.last.row_count = u64::try_from(rows.len()).unwrap_or(u64::MAX);
    cx.session.request.trigger_level += 1;
    let switched = cx.session.enter_module(trigger.database_id, trigger.execute_as);
    let called = Called::routine(trigger, RoutineKind::Trigger);
    let entered = emit::statement::module_start(cx.session, called);
    let outer = cx.session.options.enter_module(trigger.options);
    let statement = cx.session.accounting.meter.live().statement();
    let outcome = enter(&program, &trigger.name, &mut frame, &mut Caller::statement(cx));
    // What follows belongs to the statement that has fired the trigger.
    cx.session.accounting.meter.resume(statement);
    cx.session.options.enter_module(outer);
    emit::statement::module_end(cx.session, called, &entered);
    cx.session.identity.leave_module(switched);
    cx.session.request.trigger_level -= 1;
    cx.session.options.xact_abort = xact_abort;
    ::compile::function::keep_function(cx.session, trigger, program);
    outcome.map(drop).map_err(|stop| raised(stop, cx))
}

/// Fills the table `inserted` or `deleted` with rows.
fn fill<'r>(
    table: &Arc<TableRows>,
    shape: &TableDef,
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

/// Converts a stop to an error of the statement that fired the trigger.
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
