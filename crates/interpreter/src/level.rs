//! A nesting level: the state that a procedure or dynamic SQL has for itself, and its end.
//!
//! At its end, temporary tables and table variables are dropped, and SET options and the isolation
//! level are restored. An unresolved name ends the level only.

use types::{Error, Msg, Value};

use crate::{NEST_LEVEL_MAX, Runner, Stop, done, report, transactions};
use ::executor::{Cx, Frame, Host, Scratch};
use ::plan::program::Program;
use ::plan::sink::{Command, EnvChange, ResultSink};
use ::session::SessionState;

/// What a level is called from: a statement, or a request.
pub struct Caller<'c> {
    /// The layers above the executor.
    pub host: &'static dyn Host,
    /// The session that calls.
    pub session: &'c mut SessionState,
    /// Receives results and messages.
    pub sink: &'c mut dyn ResultSink,
    /// Registers and buffers of the calling statement; `None` for those that the session keeps
    /// between requests.
    pub buffers: Option<(&'c mut Vec<Value>, &'c mut Scratch)>,
}

impl<'c> Caller<'c> {
    /// Returns the caller for the statement that runs in this context.
    pub fn statement(cx: &'c mut Cx<'_>) -> Self {
        Self {
            host: cx.host,
            session: &mut *cx.session,
            sink: &mut *cx.sink,
            buffers: Some((&mut cx.registers, &mut cx.scratch)),
        }
    }

    /// Returns the caller for a request, which runs no statement yet.
    pub fn request(
        host: &'static dyn Host,
        session: &'c mut SessionState,
        sink: &'c mut dyn ResultSink,
    ) -> Self {
        Self { host, session, sink, buffers: None }
    }

    fn run(&mut self, program: &Program, procedure: &str, frame: &mut Frame) -> Result<i32, Stop> {
        let mut inner = Cx::new(self.host, self.session, frame, self.sink);
        match &mut self.buffers {
            Some((registers, scratch)) => inner.lend_buffers(registers, scratch),
            None => inner.take_buffers(),
        }
        let outcome = Runner { program, procedure }.run(&mut inner);
        match &mut self.buffers {
            Some((registers, scratch)) => inner.return_buffers(registers, scratch),
            None => inner.keep_buffers(),
        }
        outcome
    }

    /// Reports an error that ended the level, as [`report_scope`] does.
    #[cold]
    fn report(&mut self, error: Error) -> Result<i32, Stop> {
        let mut frame = Frame::default();
        report_scope(error, &mut Cx::new(self.host, self.session, &mut frame, self.sink))
    }
}

/// Runs a program one level deeper, in its own frame, and returns its return status.
///
/// # Errors
/// 217 for too deep nesting; [`Stop::Scope`] if an error that was reported ended the level; stops
/// that end the caller too.
pub fn enter(
    program: &Program,
    procedure: &str,
    frame: &mut Frame,
    caller: &mut Caller<'_>,
) -> Result<i32, Stop> {
    let session = &mut *caller.session;
    if session.request.nest_level >= NEST_LEVEL_MAX {
        frame.tables.release();
        return Err(Msg::NestingLevel(i64::from(NEST_LEVEL_MAX)).into());
    }
    session.request.nest_level += 1;
    session.accounting.meter.live().set_nest_level(session.request.nest_level);
    session.temp.open_scope();
    // The three options that procedures set. Others are saved when one is changed.
    let switches = (session.options.no_count, session.options.xact_abort, session.isolation);
    let saved = session.request.saved_options.take();
    // A USE in the text is undone at the end of the level.
    let outer =
        program.switches_database.then(|| std::sync::Arc::clone(&session.identity.database));
    let contexts = session.identity.enter_contexts();
    let outcome = caller.run(program, procedure, frame);
    let session = &mut *caller.session;
    session.identity.leave_contexts(contexts);
    if let Some(before) = session.request.saved_options.take() {
        session.options = *before;
    }
    session.request.saved_options = saved;
    if let Some(outer) = outer.filter(|outer| **outer != *session.identity.database) {
        let inner = session.enter_database(std::sync::Arc::clone(&outer));
        caller.sink.env_change(&EnvChange::Database { new: &outer, old: &inner })?;
    }
    let session = &mut *caller.session;
    (session.options.no_count, session.options.xact_abort, session.isolation) = switches;
    session.close_temp_scope();
    frame.tables.release();
    session.request.nest_level -= 1;
    session.accounting.meter.live().set_nest_level(session.request.nest_level);
    match outcome {
        Err(Stop::Unbound(error)) => caller.report(error),
        other => other,
    }
}

/// Passes an error that ended a level to the TRY block around the call, or reports it, after which
/// the caller continues.
pub fn report_scope(error: Error, cx: &mut Cx<'_>) -> Result<i32, Stop> {
    if cx.session.request.try_depth > 0 {
        return Err(Stop::Error(error));
    }
    cx.session.last.error = error.number;
    cx.session.last.row_count = 0;
    let fatal = cx.session.options.xact_abort;
    if fatal {
        transactions::abort(cx)?;
    }
    report(error.at_line(1), cx)?;
    done(cx, Command::NONE, None, true)?;
    Err(if fatal { Stop::Batch } else { Stop::Scope })
}
