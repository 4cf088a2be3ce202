//! Runs the bodies of user-defined functions: a program in a new frame, inside the calling
//! statement.
//!
//! A function changes its own variables only, and its errors are errors of the calling statement.

use std::sync::Arc;

use types::{Error, Msg, Result, Value};

use crate::{NEST_LEVEL_MAX, Runner, Stop};
use ::catalog::ModuleDef;
use ::executor::eval::eval;
use ::executor::fault::Interruption;
use ::executor::query::load;
use ::executor::{Cx, Frame};
use ::plan::expr::{Expr, UserCall};
use ::plan::program::RoutineKind;
use ::plan::query::UserFunctionScan;
use ::plan::sink::FirstError;
use ::session::event::emit::{self, statement::Called};

/// Calls a scalar function.
///
/// # Errors
/// The errors of its body; 217 for too deep nesting.
pub fn call_scalar(call: &UserCall, cx: &mut Cx<'_>) -> Result<Value> {
    let arguments = evaluate(&call.arguments, cx)?;
    let strict = call.module.routine.as_ref().is_some_and(|r| r.null_on_null);
    if strict && arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    run(&call.module, arguments, cx, &mut |frame, _| Ok(std::mem::take(&mut frame.result)))
}

/// Calls a multi-statement function and returns the rows of its table variable.
///
/// # Errors
/// As [`call_scalar`].
pub fn call_table(scan: &UserFunctionScan, cx: &mut Cx<'_>) -> Result<Vec<Vec<Value>>> {
    let arguments = evaluate(&scan.arguments, cx)?;
    let definition = &scan.definition;
    let width = definition.columns.len();
    run(&scan.module, arguments, cx, &mut |frame, cx| {
        let Some(table) = frame.tables.first() else { return Ok(Vec::new()) };
        let columns: Vec<_> = (0..width)
            .filter_map(|i| Some((u16::try_from(i).ok()?, ::plan::expr::Register(0).plus(i))))
            .collect();
        // Rows of a table variable are committed at the end of each statement.
        let store = Arc::clone(&cx.session.instance.store);
        let transaction = store.begin(storage::TransactionOptions::STATEMENT);
        let whole = storage::ScanSpec {
            index: None,
            bounds: storage::Bounds::ALL,
            order: storage::Order::Forward,
            read: storage::Read::COMMITTED,
        };
        let mut rows = Vec::new();
        let mut registers = vec![Value::Null; width];
        let mut cursor =
            transaction.scan(&table.data, whole).map_err(|e| ::executor::fault::raise(cx, e))?;
        while let Some(row) = cursor.next().map_err(|e| ::executor::fault::raise(cx, e))? {
            load(&columns, definition, row.image(), &mut registers);
            rows.push(registers.clone());
        }
        drop(cursor);
        transaction.rollback();
        cx.session.accounting.meter.read(rows.len() as u64);
        Ok(rows)
    })
}

fn evaluate(arguments: &[Expr], cx: &mut Cx<'_>) -> Result<Vec<Value>> {
    arguments.iter().map(|argument| eval(argument, cx)).collect()
}

/// Runs a function's program with these parameter values; `read` extracts the result.
fn run<T>(
    module: &Arc<ModuleDef>,
    arguments: Vec<Value>,
    cx: &mut Cx<'_>,
    read: &mut dyn FnMut(&mut Frame, &mut Cx<'_>) -> Result<T>,
) -> Result<T> {
    if cx.session.request.nest_level >= NEST_LEVEL_MAX {
        return Err(Msg::NestingLevel(i64::from(NEST_LEVEL_MAX)).into());
    }
    let program =
        ::compile::function::take_function(cx.session, module).map_err(|stop| raised(stop, cx))?;
    let mut frame = Frame::for_program(cx.session, &program).map_err(|stop| raised(stop, cx))?;
    for (variable, value) in frame.variables.iter_mut().zip(arguments) {
        *variable = value;
    }
    frame.procedure_id = module.id;
    let session = &mut *cx.session;
    session.request.nest_level += 1;
    // The caller gets the error, so it is not reported here.
    session.request.try_depth += 1;
    let before = (session.last.row_count, session.last.error, session.request.line);
    let switched = session.enter_module(module.database_id, module.execute_as);
    let called = Called::routine(module, RoutineKind::Function);
    let entered = emit::statement::module_start(session, called);
    let id = program.statistics_id();
    let metered = session.accounting.meter.called(id);
    let lease = session.accounting.meter.suspend();
    let outer = session.options.enter_module(module.options);
    // A function's statements return no rows, and their counts are not sent.
    let mut silent = FirstError::default();
    let mut inner = Cx::new(cx.host, session, &mut frame, &mut silent);
    inner.transaction = cx.transaction;
    let outcome = Runner { program: &program, procedure: &module.name }.run(&mut inner);
    let (fault, interrupted) = (inner.fault.take(), inner.interrupted.take());
    let session = &mut *cx.session;
    session.options.enter_module(outer);
    session.accounting.meter.restore(lease);
    session.accounting.meter.returned(id, metered);
    emit::statement::module_end(session, called, &entered);
    session.identity.leave_module(switched);
    (session.last.row_count, session.last.error, session.request.line) = before;
    session.request.try_depth -= 1;
    session.request.nest_level -= 1;
    ::compile::function::keep_function(session, module, program);
    cx.fault = cx.fault.take().or(fault);
    cx.interrupted = cx.interrupted.or(interrupted);
    let result = match outcome {
        Ok(_) => read(&mut frame, cx),
        Err(stop) => Err(raised(stop, cx)),
    };
    frame.tables.release();
    result
}

/// Converts a stop to the error of the calling statement.
fn raised(stop: Stop, cx: &mut Cx<'_>) -> Error {
    let interruption = match stop {
        Stop::Error(error) | Stop::Thrown(error) | Stop::Unbound(error) => return error,
        Stop::Scope | Stop::Batch => return Msg::InternalError.into(),
        Stop::Cancelled => Interruption::Cancelled,
        Stop::Disconnected => Interruption::Disconnected,
    };
    cx.interrupted = Some(interruption);
    Error::custom(0, 16, 1, "Operation cancelled by user.")
}
