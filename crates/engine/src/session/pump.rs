//! The operations of a session that the server calls for a client: login, batch, RPC, reset.

use std::sync::Arc;

use sos::ledger::{self, Label, SessionBooks};
use storage::lock::LockScope;
use types::{Error, Msg};

use crate::host::HOST;
use crate::plan::program::Program;
use crate::session::Entry;
use crate::session::connection::Pooled;
use crate::session::deferred::Deferred;
use crate::session::plan_cache::{Call, Chosen};
use crate::session::{
    Admission, Entered, KnownCall, LoginRequest, Options, Reset, Rpc, RpcParameter, SessionState,
    login, session_number,
};
use crate::sink::{Command, CutOff, Done, DoneKind, ResultSink, Sent};
use ::executor::{Cx, Frame};
use ::explain::Explain;
use ::session::event::context;
use ::session::event::emit::error::Receiver;
use ::session::event::emit::{self, request};
use ::session::instance::{Instance, SessionCard, SessionCounter};
use interpreter::{Runner, Stop, transactions};

/// The session of one connection.
pub struct Session {
    pub(super) state: SessionState,
    /// The state that other sessions may see.
    card: Arc<SessionCard>,
    /// The options that the card shows.
    shown_options: Options,
    /// The database that the card shows.
    shown_database: Arc<str>,
    /// What the members of a MARS connection share; `None` without MARS, and in members.
    pub(super) shared: Option<Arc<::session::mars::Shared>>,
    /// The INSERT BULK batch of an announced load; it completes when the rows are loaded.
    pub(super) announced: Option<request::Announced>,
}

impl Session {
    /// Checks name and password, opens the database, and makes a session. The server then sends the
    /// environment ([`Session::state`]) to the client.
    ///
    /// # Errors
    /// 18456 for a wrong name or password; 4060 and 18456 for a database that can't be opened;
    /// 18464 for an empty new password.
    pub fn login(instance: &Arc<Instance>, request: LoginRequest) -> Result<Self, Vec<Error>> {
        match Self::admit(instance, &request).refused {
            Some(errors) => Err(errors),
            None => Self::open(instance, request),
        }
    }

    /// Checks name and password, counts failures, and decides when the client gets its answer.
    pub fn admit(instance: &Arc<Instance>, request: &LoginRequest) -> Admission {
        login::admit(instance, request)
    }

    /// Opens the session of an admitted client.
    ///
    /// # Errors
    /// 4060 and 18456 for a database that can't be opened, 2740 for an unknown language.
    pub fn open(instance: &Arc<Instance>, request: LoginRequest) -> Result<Self, Vec<Error>> {
        let change = request.new_password.clone().map(|new| (request.password.clone(), new));
        let state = login::open(instance, request)?;
        let card = Arc::new(SessionCard::new(&state));
        instance.sessions.register(&card);
        let (shown_options, shown_database) =
            (state.options.clone(), Arc::clone(&state.identity.database));
        let session =
            Self { state, card, shown_options, shown_database, shared: None, announced: None };
        // Checked after the card shows the database: of two simultaneous logins to a single-user
        // database, neither is admitted.
        login::check_entry(&session.state)?;
        if let Some((old, new)) = change {
            login::change_password(&session.state, &old, &new)?;
        }
        emit::session::login(&session.state, false);
        Ok(session)
    }

    /// Returns a new session of a MARS connection whose login session this is. From the first one on
    /// only they run requests. The login session must outlive them.
    pub fn member(&mut self) -> Self {
        let state = &mut self.state;
        let shared = self.shared.get_or_insert_with(|| state.share());
        Self {
            state: self.state.member(shared),
            card: Arc::clone(&self.card),
            shown_options: self.shown_options.clone(),
            shown_database: Arc::clone(&self.shown_database),
            shared: None,
            announced: None,
        }
    }

    /// Begins a message: in a session of a MARS connection, waits for its turn. Returns false if
    /// the client cancels the message before.
    pub fn begin_turn(&mut self) -> bool {
        self.state.begin_turn()
    }

    /// Ends what [`Self::begin_turn`] began, before the end of the answer is sent.
    pub fn end_turn(&mut self) {
        self.state.end_turn();
    }

    /// Checks the transaction that a message says it runs in; only MARS connections need to say so.
    ///
    /// # Errors
    /// 3989 for none while one is open, 3971 for one that is not open.
    pub fn check_descriptor(&self, descriptor: u64) -> types::Result<()> {
        self.state.check_descriptor(descriptor)
    }

    /// Returns the state, for the environment tokens of the login response and for views.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// Returns the state mutably, for tests that evaluate expressions without a request.
    #[cfg(test)]
    pub(crate) fn state_mut(&mut self) -> &mut SessionState {
        &mut self.state
    }

    /// Sets the function that wakes the connection's owner when another thread needs it.
    pub fn on_nudge(&self, on_nudge: ::session::instance::OnNudge) {
        self.state.instance.sessions.set_on_nudge(self.state.connection.id, on_nudge);
    }

    /// Drops cached references to objects that the catalog no longer has. Called between requests.
    pub fn let_go(&mut self) {
        self.state.refresh_catalog();
        self.state.caches.programs.let_go(self.state.catalog.version);
    }

    /// Returns the client's properties, to set what was negotiated after login (packet size,
    /// encryption).
    pub fn client_mut(&mut self) -> &mut crate::session::ClientInfo {
        &mut self.state.connection.client
    }

    /// Runs a batch: sends every statement's results, then a final DONE without `more`.
    ///
    /// # Errors
    /// [`crate::sink::Disconnected`] if the sink returns it.
    pub fn batch(&mut self, text: &str, sink: &mut dyn ResultSink) -> Sent {
        self.served(|session| {
            session.begin_request(false);
            session.state.accounting.counters.count(SessionCounter::Requests);
            sos::inject::pass(sos::inject::Point::Request);
            let watched = request::batch_starting(&session.state, text);
            let mut sink = Deferred::new(sink);
            let outcome = session.run_batch(text, &mut sink);
            if outcome.is_ok() && session.state.held.pending_bulk.is_some() {
                session.announced = request::batch_suspended(&session.state, watched, text);
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
        let found = self.state.caches.programs.take(key, version);
        self.state.accounting.counters.count(SessionCounter::PlanLookups);
        let entry = match found.filter(|e| &*e.text == text.as_bytes()) {
            Some(entry) => entry,
            None => match ::compile::template::choose(&mut self.state, key, text)? {
                Chosen::Own(program) => {
                    // The source of the program is the text of the batch.
                    let text = Arc::clone(&program.source).into();
                    Entry { procedure: None, text, program }
                }
                Chosen::Kind(call) => return self.run_kind(call, sink),
            },
        };
        let mut frame = Frame::for_program(&self.state, &entry.program)?;
        let outcome = self.run_program(&entry.program, &mut frame, sink);
        frame.tables.release();
        self.state.caches.programs.put(key, entry);
        outcome
    }

    /// Runs a parameterized program with the constants of a text.
    fn run_kind(&mut self, call: Call, sink: &mut Deferred<'_>) -> Result<(), Stop> {
        let Call { program, values, back } = call;
        let mut frame = Frame { variables: values, ..Frame::default() };
        let outcome = self.run_program(&program, &mut frame, sink);
        self.state.caches.scratch.keep_variables(frame.variables);
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
        // Batches share one scope: SCOPE_IDENTITY() in the next batch returns this one's value.
        cx.frame.scope_identity = cx.session.last.scope_identity.take();
        let runner = Runner { program, procedure: "" };
        let told = match cx.session.options.explain.has(Explain::TIME) {
            true => interpreter::observe::parse_time(&mut cx),
            false => Ok(()),
        };
        // An error of the text is not an error of a statement.
        let compiled = told.and_then(|()| runner.compile(&mut cx).map_err(of_text));
        let outcome = compiled.and_then(|()| runner.run(&mut cx)).map_err(|stop| match stop {
            Stop::Unbound(ref error) if program.is_alone() && error.number != 208 => of_text(stop),
            stop => stop,
        });
        cx.session.last.scope_identity = cx.frame.scope_identity.take();
        cx.keep_buffers();
        outcome.map(drop)
    }

    /// Runs one RPC of a message and sends its final DONE.
    ///
    /// # Errors
    /// [`crate::sink::Disconnected`] if the sink returns it.
    pub fn rpc(&mut self, rpc: Rpc<'_>, sink: &mut dyn ResultSink) -> Sent {
        self.served(|session| session.run_rpc(rpc, sink))
    }

    /// Works out the call by name that the session has just made with these parameters, so that
    /// [`Session::enter_known`] can begin the next one. `None` for a call that needs more than moving
    /// values.
    pub fn learn(&self, name: &str, parameters: &[RpcParameter]) -> Option<KnownCall> {
        crate::session::rpc::learn(&self.state, name, parameters)
    }

    /// Begins a known call, whose values are then stored in what is returned. `None` if it has to
    /// take the general path, [`Session::rpc`].
    #[inline]
    pub fn enter_known(&mut self, known: &KnownCall) -> Option<Entered> {
        if request::watches_calls() {
            return None;
        }
        Entered::new(known, &mut self.state)
    }

    /// Ends what [`Session::enter_known`] began: the call takes the general path.
    pub fn leave_known(&mut self, known: &KnownCall, entered: Entered) {
        entered.leave(known, &mut self.state);
    }

    /// Runs a known call of a message and sends its final DONE. `more` says whether another call
    /// follows in the message.
    ///
    /// # Errors
    /// [`crate::sink::Disconnected`] if the sink returns it.
    pub fn call_known(
        &mut self,
        known: &KnownCall,
        entered: Entered,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Sent {
        self.served(|session| {
            session.begin_known();
            session.state.accounting.counters.count(SessionCounter::Requests);
            sos::inject::pass(sos::inject::Point::Request);
            let mut sink = Deferred::new(sink);
            let state = &mut session.state;
            let outcome = crate::session::rpc::run_known(known, entered, state, &mut sink);
            session.end_rpc(outcome, more, &mut sink)
        })
    }

    fn run_rpc(&mut self, rpc: Rpc<'_>, sink: &mut dyn ResultSink) -> Sent {
        self.begin_request(true);
        self.state.accounting.counters.count(SessionCounter::Requests);
        sos::inject::pass(sos::inject::Point::Request);
        let more = rpc.more;
        let watched = request::rpc_starting(&self.state, &rpc);
        let mut sink = Deferred::new(sink);
        if watched.asks_for_outputs() {
            sink.keep_outputs();
        }
        let outcome = crate::session::rpc::run(rpc, &mut self.state, &mut sink);
        request::rpc_completed(&self.state, watched, sink.outputs(), &outcome);
        self.end_rpc(outcome, more, &mut sink)
    }

    /// Ends an RPC and sends its final DONE.
    fn end_rpc(&mut self, outcome: Result<(), Stop>, more: bool, sink: &mut Deferred<'_>) -> Sent {
        let failed = outcome.is_err();
        self.end_request(outcome, sink)?;
        sink.done(Done {
            kind: DoneKind::Procedure,
            command: Command::EXECUTE,
            rows: None,
            error: failed,
            more,
        })?;
        sink.pass()
    }

    /// Restores the session's state after login, for a connection pool. Notifies the client if that
    /// rolls back a transaction.
    ///
    /// # Errors
    /// [`crate::sink::Disconnected`] if the sink returns it; the session is reset even then.
    pub fn reset(&mut self, reset: Reset, sink: &mut dyn ResultSink) -> Sent {
        emit::session::logout(&self.state, self.state.connection.pooled.since, true);
        let told = ::executor::reset::reset(&mut self.state, reset, sink);
        self.state.connection.pooled = Pooled {
            reset: request::reset_key(reset),
            since: self.state.accounting.meter.live().started(),
        };
        emit::session::login(&self.state, true);
        self.card.count_reset();
        told
    }

    /// Counts an attention from the client.
    pub fn count_attention(&self) {
        self.state.accounting.counters.count(SessionCounter::Attentions);
        request::attention(&self.state);
    }

    /// Starts the time of a message's requests, when it has been received.
    pub fn begin_message(&mut self) {
        sos::sched::work_for(session_number(self.state.connection.id));
        self.state.accounting.meter.begin(&self.state.instance.statistics);
    }

    /// Ends the time of a message's requests, when the response has been sent.
    pub fn end_message(&mut self) {
        self.state.accounting.meter.end();
        self.state.connection.pooled.reset = 0;
        sos::sched::work_for(0);
    }

    /// Returns the counters of the session's requests, for [`sos::ledger::request`].
    pub fn books(&self) -> &Arc<SessionBooks> {
        &self.card.books
    }

    /// Times a request made in-process: there is no message, so the call is timed.
    pub(super) fn served<R>(&mut self, serve: impl FnOnce(&mut Self) -> R) -> R {
        if self.state.accounting.meter.is_open() {
            return context::serve(|| serve(self));
        }
        let books = Arc::clone(self.books());
        // Receiving and sending a message mark these edges otherwise.
        let _ = ledger::spent();
        ledger::request(Some(&books), || {
            self.begin_message();
            let outcome = context::serve(|| serve(self));
            let _ = ledger::spent();
            self.end_message();
            outcome
        })
    }

    /// Updates the session's card. Takes the lock only if options or database have changed.
    fn show(&mut self) {
        self.card.end_request(&self.state);
        let same_database = Arc::ptr_eq(&self.shown_database, &self.state.identity.database);
        if same_database && self.shown_options == self.state.options {
            return;
        }
        self.shown_options.clone_from(&self.state.options);
        self.shown_database = Arc::clone(&self.state.identity.database);
        self.card.publish(&self.state);
    }

    /// Returns the flag that an attention sets; the server clears it when it acknowledges.
    pub fn cancel(&self) -> &Arc<sos::park::Cancel> {
        &self.state.connection.cancel
    }

    pub(super) fn begin_request(&mut self, in_rpc: bool) {
        self.state.refresh_catalog();
        self.begin_in(in_rpc);
    }

    /// As [`Session::begin_request`], for a call that was found in the catalog of now.
    fn begin_known(&mut self) {
        self.begin_in(true);
    }

    fn begin_in(&mut self, in_rpc: bool) {
        if let Some(announced) = self.announced.take() {
            request::batch_given_up(&self.state, announced);
        }
        ledger::label(Label::Execute);
        self.card.live.begin_request();
        let state = &mut self.state;
        state.request.begin(in_rpc);
        // Announced rows come with the next message, or not at all.
        state.held.pending_bulk = None;
    }

    /// Sends an error that no statement has sent, and rolls back a transaction that can't be
    /// committed.
    pub(super) fn end_request(
        &mut self,
        outcome: Result<(), Stop>,
        sink: &mut Deferred<'_>,
    ) -> Sent {
        let sent = self.report_end(outcome, sink);
        sink.count_messages(&self.state.accounting.counters);
        self.show();
        ledger::label(Label::Encode);
        sent
    }

    fn report_end(&mut self, outcome: Result<(), Stop>, sink: &mut Deferred<'_>) -> Sent {
        let state = &mut self.state;
        match outcome {
            Ok(()) | Err(Stop::Scope | Stop::Batch) => {}
            Err(Stop::Cancelled) => report_cut_off(state, sink)?,
            Err(Stop::Disconnected) => return Err(crate::sink::Disconnected),
            Err(stop @ (Stop::Error(_) | Stop::Thrown(_) | Stop::Unbound(_))) => {
                // Statements have sent their errors: an error left over is about the batch's text.
                let of_text = !state.request.in_rpc && matches!(stop, Stop::Error(_));
                let (Stop::Error(mut error) | Stop::Thrown(mut error) | Stop::Unbound(mut error)) =
                    stop
                else {
                    return Ok(());
                };
                state.last.error = error.number;
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
        if state.is_transaction_of_batch() {
            transactions::roll_back_all(state, sink)?;
            sink.message(&Error::from(Msg::MarsTransactionAtEnd).at_line(1))?;
            sink.error_done(done_kind(state))?;
        }
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.state.mars.is_some() {
            // The login session goes on; a request that panicked returns its state here.
            self.state.end_turn();
            return;
        }
        if let Some(shared) = self.shared.take() {
            self.state.unshare(&shared);
        }
        if let Some(announced) = self.announced.take() {
            request::batch_given_up(&self.state, announced);
        }
        emit::session::logout(&self.state, self.state.connection.pooled.since, false);
        self.state.roll_back_silently();
        self.state.drop_temp_tables();
        emit::lock::released_all(&self.state, LockScope::Session);
        self.state.locks.close(self.state.instance.store.locks());
        self.state.instance.sessions.close(self.state.connection.id);
    }
}

/// Ends the session of a request that was cut off, with an error: a plain DONE would mean that all
/// of the request has run. Nothing to do if the client cancelled it, or has had the error.
fn report_cut_off(state: &mut SessionState, sink: &mut Deferred<'_>) -> Sent {
    let errors = match sink.cut_off() {
        None => return Ok(()),
        Some(CutOff::Killed) => vec![Msg::SessionKilled],
        Some(CutOff::Stopping) => vec![Msg::ShutdownInProgress, Msg::SessionKilled],
    };
    transactions::roll_back_all(state, sink)?;
    for error in errors {
        let error = Error::from(error).at_line(1);
        emit::error::reported(state, &error, Receiver::Client);
        sink.message(&error)?;
    }
    sink.error_done(done_kind(state))
}

/// Marks an error of a batch's text, to which SET XACT_ABORT does not apply.
fn of_text(stop: Stop) -> Stop {
    match stop {
        Stop::Unbound(error) => Stop::Error(error),
        stop => stop,
    }
}

/// Returns the kind of DONE that ends a statement of the request.
fn done_kind(state: &SessionState) -> DoneKind {
    if state.request.in_rpc { DoneKind::InProcedure } else { DoneKind::Done }
}
