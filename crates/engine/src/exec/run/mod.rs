//! Runs programs: control flow, errors and their scopes.
//!
//! An error ends its statement; what happens then depends on where it is and what it is:
//!
//! ```text
//!  inside TRY                      go to the CATCH block
//!  names and types (207, 208 ..)   report; end the batch or procedure it is in, the caller goes on
//!  conversions, conflicts, THROW   report; roll back; end the whole batch
//!  XACT_ABORT ON                   likewise
//!  anything else                   report; go on with the next statement
//! ```

mod atomic;
mod bind_leaf;
mod class;
mod cursor;
mod execute;
mod message;
mod option;
mod other;
pub(crate) mod transaction;
mod wait;

use types::{Error, Msg, Value};

use crate::exec::eval;
use crate::exec::fault::Interruption;
use crate::exec::{Cx, StatementResult};
use crate::plan::program::{Branch, Leaf, Program, Step, StepKind};
use crate::plan::statement::{Bound, Scalar};
use crate::sink::{Command, Disconnected, Done, DoneKind};

pub(crate) use self::transaction as transactions;
pub use class::ErrorClass;
pub use cursor::Cursor;
pub(crate) use execute::{
    Argument, Invocation, convert_argument, invoke, resolve_procedure, text_type,
};

/// Nesting of procedures, functions and triggers: error 217 beyond it.
pub const NEST_LEVEL_MAX: u32 = 32;

/// Why a program stops before its end.
#[derive(Debug)]
pub enum Stop {
    /// An error that nobody has handled yet: on its way to a CATCH block or to its report.
    Error(Error),
    /// The same, raised by THROW: ends the batch even where the error alone would not.
    Thrown(Error),
    /// An error has been reported and ends the batch or procedure that it is in.
    Scope,
    /// An error has been reported and ends the whole batch.
    Batch,
    /// The client has cancelled the request.
    Cancelled,
    /// The client is gone.
    Disconnected,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Msg<'_>> for Stop {
    fn from(msg: Msg<'_>) -> Self {
        Self::Error(msg.into())
    }
}

impl From<Disconnected> for Stop {
    fn from(_: Disconnected) -> Self {
        Self::Disconnected
    }
}

/// Where control goes after a step.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// To the next step.
    Next,
    /// Behind the innermost loop.
    Break,
    /// To the condition of the innermost loop.
    Continue,
    /// Out of the batch or procedure, with this return status.
    Return(i32),
    /// To a label of an enclosing statement list.
    Goto(String),
}

/// The result of running steps.
pub type Run = Result<Outcome, Stop>;

/// Runs the steps of one program.
pub struct Runner<'p> {
    /// The program.
    pub program: &'p Program,
    /// Lines of the program count from here: a procedure's from its CREATE statement.
    pub procedure: &'p str,
}

impl Runner<'_> {
    /// Runs the whole program and returns its return status.
    ///
    /// # Errors
    /// [`Stop`], except for errors that were reported and end no more than their statement or, in a
    /// procedure, the procedure.
    pub fn run(&self, cx: &mut Cx<'_>) -> Result<i32, Stop> {
        match self.steps(&self.program.body, cx)? {
            Outcome::Return(status) => Ok(status),
            Outcome::Next | Outcome::Break | Outcome::Continue | Outcome::Goto(_) => Ok(0),
        }
    }

    fn steps(&self, steps: &[Step], cx: &mut Cx<'_>) -> Run {
        let mut at = 0;
        while let Some(step) = steps.get(at) {
            at += 1;
            if cx.session.cancel.is_set() {
                return Err(Stop::Cancelled);
            }
            match self.step(step, cx) {
                Ok(Outcome::Next) => {}
                Ok(Outcome::Goto(label)) => match find_label(steps, &label) {
                    Some(place) => {
                        // A backward GOTO is a loop.
                        sos::sched::yield_if_quantum_due();
                        at = place + 1;
                    }
                    None => return Ok(Outcome::Goto(label)),
                },
                Ok(elsewhere) => return Ok(elsewhere),
                Err(Stop::Error(error)) => self.handle(error, step, false, cx)?,
                Err(Stop::Thrown(error)) => self.handle(error, step, true, cx)?,
                Err(stop) => return Err(stop),
            }
        }
        Ok(Outcome::Next)
    }

    /// Passes an error to the TRY block around it, or reports it and says how much it ends.
    fn handle(&self, error: Error, step: &Step, thrown: bool, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let error = error.at_line(step.line).in_procedure(self.procedure);
        if cx.session.try_depth > 0 {
            return Err(if thrown { Stop::Thrown(error) } else { Stop::Error(error) });
        }
        let class = ErrorClass::of(&error);
        let fatal = thrown || cx.session.options.xact_abort || class >= ErrorClass::Batch;
        cx.session.last_error = error.number;
        cx.session.row_count = 0;
        if fatal {
            transactions::abort(cx)?;
        }
        cx.sink.message(&error)?;
        done(cx, Command::None, None, true)?;
        match (fatal, class) {
            (true, _) => Err(Stop::Batch),
            (false, ErrorClass::Scope) => Err(Stop::Scope),
            (false, _) => Ok(()),
        }
    }

    fn step(&self, step: &Step, cx: &mut Cx<'_>) -> Run {
        // GETDATE() is the same within a statement and moves on between statements.
        cx.now = None;
        cx.session.line = step.line;
        match &step.kind {
            StepKind::Block(body) => return self.steps(body, cx),
            StepKind::Atomic { options, body, commits_alone } => {
                return self.atomic(options, body, *commits_alone, cx);
            }
            StepKind::If(branches, otherwise) => return self.if_(branches, otherwise, cx),
            StepKind::While(condition, body) => return self.while_(condition, body, cx),
            StepKind::Break => return Ok(Outcome::Break),
            StepKind::Continue => return Ok(Outcome::Continue),
            StepKind::Goto(label) => return Ok(Outcome::Goto(label.clone())),
            StepKind::Label(_) | StepKind::Declare => return Ok(Outcome::Next),
            StepKind::TryCatch(body, catch) => return self.try_catch(body, catch, cx),
            StepKind::Return(value) => return self.return_(value.as_ref(), cx),
            StepKind::Assign(slot, leaf) => {
                let value = self.value(leaf, cx)?;
                cx.frame.variables[slot.0 as usize] = value;
                cx.session.row_count = 1;
            }
            StepKind::Data(leaf) => self.data(leaf, cx)?,
            StepKind::Print(leaf) => self.print(leaf, cx)?,
            StepKind::RaisError(raise) => self.raise_error(raise, cx)?,
            StepKind::Throw(operands) => return Err(self.throw(operands.as_deref(), cx)),
            StepKind::WaitFor(at_time, leaf) => self.wait_for(*at_time, leaf, cx)?,
            StepKind::Execute(execute) => self.execute(execute, cx)?,
            StepKind::ExecuteString(parts) => self.execute_string(parts, cx)?,
            StepKind::Cursor(cursor) => self.cursor(cursor, cx)?,
            StepKind::SetValue(option, leaf) => self.set_value(*option, leaf, cx)?,
            StepKind::Other(statement) => self.other(statement, cx)?,
        }
        if !matches!(step.kind, StepKind::RaisError(_)) {
            cx.session.last_error = 0;
        }
        Ok(Outcome::Next)
    }

    fn if_(&self, branches: &[Branch], otherwise: &[Step], cx: &mut Cx<'_>) -> Run {
        for branch in branches {
            let holds =
                self.condition(&branch.condition, cx).map_err(|stop| at_line(stop, branch.line))?;
            if holds {
                return self.steps(&branch.then, cx);
            }
        }
        self.steps(otherwise, cx)
    }

    fn while_(&self, condition: &Leaf, body: &[Step], cx: &mut Cx<'_>) -> Run {
        while self.condition(condition, cx)? {
            sos::sched::yield_if_quantum_due();
            match self.steps(body, cx)? {
                Outcome::Next | Outcome::Continue => {}
                Outcome::Break => break,
                elsewhere => return Ok(elsewhere),
            }
            if cx.session.cancel.is_set() {
                return Err(Stop::Cancelled);
            }
        }
        Ok(Outcome::Next)
    }

    fn try_catch(&self, body: &[Step], catch: &[Step], cx: &mut Cx<'_>) -> Run {
        cx.session.try_depth += 1;
        let outcome = self.steps(body, cx);
        cx.session.try_depth -= 1;
        let (error, thrown) = match outcome {
            Err(Stop::Error(error)) => (error, false),
            Err(Stop::Thrown(error)) => (error, true),
            other => return other,
        };
        let class = ErrorClass::of(&error);
        if class == ErrorClass::Connection {
            return Err(if thrown { Stop::Thrown(error) } else { Stop::Error(error) });
        }
        if cx.session.transaction.count > 0
            && (class == ErrorClass::Batch || cx.session.options.xact_abort)
        {
            cx.session.transaction.doomed = true;
        }
        cx.session.last_error = error.number;
        cx.session.handled_errors.push(error);
        let outcome = self.steps(catch, cx);
        cx.session.handled_errors.pop();
        if outcome.is_ok() {
            cx.session.last_error = 0;
        }
        outcome
    }

    fn return_(&self, value: Option<&Leaf>, cx: &mut Cx<'_>) -> Run {
        let Some(leaf) = value else { return Ok(Outcome::Return(0)) };
        match self.value(leaf, cx)? {
            Value::Int(status) => Ok(Outcome::Return(status)),
            _ => {
                let warning = Msg::NullReturnStatus(self.procedure).into();
                cx.sink.message(&warning)?;
                Ok(Outcome::Return(0))
            }
        }
    }

    /// Runs a data statement and tells the client what it did.
    fn data(&self, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<(), Stop> {
        transactions::begin_implicit(cx)?;
        let result = self.with_plan(leaf, cx, run_data)?;
        cx.session.row_count = result.rows;
        done(cx, result.command, Some(result.rows), false)?;
        Ok(())
    }

    /// Evaluates a leaf to a value.
    pub(crate) fn value(&self, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<Value, Stop> {
        self.with_plan(leaf, cx, |bound, cx| {
            let scalar = scalar(bound)?;
            cx.reserve(scalar.registers);
            Ok(eval::eval(&scalar.expr, cx)?)
        })
    }

    fn condition(&self, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<bool, Stop> {
        self.with_plan(leaf, cx, |bound, cx| {
            let scalar = scalar(bound)?;
            cx.reserve(scalar.registers);
            Ok(eval::truth(&scalar.expr, cx)?.is_true())
        })
    }
}

fn run_data(bound: &Bound, cx: &mut Cx<'_>) -> Result<StatementResult, Stop> {
    match crate::exec::run_bound(bound, cx) {
        Ok(result) => Ok(result),
        Err(error) => Err(match cx.interrupted.take() {
            Some(Interruption::Cancelled) => Stop::Cancelled,
            Some(Interruption::Disconnected) => Stop::Disconnected,
            None => Stop::Error(error),
        }),
    }
}

fn scalar(bound: &Bound) -> Result<&Scalar, Stop> {
    match bound {
        Bound::Scalar(scalar) => Ok(scalar),
        _ => Err(Msg::InternalError.into()),
    }
}

fn find_label(steps: &[Step], label: &str) -> Option<usize> {
    steps.iter().position(|s| matches!(&s.kind, StepKind::Label(found) if found == label))
}

fn at_line(stop: Stop, line: u32) -> Stop {
    match stop {
        Stop::Error(error) => Stop::Error(error.at_line(line)),
        Stop::Thrown(error) => Stop::Thrown(error.at_line(line)),
        other => other,
    }
}

/// Tells the client that a statement has ended. Under NOCOUNT nothing is said of statements that
/// return no rows, and no count of those that do.
pub(crate) fn done(
    cx: &mut Cx<'_>,
    command: Command,
    rows: Option<u64>,
    error: bool,
) -> Result<(), Disconnected> {
    let returns_rows = matches!(command, Command::Select | Command::Fetch);
    let rows = rows.filter(|_| !cx.session.options.no_count && command != Command::None);
    let kind = if cx.session.in_procedure() { DoneKind::InProcedure } else { DoneKind::Done };
    if rows.is_none() && !returns_rows && !error && kind == DoneKind::InProcedure {
        return Ok(());
    }
    cx.sink.done(Done { kind, command, rows, error, more: true })
}
