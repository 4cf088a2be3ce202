//! The verbs of a session: what the server asks for on behalf of a client.

use std::sync::Arc;

use sos::ledger::{self, Label, SessionBooks};
use sos::memory::{MemoryClerk, with_clerk};
use storage::lock::LockScope;
use types::value::ColumnType;
use types::{Error, Msg};

use crate::bind::Binder;
use crate::bind::program::{Body, Parameters, compile};
use crate::catalog::name::Name;
use crate::catalog::{Object, ProcedureDef};
use crate::event::context;
use crate::event::emit::error::Receiver;
use crate::event::emit::{self, request};
use crate::exec::run::{Invocation, Runner, Stop, transactions};
use crate::exec::{Cx, Frame};
use crate::explain::Explain;
use crate::instance::{Instance, SessionCard, SessionCounter};
use crate::plan::program::Program;
use crate::security::Owner;
use crate::session::{Entry, ProgramKey};
use crate::session::deferred::Deferred;
use crate::session::state::Pooled;
use crate::session::template::{Call, Chosen};
use crate::session::{
    Admission, LoginRequest, Options, Reset, Rpc, SessionState, login, session_number,
};
use crate::sink::{Command, Done, DoneKind, ResultSink, Sent};
use crate::stats::{Identity, Module, Origin};

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
    pub fn on_nudge(&self, on_nudge: crate::instance::OnNudge) {
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
            None => match crate::compile::template::choose(&mut self.state, key, text)? {
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
        crate::compile::template::put_back(&mut self.state, program, back);
        outcome
    }

    fn run_program(
        &mut self,
        program: &Program,
        frame: &mut Frame,
        sink: &mut Deferred<'_>,
    ) -> Result<(), Stop> {
        let mut cx = Cx::new(&mut self.state, frame, sink);
        cx.take_buffers();
        // Batches are one scope: SCOPE_IDENTITY() in the next one still gives what this one inserted.
        cx.frame.scope_identity = cx.session.scope_identity.take();
        let runner = Runner { program, procedure: "" };
        let told = match cx.session.options.explain.has(Explain::TIME) {
            true => crate::explain::parse_time(&mut cx),
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
        let outcome = crate::proc::rpc::run(rpc, &mut self.state, &mut sink);
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
