//! The reset of a connection: a pool hands it to its next user.

use std::sync::Arc;

use storage::lock::LockScope;

use crate::event::emit;
use crate::exec::run::transactions;
use crate::session::{Reset, SessionState};
use crate::sink::{ResultSink, Sent};

/// Takes the session back to what it was after login, as a connection pool asks; tells the client if
    /// that rolls back a transaction.
    ///
    /// # Errors
    /// [`crate::sink::Disconnected`] if the sink said so; the session is reset all the same.
    pub fn reset(&mut self, reset: Reset, sink: &mut dyn ResultSink) -> Sent {
        emit::session::logout(&self.state, self.state.pooled.since, true);
        let told = self.state.reset(reset, sink);
        self.state.pooled =
            Pooled { reset: request::reset_key(reset), since: self.state.meter.live().started() };
        emit::session::login(&self.state, true);
        self.card.count_reset();
        told
    }

    /// Counts an attention of the client.
    pub fn count_attention(&self) {
        self.state.counters.count(SessionCounter::Attentions);
        request::attention(&self.state);
    }

    /// Notes that a message of the client has been received: its requests are timed from here on.
    pub fn begin_message(&mut self) {
        sos::sched::work_for(session_number(self.state.id));
        self.state.meter.begin(&self.state.instance.statistics);
    }

    /// Notes that the answer to the message has been sent.
    pub fn end_message(&mut self) {
        self.state.meter.end();
        self.state.pooled.reset = 0;
        sos::sched::work_for(0);
    }

    /// What the session's requests spend and wait for, to be given to [`sos::ledger::request`].
    pub fn books(&self) -> &Arc<SessionBooks> {
        &self.card.books
    }

    /// Times a request that no server has: the message is the call.
    pub(super) fn served<R>(&mut self, serve: impl FnOnce(&mut Self) -> R) -> R {
        if self.state.meter.is_open() {
            return context::serve(|| serve(self));
        }
        let books = Arc::clone(self.books());
        // The edges that receiving and sending are elsewhere.
        let _ = ledger::spent();
        ledger::request(Some(&books), || {
            self.begin_message();
            let outcome = context::serve(|| serve(self));
            let _ = ledger::spent();
            self.end_message();
            outcome
        })
    }

    /// Brings the session's card up to date. The lock is taken only for what has changed.
    fn show(&mut self) {
        self.card.end_request(&self.state);
        let same_database = Arc::ptr_eq(&self.shown_database, &self.state.database);
        if same_database && self.shown_options == self.state.options {
            return;
        }
        self.shown_options.clone_from(&self.state.options);
        self.shown_database = Arc::clone(&self.state.database);
        self.card.publish(&self.state);
    }

    /// The flag that an attention raises; the server clears it when it acknowledges.
    pub fn cancel(&self) -> &Arc<sos::park::Cancel> {
        &self.state.cancel
    }

    pub(super) fn begin_request(&mut self, in_rpc: bool) {
        if let Some(announced) = self.announced.take() {
            request::batch_given_up(&self.state, announced);
        }
        ledger::label(Label::Execute);
        self.card.live.begin_request();
        let state = &mut self.state;
        state.refresh_catalog();
        state.in_rpc = in_rpc;
        state.nest_level = 0;
        state.try_depth = 0;
        state.handled_errors.clear();
        state.inserting_call = false;
        state.saved_options = None;
        // Rows that were announced come at once or not at all.
        state.pending_bulk = None;
    }

    /// Reports what nobody has reported, and rolls back what can't be committed.
    pub(super) fn end_request(
        &mut self,
        outcome: Result<(), Stop>,
        sink: &mut Deferred<'_>,
    ) -> Sent {
        let sent = self.report_end(outcome, sink);
        sink.count_messages(&self.state.counters);
        self.show();
        ledger::label(Label::Encode);
        sent
    }

    fn report_end(&mut self, outcome: Result<(), Stop>, sink: &mut Deferred<'_>) -> Sent {
        let state = &mut self.state;
        match outcome {
            Ok(()) | Err(Stop::Scope | Stop::Batch | Stop::Cancelled) => {}
            Err(Stop::Disconnected) => return Err(crate::sink::Disconnected),
            Err(stop @ (Stop::Error(_) | Stop::Thrown(_) | Stop::Unbound(_))) => {
                // Statements have reported theirs: what is left of a batch is its text's.
                let of_text = !state.in_rpc && matches!(stop, Stop::Error(_));
                let (Stop::Error(mut error) | Stop::Thrown(mut error) | Stop::Unbound(mut error)) =
                    stop
                else {
                    return Ok(());
                };
                state.last_error = error.number;
                if state.options.xact_abort && !of_text {
                    transactions::roll_back_all(state, sink)?;
                }
                for error in error.take_earlier().into_iter().chain([error]) {
                    emit::error::reported(state, &error, Receiver::Client);
                    sink.message(&error.at_line(1))?;
                }
                sink.error_done(done_kind(state))?;
            }
        }
        if state.transaction.doomed && state.transaction.count > 0 {
            transactions::roll_back_all(state, sink)?;
            sink.message(&Error::from(Msg::UncommittableAtEnd).at_line(1))?;
            sink.error_done(done_kind(state))?;
        }
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(announced) = self.announced.take() {
            request::batch_given_up(&self.state, announced);
        }
        emit::session::logout(&self.state, self.state.pooled.since, false);
        self.state.roll_back_silently();
        self.state.drop_temp_tables();
        emit::lock::released_all(&self.state, LockScope::Session);
        self.state.locks.close(self.state.instance.store.locks());
        self.state.instance.sessions.close(self.state.id);
    }
}

/// Takes the session back to what it was after login, as a connection pool asks. Writes nothing
/// that other sessions read, as long as no temporary table has to go.
pub(crate) fn reset(state: &mut SessionState, reset: Reset, sink: &mut dyn ResultSink) -> Sent {
    let told = match reset {
        Reset::All => transactions::roll_back_all(state, sink),
        Reset::KeepTransaction => Ok(()),
    };
    emit::lock::released_all(state, LockScope::Session);
    state.locks.end_session(state.instance.store.locks());
    state.end_contexts();
    state.drop_temp_tables();
    state.cursors.clear();
    state.api_cursors.clear();
    state.documents.clear();
    state.prepared.clear();
    if state.options != *state.login_options {
        state.options.clone_from(&state.login_options);
    }
    if !Arc::ptr_eq(&state.database, &state.login_database) {
        state.enter_database(Arc::clone(&state.login_database));
    }
    state.books.reset();
    state.fetch_status = -1;
    state.last_error = 0;
    state.row_count = 0;
    state.last_identity = None;
    state.scope_identity = None;
    state.identity_insert = None;
    state.context_info = types::Bytes::new();
    state.session_context.clear();
    state.text_pointers.clear();
    state.pending_bulk = None;
    told
}
