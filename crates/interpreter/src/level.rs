//! A nesting level: the state that a procedure or dynamic SQL has for itself, and its end.
//!
//! At its end, temporary tables and table variables are dropped, and SET options and the isolation
//! level are restored. An unresolved name ends the level only.

use types::{Error, Msg};

use crate::{NEST_LEVEL_MAX, Runner, Stop, done, report, transactions};
use ::executor::{Cx, Frame};
use ::plan::program::Program;
use ::plan::sink::{Command, EnvChange};

/// Runs a program one level deeper, in its own frame, and returns its return status.
///
/// # Errors
/// 217 for too deep nesting; [`Stop::Scope`] if an error that was reported ended the level; stops
/// that end the caller too.
pub fn enter(
    program: &Program,
    procedure: &str,
    frame: &mut Frame,
    cx: &mut Cx<'_>,
) -> Result<i32, Stop> {
    if cx.session.request.nest_level >= NEST_LEVEL_MAX {
        frame.tables.release();
        return Err(Msg::NestingLevel(i64::from(NEST_LEVEL_MAX)).into());
    }
    let session = &mut *cx.session;
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
    let outcome = {
        let mut inner = Cx::new(cx.host, session, frame, cx.sink);
        inner.lend_buffers(&mut cx.registers, &mut cx.scratch);
        let outcome = Runner { program, procedure }.run(&mut inner);
        inner.return_buffers(&mut cx.registers, &mut cx.scratch);
        outcome
    };
    let session = &mut *cx.session;
    session.identity.leave_contexts(contexts);
    if let Some(before) = session.request.saved_options.take() {
        session.options = *before;
    }
    session.request.saved_options = saved;
    if let Some(outer) = outer.filter(|outer| **outer != *session.identity.database) {
        let inner = session.enter_database(std::sync::Arc::clone(&outer));
        cx.sink.env_change(&EnvChange::Database { new: &outer, old: &inner })?;
    }
    let session = &mut *cx.session;
    (session.options.no_count, session.options.xact_abort, session.isolation) = switches;
    session.close_temp_scope();
    frame.tables.release();
    session.request.nest_level -= 1;
    session.accounting.meter.live().set_nest_level(session.request.nest_level);
    match outcome {
        Err(Stop::Unbound(error)) => report_scope(error, cx),
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
