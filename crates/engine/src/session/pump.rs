//! The verbs of a session: what the server asks for on behalf of a client.

use std::sync::Arc;

use sos::ledger::{self, Label, SessionBooks};
use storage::lock::LockScope;
use types::{Error, Msg};

use crate::host::HOST;
use crate::plan::program::Program;
use crate::session::Entry;
use crate::session::deferred::Deferred;
use crate::session::state::Pooled;
use crate::session::template::{Call, Chosen};
use crate::session::{
    Admission, LoginRequest, Options, Reset, Rpc, SessionState, login, session_number,
};
use crate::sink::{Command, Done, DoneKind, ResultSink, Sent};
use ::executor::{Cx, Frame};
use ::explain::Explain;
use ::session::event::context;
use ::session::event::emit::error::Receiver;
use ::session::event::emit::{self, request};
use ::session::instance::{Instance, SessionCard, SessionCounter};
use interpreter::{Runner, Stop, transactions};

/// One connection's session.
pub struct Session {
    pub(super) state: SessionState,
    /// What others see of the session.
    card: Arc<SessionCard>,
    /// Options that the card shows.
    shown_options: Options,
    /// Database that the card shows.
    shown_database: Arc<str>,
    /// The batch that has announced a bulk load: it ends when the rows have been loaded.
    pub(super) announced: Option<request::Announced>,
}

impl Session {
    /// Checks name and password, opens the database, and makes a session. The server then tells the
    /// client the environment ([`Session::state`]).
    ///
    /// # Errors
    /// 18456 for a wrong name or password; 4060 and 18456 for a database that can't be opened; 18464 for a new
    /// password that is empty.
    pub fn login(instance: &Arc<Instance>, request: LoginRequest) -> Result<Self, Vec<Error>> {
        match Self::admit(instance, &request).refused {
            Some(errors) => Err(errors),
            None => Self::open(instance, request),
        }
    }

    /// Checks name and password, counts those that are wrong, and says when the client is to be answered.
    pub fn admit(instance: &Arc<Instance>, request: &LoginRequest) -> Admission {
        login::admit(instance, request)
    }

    /// Opens the session of who was admitted.
    ///
    /// # Errors
    /// 4060 and 18456 for a database that can't be opened, 40517 for a language.
    pub fn open(instance: &Arc<Instance>, request: LoginRequest) -> Result<Self, Vec<Error>> {
        let change = request.new_password.clone().map(|new| (request.password.clone(), new));
        let state = login::open(instance, request)?;
        let card = Arc::new(SessionCard::new(&state));
        instance.sessions.register(&card);
        let (shown_options, shown_database) = (state.options.clone(), Arc::clone(&state.database));
        let session = Self { state, card, shown_options, shown_database, announced: None };
        // Once it shows where it is: of two that come at once into a database for one, none stays.
        login::check_entry(&session.state)?;
        if let Some((old, new)) = change {
            login::change_password(&session.state, &old, &new)?;
        }
        emit::session::login(&session.state, false);
        Ok(session)
    }

    /// Returns the state, for the environment tokens of the login answer and for the views.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// Returns the state for a test that evaluates expressions without a request.
    #[cfg(test)]
    pub(crate) fn state_mut(&mut self) -> &mut SessionState {
        &mut self.state
    }

    /// Says how the owner of the connection is asked something from outside.
    pub fn on_nudge(&self, on_nudge: ::session::instance::OnNudge) {
        self.state.instance.sessions.set_on_nudge(self.state.id, on_nudge);
    }

    /// Lets go of what the catalog has no more, between two requests.
    pub fn let_go(&mut self) {
        self.state.refresh_catalog();
        self.state.programs.let_go(self.state.catalog.version);
    }

    /// Tells the session what was agreed after login (packet size, encryption).
    pub fn client_mut(&mut self) -> &mut crate::session::ClientInfo {
        &mut self.state.client
    }

    /// Runs a batch: every statement's results, then a final `done` without `more`.
    ///
    /// # Errors
    /// [`crate::sink::Disconnected`] if the sink said so.
    pub fn batch(&mut self, text: &str, sink: &mut dyn ResultSink) -> Sent {
        self.served(|session| {
            session.begin_request(false);
            session.state.counters.count(SessionCounter::Requests);
            let watched = request::batch_starting(&session.state, text);
            let mut sink = Deferred::new(sink);
            let outcome = session.run_batch(text, &mut sink);
            if outcome.is_ok() && session.state.pending_bulk.is_some() {
                session.announced = request::batch_suspended(watched, text);
            } else {
                request::batch_completed(&session.state, watched, text, &outcome);
            }
            session.end_request(outcome, &mut sink)?;
            sink.finish(DoneKind::Done)
        })
    }

    fn run_batch(&mut self, text: &str, sink: &mut Deferred<'_>) -> Result<(), Stop> {
        let key = self.state.text_key(&[text.as_bytes()]);
        let version = self.state.catalog.version;
        let found = self.state.programs.take(key, version);
        self.state.counters.count(SessionCounter::PlanLookups);
        let entry = match found.filter(|e| &*e.text == text.as_bytes()) {
            Some(entry) => entry,
            None => match ::compile::template::choose(&mut self.state, key, text)? {
                Chosen::Own(program) => {
                    // A batch is its program's source.
                    let text = Arc::clone(&program.source).into();
                    Entry { procedure: None, text, program }
                }
                Chosen::Kind(call) => return self.run_kind(call, sink),
            },
        };
        let mut frame = Frame::for_program(&self.state, &entry.program)?;
        let outcome = self.run_program(&entry.program, &mut frame, sink);
        frame.tables.release();
        self.state.programs.put(key, entry);
        outcome
    }

    /// Runs the program of a text's kind with the text's constants.
    fn run_kind(&mut self, call: Call, sink: &mut Deferred<'_>) -> Result<(), Stop> {
        let Call { program, values, back } = call;
        let mut frame = Frame { variables: values, ..Frame::default() };
        let outcome = self.run_program(&program, &mut frame, sink);
        self.state.scratch.keep_variables(frame.variables);
        ::compile::template::put_back(&mut self.state, program, back);
        outcome
    }

    fn run_program(
        &mut self,
        program: &Program,
        frame: &mut Frame,
        sink: &mut Deferred<'_>,
    ) -> Result<(), Stop> {
        let mut cx = Cx::new(HOST, &mut self.state, frame, sink);
        cx.take_buffers();
        // Batches are one scope: SCOPE_IDENTITY() in the next one still gives what this one inserted.
        cx.frame.scope_identity = cx.session.scope_identity.take();
        let runner = Runner { program, procedure: "" };
        let told = match cx.session.options.explain.has(Explain::TIME) {
            true => interpreter::observe::parse_time(&mut cx),
            false => Ok(()),
        };
        // A mistake of the text is no error of a statement.
        let compiled = told.and_then(|()| runner.compile(&mut cx).map_err(of_text));
        let outcome = compiled.and_then(|()| runner.run(&mut cx)).map_err(|stop| match stop {
            Stop::Unbound(ref error) if program.is_alone() && error.number != 208 => of_text(stop),
            stop => stop,
        });
        cx.session.scope_identity = cx.frame.scope_identity.take();
        cx.keep_buffers();
        outcome.map(drop)
    }

    /// Runs one RPC of a message, its final `done` included.
    ///
    /// # Errors
    /// [`crate::sink::Disconnected`] if the sink said so.
    pub fn rpc(&mut self, rpc: Rpc<'_>, sink: &mut dyn ResultSink) -> Sent {
        self.served(|session| session.run_rpc(rpc, sink))
    }

    fn run_rpc(&mut self, rpc: Rpc<'_>, sink: &mut dyn ResultSink) -> Sent {
        self.begin_request(true);
        self.state.counters.count(SessionCounter::Requests);
        let more = rpc.more;
        let watched = request::rpc_starting(&self.state, &rpc);
        let mut sink = Deferred::new(sink);
        if watched.asks_for_outputs() {
            sink.keep_outputs();
        }
        let outcome = crate::session::rpc::run(rpc, &mut self.state, &mut sink);
        request::rpc_completed(&self.state, watched, sink.outputs(), &outcome);
        let failed = outcome.is_err();
        self.end_request(outcome, &mut sink)?;
        sink.done(Done {
            kind: DoneKind::Procedure,
            command: Command::EXECUTE,
            rows: None,
            error: failed,
            more,
        })?;
        sink.pass()
    }

    /// Takes the session back to what it was after login, as a connection pool asks; tells the client if
    /// that rolls back a transaction.
    ///
    /// # Errors
    /// [`crate::sink::Disconnected`] if the sink said so; the session is reset all the same.
    pub fn reset(&mut self, reset: Reset, sink: &mut dyn ResultSink) -> Sent {
        emit::session::logout(&self.state, self.state.pooled.since, true);
        let told = ::executor::reset::reset(&mut self.state, reset, sink);
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

/// An error of a batch's text, which SET XACT_ABORT does not concern.
fn of_text(stop: Stop) -> Stop {
    match stop {
        Stop::Unbound(error) => Stop::Error(error),
        stop => stop,
    }
}

/// The kind of `done` that ends a statement of the request.
fn done_kind(state: &SessionState) -> DoneKind {
    if state.in_rpc { DoneKind::InProcedure } else { DoneKind::Done }
}
