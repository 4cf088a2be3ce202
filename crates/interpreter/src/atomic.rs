//! BEGIN ATOMIC: all or nothing. Outside a transaction the block is a transaction; inside, a
//! savepoint.
//!
//! A write-write conflict in a block that is its own transaction is handled here: none of its
//! effects is visible yet, so the block runs again, unless the client has got a result set, a
//! message of it. Inside the caller's transaction the conflict dooms that transaction (41302), since
//! only the caller can repeat its reads.

use std::time::Duration;

use sos::park;
use sos::wait::WaitType;
use types::{Msg, Value};

use crate::{ErrorClass, Outcome, Run, Runner, Stop, transactions};
use ::executor::Cx;
use ::plan::program::{AtomicSettings, Step};

/// Most attempts of a block before the client gets the conflict.
const ATTEMPTS_MAX: u32 = 1000;
/// Attempts without a pause; later ones wait in between.
const ATTEMPTS_AT_ONCE: u32 = 8;
/// Pause between two attempts.
const RETRY_DELAY: Duration = Duration::from_micros(200);

impl Runner<'_> {
    pub(crate) fn atomic(
        &self,
        settings: &AtomicSettings,
        body: &[Step],
        commits_alone: bool,
        cx: &mut Cx<'_>,
    ) -> Run {
        let before = std::mem::replace(&mut cx.session.isolation, settings.isolation);
        let dates = &mut cx.session.options;
        let date_first = std::mem::replace(&mut dates.date_first, settings.date_first);
        let date_format = std::mem::replace(&mut dates.date_format, settings.date_format);
        let language = std::mem::replace(&mut dates.language, settings.language);
        // SET options of atomic blocks are fixed, and NOCOUNT is ON ("Atomic Blocks in Native
        // Procedures").
        let no_count = std::mem::replace(&mut cx.session.options.no_count, true);
        // In the caller's transaction the caller's COMMIT decides.
        let is_delayed = settings.is_delayed;
        let outcome = if cx.session.transaction.count > 0 {
            self.atomic_in_transaction(body, cx)
        } else if commits_alone {
            self.one_statement(body, is_delayed, cx)
        } else {
            self.atomic_alone(body, is_delayed, cx)
        };
        cx.session.options.no_count = no_count;
        cx.session.options.date_first = date_first;
        cx.session.options.date_format = date_format;
        cx.session.options.language = language;
        cx.session.isolation = before;
        outcome
    }

    /// Runs a block of one data statement, which is atomic by itself. An error leaves the block as
    /// usual.
    fn one_statement(&self, body: &[Step], is_delayed: bool, cx: &mut Cx<'_>) -> Run {
        let try_depth = std::mem::replace(&mut cx.session.request.try_depth, 1);
        cx.session.transaction.is_delayed = is_delayed;
        let outcome = self.steps(body, cx);
        cx.session.transaction.is_delayed = false;
        cx.session.request.try_depth = try_depth;
        outcome
    }

    fn atomic_alone(&self, body: &[Step], is_delayed: bool, cx: &mut Cx<'_>) -> Run {
        let mut parameters = std::mem::take(&mut cx.session.caches.scratch.parameters);
        parameters.clear();
        parameters.extend_from_slice(&cx.frame.variables[..self.program.parameters]);
        let outcome = self.attempts(body, (is_delayed, &parameters), cx);
        cx.session.caches.scratch.parameters = parameters;
        outcome
    }

    fn attempts(
        &self,
        body: &[Step],
        (is_delayed, parameters): (bool, &[Value]),
        cx: &mut Cx<'_>,
    ) -> Run {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let sent_before = cx.sink.sent();
            match self.attempt(body, is_delayed, cx) {
                Err(Stop::Error(error))
                    if error.number == 41302
                        && attempt < ATTEMPTS_MAX
                        && sent_before.is_some()
                        && cx.sink.sent() == sent_before =>
                {
                    let after = cx.frame.variables.split_at_mut(parameters.len());
                    after.0.clone_from_slice(parameters);
                    after.1.fill(Value::Null);
                    cx.frame.renew_tables(cx.session, self.program)?;
                    if attempt > ATTEMPTS_AT_ONCE {
                        let cancel = std::sync::Arc::clone(&cx.session.connection.cancel);
                        park::sleep(RETRY_DELAY, WaitType::LockExclusive, Some(&cancel));
                    }
                }
                other => return other,
            }
        }
    }

    fn attempt(&self, body: &[Step], is_delayed: bool, cx: &mut Cx<'_>) -> Run {
        transactions::begin_quiet(cx.session, is_delayed);
        let try_depth = std::mem::replace(&mut cx.session.request.try_depth, 1);
        let outcome = self.steps(body, cx);
        cx.session.request.try_depth = try_depth;
        match outcome {
            Ok(outcome) => {
                transactions::commit_quiet(cx.session)?;
                Ok(outcome)
            }
            Err(stop) => {
                transactions::roll_back_quiet(cx.session);
                Err(stop)
            }
        }
    }

    fn atomic_in_transaction(&self, body: &[Step], cx: &mut Cx<'_>) -> Run {
        let savepoint = cx.session.transaction.active.as_ref().map(storage::Transaction::savepoint);
        let try_depth = std::mem::replace(&mut cx.session.request.try_depth, 1);
        let outcome = self.steps(body, cx);
        cx.session.request.try_depth = try_depth;
        if let Err(Stop::Error(error) | Stop::Thrown(error) | Stop::Unbound(error)) = &outcome {
            match (ErrorClass::of(error), savepoint, &mut cx.session.transaction.active) {
                (ErrorClass::Statement | ErrorClass::Scope, Some(savepoint), Some(active)) => {
                    active.rollback_to(savepoint);
                }
                _ => cx.session.transaction.doomed = true,
            }
        }
        match outcome {
            Ok(Outcome::Goto(_)) => Err(Msg::InternalError.into()),
            other => other,
        }
    }
}
