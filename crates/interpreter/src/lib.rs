//! Runs programs: control flow, errors and their scopes, and statements that are bound when they
//! run.
//!
//! An error ends its statement. What happens next depends on the error and its place:
//!
//! ```text
//!  names and types (207, 208 ..)   end the batch or procedure, even inside TRY; a TRY around
//!                                  the call catches it, otherwise it is reported and the
//!                                  caller continues
//!  inside TRY                      continue in the CATCH block
//!  conversions, conflicts, THROW   report; roll back; end the whole batch
//!  XACT_ABORT ON                   the same
//!  all others                      report; continue with the next statement
//! ```
//!
//! - this file has [`Runner`], which runs the steps of a program; `execute.rs` calls procedures and
//!   dynamic SQL;
//! - `function.rs`, `trigger_body.rs` and `definition_trigger.rs` run the bodies of functions and
//!   triggers;
//! - `insert_bulk/`, `bulk_insert.rs`, `into.rs`, `export.rs` and `table_parameter.rs` store rows
//!   that come from other sources;
//! - `backup/` copies a database to a file and back;
//! - `observe.rs` and `show_plans.rs` send plans and counts to a session that asked for them.
//!
//! Does not know requests and connections, and calls system procedures through `executor::Host`
//! only. Start at [`Runner::run`].
#![forbid(unsafe_code)]

pub mod atomic;
mod backup;
mod bind_leaf;
pub mod bulk_insert;
pub mod capture;
pub mod compile;
pub mod cursor;
pub mod definition_trigger;
mod execute;
mod execute_as;
mod export;
pub mod function;
pub mod insert_bulk;
mod insert_execute;
pub mod into;
mod kill;
mod level;
mod message;
pub mod observe;
pub mod option;
pub mod parameter_default;
mod read_text;
mod result_sets;
mod show_plans;
mod shutdown;
pub mod table_parameter;
pub mod trigger_body;
mod utility;
mod wait;

use ::compile::positioned;
use types::value::ColumnType;
use types::{Error, Msg, Value};

use ::catalog::security;
use ::executor::eval;
use ::executor::fault::Interruption;
use ::executor::{Cx, StatementResult};
use ::plan::depth;
use ::plan::program::{Branch, Counted, Leaf, LeafAst, Program, RunHints, Step, StepKind};
use ::plan::query::Node;
use ::plan::sink::{Command, Disconnected, Done, DoneKind};
use ::plan::statement::{Bound, Scalar};
use ::plan::stats::{Cost, Failure, StatementPlace};
use ::session::event::context::follows_statements;
use ::session::event::emit;
use ::session::event::emit::error::Receiver;

pub use ::executor::transactions;
pub use ::session::argument::{Argument, TableArgument};
pub use ::session::cursor::Cursor;
pub use ::session::stop::{ErrorClass, Outcome, Run, Stop};
pub use cursor::Capture;
pub use execute::{
    Invocation, as_declared, check_call, check_execute, check_local, convert_argument,
    find_parameter, invoke, not_found, procedure_missing, resolve_procedure, synonym_target,
};
pub use level::{Caller, enter, report_scope};
pub use utility::interrupted;

/// Deepest nesting of procedures, functions and triggers: error 217 beyond.
pub const NEST_LEVEL_MAX: u32 = 32;

/// Number of the message that follows the error of an undone statement.
const STATEMENT_TERMINATED: i32 = 3621;

/// Returns true if an error names a missing VIEW STATE permission; such an error never comes alone.
fn is_of_state(error: &Error) -> bool {
    const OF_SERVER: i32 = 300;
    const OF_DATABASE: i32 = 262;
    error.number == OF_SERVER
        || (error.number == OF_DATABASE && error.message.starts_with(security::VIEW_STATE))
}

/// Reports an error that has undone a bulk load, in the same way as for a statement that changes
/// rows.
pub fn load_failed(error: Error, cx: &mut Cx<'_>) -> Stop {
    /// Errors about the load itself, which are raised before it starts.
    const OF_LOAD: std::ops::Range<i32> = 4800..4900;
    let is_of_rows = class_of(&error, cx) == ErrorClass::Statement;
    if !is_of_rows || OF_LOAD.contains(&error.number) || cx.session.options.xact_abort {
        return Stop::Error(error);
    }
    cx.session.last.error = error.number;
    cx.session.last.row_count = 0;
    emit::error::reported(cx.session, &error, Receiver::Client);
    let undone = Error::custom(STATEMENT_TERMINATED, 0, 0, "The statement has been terminated.");
    let told =
        [error, undone].into_iter().try_for_each(|message| cx.sink.message(&message.at_line(1)));
    match told.and_then(|()| done(cx, Command::NONE, None, true)) {
        Ok(()) => Stop::Batch,
        Err(disconnected) => disconnected.into(),
    }
}

/// Runs the steps of one program.
pub struct Runner<'p> {
    /// The program whose steps are run.
    pub program: &'p Program,
    /// Name of the module, for errors; line numbers count from its CREATE statement.
    pub procedure: &'p str,
}

impl Runner<'_> {
    /// Runs the whole program and returns its return status.
    ///
    /// # Errors
    /// A [`Stop`], except for errors that were reported and end only their statement, or only the
    /// procedure.
    pub fn run(&self, cx: &mut Cx<'_>) -> Result<i32, Stop> {
        self.compile(cx)?;
        if cx.session.options.explain.is_any()
            && let Some(shown) = self.run_explained(cx)
        {
            return shown;
        }
        let outer = cx.session.accounting.meter.enter(self.program);
        let outcome = self.steps(&self.program.body, cx);
        cx.session.accounting.meter.leave(self.program, outer);
        match outcome? {
            Outcome::Return(status) => Ok(status),
            Outcome::Next | Outcome::Break | Outcome::Continue | Outcome::Goto(_) => Ok(0),
        }
    }

    /// Returns the place of a label, if it is in this list of steps.
    fn find_label(&self, steps: &[Step], label: &str) -> Option<usize> {
        let place = *self.program.labels.get(label)?;
        let is_it = |kind: &StepKind| matches!(kind, StepKind::Label(found) if found == label);
        steps.get(place).is_some_and(|step| is_it(&step.kind)).then_some(place)
    }

    fn steps(&self, steps: &[Step], cx: &mut Cx<'_>) -> Run {
        depth::descend()?;
        let mut at = 0;
        while let Some(step) = steps.get(at) {
            at += 1;
            if cx.session.connection.cancel.is_set() {
                return Err(Stop::Cancelled);
            }
            let ran = match follows_statements() {
                false => self.step(step, cx),
                true => self.step_followed(step, cx),
            };
            match ran {
                Ok(Outcome::Next) => {}
                Ok(Outcome::Goto(label)) => match self.find_label(steps, &label) {
                    Some(place) => {
                        // A backward GOTO is a loop, so the quantum is checked.
                        sos::sched::yield_if_quantum_due();
                        at = place + 1;
                    }
                    None => return Ok(Outcome::Goto(label)),
                },
                Ok(elsewhere) => return Ok(elsewhere),
                Err(stop) => self.stopped(stop, step, cx)?,
            }
        }
        Ok(Outcome::Next)
    }

    /// Handles the failure of a step; `Err` if the steps after it do not run.
    #[cold]
    fn stopped(&self, stop: Stop, step: &Step, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let meter = &mut cx.session.accounting.meter;
        match &stop {
            Stop::Cancelled | Stop::Disconnected => meter.failed(Failure::Aborted),
            Stop::Error(_) | Stop::Thrown(_) => meter.failed(Failure::Exception),
            Stop::Unbound(_) | Stop::Batch | Stop::Scope => {}
        }
        match stop {
            Stop::Error(error) => self.handle(error, step, false, cx),
            Stop::Thrown(error) => self.handle(error, step, true, cx),
            Stop::Unbound(error) => Err(Stop::Unbound(self.placed(error, step))),
            Stop::Cancelled | Stop::Disconnected | Stop::Batch | Stop::Scope => Err(stop),
        }
    }

    /// Passes an error to the TRY block around it, or reports it and returns how much it ends.
    fn handle(&self, error: Error, step: &Step, thrown: bool, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let error = self.placed(error, step);
        if is_of_state(&error) {
            return self.refuse(&error, step, cx);
        }
        if cx.session.request.try_depth > 0 {
            caught(step, cx)?;
            return Err(if thrown { Stop::Thrown(error) } else { Stop::Error(error) });
        }
        let class = class_of(&error, cx);
        let fatal = thrown || cx.session.options.xact_abort || class >= ErrorClass::Batch;
        cx.session.last.error = error.number;
        cx.session.last.row_count = 0;
        if fatal {
            transactions::abort(cx)?;
        }
        report(error.clone(), cx)?;
        if !fatal && class == ErrorClass::Statement && changes_rows(&step.kind) {
            let text = "The statement has been terminated.";
            let undone = Error::custom(STATEMENT_TERMINATED, 0, 0, text);
            cx.sink.message(&undone.at_line(error.line).in_procedure(&error.procedure))?;
        }
        done(cx, step.kind.command(), None, true)?;
        match (fatal, class) {
            (true, _) => Err(Stop::Batch),
            (false, ErrorClass::Scope) => Err(Stop::Scope),
            // An atomic block is the whole body of its procedure.
            (false, _) if matches!(step.kind, StepKind::Atomic { .. }) => Err(Stop::Scope),
            (false, _) => Ok(()),
        }
    }

    /// Reports a missing server permission by name, then the error that refuses the action.
    fn refuse(&self, named: &Error, step: &Step, cx: &mut Cx<'_>) -> Result<(), Stop> {
        if cx.session.request.try_depth == 0 {
            emit::error::reported(cx.session, named, Receiver::Client);
            cx.sink.message(named)?;
        }
        let refused = Error::from(Msg::NoPermission).at_line(named.line);
        self.handle(refused.in_procedure(&named.procedure), step, false, cx)
    }

    pub(crate) fn at_line(&self, stop: Stop, line: u32) -> Stop {
        let placed = |error: Error| error.at_line(line).in_procedure(self.procedure);
        match stop {
            Stop::Error(error) => Stop::Error(placed(error)),
            Stop::Thrown(error) => Stop::Thrown(placed(error)),
            Stop::Unbound(error) => Stop::Unbound(placed(error)),
            other => other,
        }
    }

    /// Adds line and procedure to an error, unless it has them.
    fn placed(&self, error: Error, step: &Step) -> Error {
        if error.line != 0 {
            return error;
        }
        error.at_line(step.line).in_procedure(self.procedure)
    }

    /// Runs a step, and emits the events of its start and end.
    #[cold]
    fn step_followed(&self, step: &Step, cx: &mut Cx<'_>) -> Run {
        // IF and WHILE have no events; the statements of their bodies do.
        if matches!(step.kind.counted(), Counted::Not) {
            return self.step(step, cx);
        }
        let program = (self.program, self.procedure);
        let followed = emit::statement::starting(cx.session, program, step);
        let ran = self.step(step, cx);
        emit::statement::completed(cx.session, self.program, step, &followed);
        ran
    }

    fn step(&self, step: &Step, cx: &mut Cx<'_>) -> Run {
        if cx.session.options.skips_statements() && !changes_options(&step.kind) {
            return Ok(Outcome::Next);
        }
        // GETDATE() is constant within a statement and advances between statements.
        cx.now = None;
        cx.session.request.line = step.line;
        self.start(step.place, step.kind.counted(), cx);
        match &step.kind {
            StepKind::Block(body) => return self.steps(body, cx),
            StepKind::Atomic { settings, body, commits_alone } => {
                return self.atomic(settings, body, *commits_alone, cx);
            }
            StepKind::If(branches, otherwise) => return self.if_(branches, otherwise, cx),
            StepKind::While(condition, body) => return self.while_(step, condition, body, cx),
            StepKind::Break => return Ok(Outcome::Break),
            StepKind::Continue => return Ok(Outcome::Continue),
            StepKind::Goto(label) => return Ok(Outcome::Goto(label.clone())),
            StepKind::Label(_) | StepKind::Declare => return Ok(Outcome::Next),
            StepKind::TryCatch(body, catch) => return self.try_catch(body, catch, cx),
            StepKind::Return(value) => return self.return_(value.as_ref(), cx),
            StepKind::ReturnValue(leaf) => {
                cx.frame.result = self.value(leaf, cx)?;
                return Ok(Outcome::Return(0));
            }
            StepKind::Assign(slot, leaf) => {
                let value = if cx.session.options.explain.is_any() {
                    self.scalar_observed(cx, |cx| self.value(leaf, cx))?
                } else {
                    self.value(leaf, cx)?
                };
                cx.frame.variables[slot.0 as usize] = value;
                cx.session.last.row_count = 1;
                assigned(cx)?;
            }
            StepKind::Data(leaf) => self.data(step, leaf, cx)?,
            StepKind::Print(leaf) => self.print(leaf, cx)?,
            StepKind::RaisError(raise) => self.raise_error(raise, cx)?,
            StepKind::Throw(operands) => return Err(self.throw(operands.as_deref(), cx)),
            StepKind::WaitFor(at_time, leaf) => self.wait_for(*at_time, leaf, cx)?,
            // @@ERROR and @@ROWCOUNT after a call are those of its last statement.
            StepKind::Execute(execute) => {
                match &execute.result_sets {
                    None => self.execute(execute, cx)?,
                    Some(sets) => result_sets::run(sets, cx, |cx| self.execute(execute, cx))?,
                }
                return Ok(Outcome::Next);
            }
            StepKind::ExecuteString(parts) => {
                match &parts.result_sets {
                    None => self.execute_string(parts, cx)?,
                    Some(sets) => result_sets::run(sets, cx, |cx| self.execute_string(parts, cx))?,
                }
                return Ok(Outcome::Next);
            }
            StepKind::InsertExecute(insert) => self.insert_execute(step, insert, cx)?,
            StepKind::Cursor(cursor) => self.cursor(cursor, cx)?,
            StepKind::SetValue(option, leaf) => {
                self.set_value(*option, leaf, cx)?;
                ended(cx, Command::SET, None)?;
            }
            StepKind::Other(statement) => self.other(statement, cx)?,
        }
        if !matches!(step.kind, StepKind::RaisError(_)) {
            cx.session.last.error = 0;
        }
        Ok(Outcome::Next)
    }

    /// Starts the time and counts of a statement.
    #[inline]
    fn start(&self, place: StatementPlace, counted: Counted<'_>, cx: &mut Cx<'_>) {
        let cost = || match counted {
            Counted::ByPlan(leaf) => leaf.cost.get().copied().unwrap_or(Cost::Any),
            Counted::Cheap => Cost::Cheap,
            Counted::Not | Counted::Dear => Cost::Any,
        };
        if !matches!(counted, Counted::Not) {
            let is_alone = self.program.statements == 1;
            cx.session.accounting.meter.start(self.program.statement_id(place), is_alone, cost);
        }
    }

    fn if_(&self, branches: &[Branch], otherwise: &[Step], cx: &mut Cx<'_>) -> Run {
        for branch in branches {
            self.start(branch.place, Counted::ByPlan(&branch.condition), cx);
            let holds = self
                .condition(&branch.condition, cx)
                .map_err(|stop| self.at_line(stop, branch.line))?;
            forget_last(cx);
            if holds {
                return self.steps(&branch.then, cx);
            }
        }
        self.steps(otherwise, cx)
    }

    fn while_(&self, step: &Step, condition: &Leaf, body: &[Step], cx: &mut Cx<'_>) -> Run {
        cx.frame.loops += 1;
        let ran = self.rounds(step, condition, body, cx);
        cx.frame.loops -= 1;
        ran
    }

    fn rounds(&self, step: &Step, condition: &Leaf, body: &[Step], cx: &mut Cx<'_>) -> Run {
        while self.holds(step, condition, cx)? {
            forget_last(cx);
            sos::sched::yield_if_quantum_due();
            match self.steps(body, cx)? {
                Outcome::Next | Outcome::Continue => {}
                Outcome::Break => break,
                elsewhere => return Ok(elsewhere),
            }
            if cx.session.connection.cancel.is_set() {
                return Err(Stop::Cancelled);
            }
        }
        Ok(Outcome::Next)
    }

    fn holds(&self, step: &Step, condition: &Leaf, cx: &mut Cx<'_>) -> Result<bool, Stop> {
        self.start(step.place, Counted::ByPlan(condition), cx);
        self.condition(condition, cx)
    }

    fn try_catch(&self, body: &[Step], catch: &[Step], cx: &mut Cx<'_>) -> Run {
        cx.session.request.try_depth += 1;
        let outcome = self.steps(body, cx);
        cx.session.request.try_depth -= 1;
        let error = match outcome {
            Err(Stop::Error(error) | Stop::Thrown(error)) if error.severity < 20 => error,
            other => return other,
        };
        let class = class_of(&error, cx);
        if cx.session.transaction.count > 0
            && (class == ErrorClass::Batch || cx.session.options.xact_abort)
        {
            cx.session.transaction.doomed = true;
        }
        cx.session.last.error = error.number;
        emit::error::reported(cx.session, &error, Receiver::Catch);
        cx.session.request.handled_errors.push(error);
        let outcome = self.steps(catch, cx);
        cx.session.request.handled_errors.pop();
        if outcome.is_ok() {
            cx.session.last.error = 0;
        }
        outcome
    }

    fn return_(&self, value: Option<&Leaf>, cx: &mut Cx<'_>) -> Run {
        let Some(leaf) = value else { return Ok(Outcome::Return(0)) };
        match self.value(leaf, cx)? {
            Value::Int(status) => Ok(Outcome::Return(status)),
            _ => {
                let warning = Error::from(Msg::NullReturnStatus(self.procedure));
                let line = cx.session.request.line;
                cx.sink.message(&warning.at_line(line).in_procedure(self.procedure))?;
                Ok(Outcome::Return(0))
            }
        }
    }

    /// Runs a data statement and sends its DONE.
    fn data(&self, step: &Step, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<(), Stop> {
        if cx.session.options.format_only {
            return self.describe(leaf, cx);
        }
        if cx.session.options.explain.is_any()
            || emit::statement::wants_plans()
            || observe::profiles_statements(cx.session)
            || leaf.is_profiled
        {
            return self.data_observed(step, leaf, cx);
        }
        let (result, returned) = match positioned::is_positioned(leaf) {
            true => self.positioned(leaf, cx)?,
            false => self.data_admitted(leaf, cx)?,
        };
        self.data_done(step, result, returned, cx)
    }

    /// Sends the DONE of a data statement.
    pub fn data_done(
        &self,
        step: &Step,
        result: StatementResult,
        returned: bool,
        cx: &mut Cx<'_>,
    ) -> Result<(), Stop> {
        cx.session.accounting.meter.rows(self.program.statement_id(step.place), result.rows);
        cx.session.last.row_count = result.rows;
        let quiet = cx.session.options.no_count;
        let kind = done_kind(cx);
        if quiet && !returned && kind == DoneKind::InProcedure {
            return Ok(());
        }
        let rows = Some(result.rows).filter(|_| !quiet);
        let command = result.command;
        Ok(cx.sink.done(Done { kind, command, rows, error: false, more: true })?)
    }

    /// Runs a data statement. If a table is being redefined, waits for that and runs it again.
    fn data_admitted(&self, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<(StatementResult, bool), Stop> {
        loop {
            cx.fault = None;
            cx.parallel.hints = leaf.run_hints();
            let (done, returns) = self.with_plan(leaf, cx, |bound, cx| {
                leaf.count_uses(bound, cx.session.accounting.meter.begun_ticks());
                Ok((self.run_watched(bound, leaf, cx), returns_rows(bound)))
            })?;
            cx.parallel.hints = RunHints::default();
            let stop = match done {
                Ok(result) => return Ok((result, returns)),
                Err(stop) => stop,
            };
            self.admit(stop, returns, cx)?;
        }
    }

    /// Runs a data statement; if it creates a table, fires the DDL triggers for that event.
    pub fn run_watched(
        &self,
        bound: &Bound,
        leaf: &Leaf,
        cx: &mut Cx<'_>,
    ) -> Result<StatementResult, Stop> {
        let (Bound::SelectInto(_), LeafAst::Statement(statement)) = (bound, &leaf.ast) else {
            return run_data(bound, cx);
        };
        let watched = definition_trigger::watched(statement, cx);
        if watched.is_empty() {
            return run_data(bound, cx);
        }
        cx.statement_text = statement.span.text(&self.program.source).to_owned();
        let begun = definition_trigger::begin(cx);
        let result = match run_data(bound, cx) {
            Ok(result) => result,
            Err(stop) => {
                definition_trigger::give_up(begun, cx);
                return Err(stop);
            }
        };
        definition_trigger::fire(&watched, begun, cx)?;
        cx.session.refresh_catalog();
        Ok(result)
    }

    /// Waits until the table that stopped a statement has been redefined. Returns any other stop.
    pub fn admit(&self, stop: Stop, returns: bool, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let Some(storage::Error::Closed(table)) = cx.fault.take() else { return Err(stop) };
        // The client has got the columns, perhaps rows: the statement can't be repeated.
        if returns {
            return Err(stop);
        }
        cx.session.wait_for_definition(table).map_err(|error| self.failed_wait(error, cx))
    }

    /// Converts the error of waiting for a redefinition.
    fn failed_wait(&self, error: storage::Error, cx: &mut Cx<'_>) -> Stop {
        if error == storage::Error::Deadlock && cx.session.transaction.count > 0 {
            cx.session.transaction.doomed = true;
        }
        let error = ::executor::fault::raise(cx, error);
        match cx.interrupted.take() {
            Some(Interruption::Cancelled) => Stop::Cancelled,
            Some(Interruption::Disconnected) => Stop::Disconnected,
            Some(Interruption::Reported) | None => Stop::Error(error),
        }
    }

    /// With FMTONLY, a query returns its columns and no rows, and no statement changes anything.
    fn describe(&self, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<(), Stop> {
        self.with_plan(leaf, cx, |bound, cx| {
            let Bound::Select(select) = bound else { return Ok(()) };
            cx.sink.columns(&select.shape)?;
            if let Some(browse) = &select.browse {
                cx.sink.browse(&browse.tables, &browse.columns)?;
            }
            Ok(done(cx, Command::SELECT, Some(0), false)?)
        })
    }

    /// Evaluates a leaf and returns its value.
    pub fn value(&self, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<Value, Stop> {
        self.typed_value(leaf, cx).map(|(value, _)| value)
    }

    /// Evaluates a leaf and returns its value and type, both from the plan that was run: the plan
    /// need not stay in the leaf.
    pub(crate) fn typed_value(
        &self,
        leaf: &Leaf,
        cx: &mut Cx<'_>,
    ) -> Result<(Value, ColumnType), Stop> {
        self.with_plan(leaf, cx, |bound, cx| {
            leaf.count_uses(bound, cx.session.accounting.meter.begun_ticks());
            let scalar = scalar(bound)?;
            cx.reserve(scalar.registers);
            cx.kept.clear();
            Ok((eval::eval(&scalar.expr, cx)?, scalar.expr.ty))
        })
    }

    fn condition(&self, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<bool, Stop> {
        if cx.session.options.explain.is_any() {
            return self.scalar_observed(cx, |cx| self.condition(leaf, cx));
        }
        self.with_plan(leaf, cx, |bound, cx| {
            leaf.count_uses(bound, cx.session.accounting.meter.begun_ticks());
            let scalar = scalar(bound)?;
            cx.reserve(scalar.registers);
            cx.kept.clear();
            let holds = eval::truth(&scalar.expr, cx)?.is_true();
            ::executor::arithmetic::report(cx)?;
            Ok(holds)
        })
    }
}

/// Sends an error to the client, after the errors that were found with it.
pub fn report(mut error: Error, cx: &mut Cx<'_>) -> Result<(), Stop> {
    for earlier in error.take_earlier().iter().chain([&error]) {
        emit::error::reported(cx.session, earlier, Receiver::Client);
        cx.sink.message(earlier)?;
    }
    Ok(())
}

/// Classifies an error, with regard to the session's options for arithmetic.
fn class_of(error: &Error, cx: &Cx<'_>) -> ErrorClass {
    match ErrorClass::of(error) {
        ErrorClass::Statement if ::executor::arithmetic::ends_batch(error, cx) => ErrorClass::Batch,
        class => class,
    }
}

/// Returns true if a step changes rows, so that its failure undoes something.
fn changes_rows(kind: &StepKind) -> bool {
    match kind {
        StepKind::Data(Leaf { ast: LeafAst::Statement(statement), .. }) => {
            !matches!(statement.kind, tsql::ast::StatementKind::Select(_))
        }
        StepKind::InsertExecute(_) => true,
        _ => false,
    }
}

/// Returns true for statements that run even with NOEXEC or PARSEONLY.
fn changes_options(kind: &StepKind) -> bool {
    match kind {
        StepKind::Other(statement) => {
            matches!(statement.kind, tsql::ast::StatementKind::SetOption(_))
        }
        _ => false,
    }
}

/// Resets @@ERROR and @@ROWCOUNT, as IF and WHILE do after evaluating their condition.
fn forget_last(cx: &mut Cx<'_>) {
    cx.session.last.error = 0;
    cx.session.last.row_count = 0;
}

pub(crate) fn run_data(bound: &Bound, cx: &mut Cx<'_>) -> Result<StatementResult, Stop> {
    if reads_or_writes(bound) {
        transactions::begin_implicit(cx)?;
    }
    if cx.session.transaction.doomed && !matches!(bound, Bound::Select(_) | Bound::SelectAssign(_))
    {
        return Err(Msg::TransactionDoomed.into());
    }
    match ::executor::run_bound(bound, cx) {
        Ok(result) => Ok(result),
        Err(error) => Err(match ::executor::fault::interruption(&error, cx) {
            Some(Interruption::Cancelled) => Stop::Cancelled,
            Some(Interruption::Disconnected) => Stop::Disconnected,
            Some(Interruption::Reported) => {
                transactions::abort(cx)?;
                Stop::Batch
            }
            None => Stop::Error(error),
        }),
    }
}

/// Returns true if a statement has a result set, which needs a DONE even with NOCOUNT.
pub fn returns_rows(bound: &Bound) -> bool {
    matches!(bound, Bound::Select(_)) || bound.client_shape().is_some()
}

/// Returns true if a statement begins a transaction under IMPLICIT_TRANSACTIONS: one that accesses
/// a table.
fn reads_or_writes(bound: &Bound) -> bool {
    match bound {
        Bound::Select(select) => !matches!(select.query.root, Node::OneRow),
        Bound::SelectAssign(select) => !matches!(select.root, Node::OneRow),
        Bound::Scalar(_) => false,
        Bound::SelectInto(_)
        | Bound::Insert(_)
        | Bound::Update(_)
        | Bound::Delete(_)
        | Bound::Instead(_)
        | Bound::Merge(_)
        | Bound::Truncate(_) => true,
    }
}

fn scalar(bound: &Bound) -> Result<&Scalar, Stop> {
    match bound {
        Bound::Scalar(scalar) => Ok(scalar),
        _ => Err(Msg::InternalError.into()),
    }
}

fn done_kind(cx: &Cx<'_>) -> DoneKind {
    if cx.session.request.in_procedure() { DoneKind::InProcedure } else { DoneKind::Done }
}

/// Sends the DONE of a result set or of a failed statement. With NOCOUNT it has no row count.
pub fn done(
    cx: &mut Cx<'_>,
    command: Command,
    rows: Option<u64>,
    error: bool,
) -> Result<(), Disconnected> {
    let rows = rows.filter(|_| !cx.session.options.no_count);
    let kind = done_kind(cx);
    cx.sink.done(Done { kind, command, rows, error, more: true })
}

/// Sends the DONE of a statement without result set. Every statement but DECLARE without a value
/// has one (\[MS-TDS\] 2.2.7.6). With NOCOUNT, procedures send none, and batches one without a row
/// count.
pub fn ended(cx: &mut Cx<'_>, command: Command, rows: Option<u64>) -> Result<(), Disconnected> {
    let quiet = cx.session.options.no_count;
    let kind = done_kind(cx);
    if quiet && kind == DoneKind::InProcedure {
        return Ok(());
    }
    let rows = rows.filter(|_| !quiet);
    cx.sink.done(Done { kind, command, rows, error: false, more: true })
}

/// Sends the DONE of an assignment, except in a loop, which would flood the client:
/// docs/decisions/0215.
fn assigned(cx: &mut Cx<'_>) -> Result<(), Disconnected> {
    match cx.frame.loops {
        0 => ended(cx, Command::SELECT, Some(1)),
        _ => Ok(()),
    }
}

/// Sends the DONE, with 0 rows, of a data statement whose error goes to a CATCH block, so that the
/// client sees the end of its result set.
fn caught(step: &Step, cx: &mut Cx<'_>) -> Result<(), Disconnected> {
    let command = step.kind.command();
    match &step.kind {
        StepKind::Data(_) if command == Command::SELECT => done(cx, command, Some(0), false),
        StepKind::Data(_) | StepKind::InsertExecute(_) => ended(cx, command, Some(0)),
        _ => Ok(()),
    }
}
