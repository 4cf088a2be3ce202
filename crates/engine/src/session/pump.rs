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
use crate::session::cache::{Entry, ProgramKey};
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
            None => match self.state.choose(key, text)? {
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
        self.state.put_back(program, back);
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

impl SessionState {
    /// Takes the session back to what it was after login, as a connection pool asks. Writes nothing
    /// that other sessions read, as long as no temporary table has to go.
    pub(crate) fn reset(&mut self, reset: Reset, sink: &mut dyn ResultSink) -> Sent {
        let state = self;
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

    /// Returns the cache key of a text: the same text means something else in another database or
    /// under another QUOTED_IDENTIFIER, and may be forbidden to another login.
    pub(crate) fn text_key(&self, parts: &[&[u8]]) -> ProgramKey {
        let mode = [u8::from(self.options.quoted_identifier), self.options.meaning().byte()];
        let rights = self.rights.key().to_le_bytes();
        let context: [&[u8]; 3] = [&mode, &rights, self.database.as_bytes()];
        ProgramKey::Text(self.programs.hash(context.iter().chain(parts)))
    }

    /// Finds a batch's program among those of all sessions, or compiles it. `sent` is the text.
    pub(crate) fn compile_shared(
        &mut self,
        key: ProgramKey,
        text: &str,
        sent: &Arc<[u8]>,
    ) -> Result<Arc<Program>, Stop> {
        let version = self.catalog.version;
        if let Some(program) = self.instance.programs.get(key, version, sent) {
            return Ok(program);
        }
        self.counters.count(SessionCounter::PlanMisses);
        let program = self.compile_text(text, Parameters::default(), Origin::Batch)?;
        self.instance.programs.put(key, sent, &program);
        Ok(program)
    }

    /// Compiles dynamic SQL, by way of the shared cache.
    pub(crate) fn compile_batch(&mut self, text: &str) -> Result<Arc<Program>, Stop> {
        self.counters.count(SessionCounter::PlanLookups);
        self.compile_shared(self.text_key(&[text.as_bytes()]), text, &text.as_bytes().into())
    }

    /// Compiles a text with parameters. The time is nobody's statement.
    pub(crate) fn compile_text(
        &mut self,
        text: &str,
        parameters: Parameters,
        origin: Origin,
    ) -> Result<Arc<Program>, Stop> {
        self.compiling(|state| {
            let program = state.parse_and_compile(text, parameters);
            program.map(|program| state.register(program, origin))
        })
    }

    /// Compiles something: on the clerk of plans, in nobody's time.
    pub(super) fn compiling<R>(
        &mut self,
        compile: impl FnOnce(&Self) -> Result<R, Stop>,
    ) -> Result<R, Stop> {
        self.meter.pause();
        let began = sos::clock::now_ticks();
        let program = with_clerk(MemoryClerk::SqlPlans, || compile(self));
        let ticks = sos::clock::now_ticks().saturating_sub(began);
        self.compile_ns = self.compile_ns.saturating_add(sos::clock::ticks_to_ns(ticks));
        self.meter.unpause();
        program
    }

    /// Gives a program its books.
    pub(super) fn register(&self, program: Program, origin: Origin) -> Arc<Program> {
        let options = [u8::from(self.options.quoted_identifier), self.options.meaning().byte()];
        let database_id = self.catalog.database(&program.database).map_or(0, |d| d.id);
        let source = Arc::clone(&program.source);
        let identity = Identity { origin, database_id, options: &options, source: &source };
        self.instance.statistics.register(program, &identity)
    }

    /// Compiles a text that is not kept.
    ///
    /// # Errors
    /// Those of its syntax and variables.
    pub(crate) fn parse_and_compile(
        &self,
        text: &str,
        parameters: Parameters,
    ) -> Result<Program, Stop> {
        let batch = {
            let _label = ledger::labelled(Label::Parse);
            tsql::parse(text, self.quotes())?
        };
        Ok(self.compile_statements(batch.statements, text.into(), parameters, &self.database)?)
    }

    /// Parses a text that is cut into tokens.
    pub(super) fn parse(
        &self,
        text: &str,
        tokens: tsql::Tokens,
    ) -> types::Result<tsql::ast::Batch> {
        let _label = ledger::labelled(Label::Parse);
        tokens.parse(text, self.quotes())
    }

    /// Compiles a parsed batch.
    pub(super) fn compile_batch_of(
        &self,
        batch: tsql::ast::Batch,
        text: &str,
    ) -> types::Result<Arc<Program>> {
        let parameters = Parameters::default();
        let program =
            self.compile_statements(batch.statements, text.into(), parameters, &self.database)?;
        Ok(self.register(program, Origin::Batch))
    }

    pub(super) fn compile_statements(
        &self,
        statements: Vec<tsql::ast::Statement>,
        source: Arc<str>,
        parameters: Parameters,
        database: &str,
    ) -> types::Result<Program> {
        self.counters.count(SessionCounter::Compilations);
        let _label = ledger::labelled(Label::Bind);
        let context = crate::session::binding::bare_context(self, database);
        let mut binder = context.binder();
        let make_table = |binder: &Binder<'_>,
                          variable: &tsql::ast::Variable,
                          elements: &[tsql::ast::TableElement]| {
            crate::exec::ddl::table_variable(self, binder, variable, elements)
        };
        compile(statements, source, parameters, &mut binder, &make_table)
    }

    /// Compiles the body of a procedure that is being created, to find its mistakes now.
    pub(crate) fn check_body(
        &self,
        create: &tsql::ast::CreateProcedure,
        parameters: &[crate::catalog::ParameterDef],
        source: &str,
    ) -> types::Result<()> {
        let tsql::ast::RoutineBody::Statements(body) = &create.body else {
            return Err(Msg::NotSupported("EXTERNAL NAME procedures").into());
        };
        let parameters = self.program_parameters(parameters, &self.database)?;
        let (name, source) = (&create.name.object, source.into());
        let program = self.compile_statements(body.clone(), source, parameters, &self.database)?;
        self.check_module(&program, name)
    }

    /// Returns the name by which tempdb keeps a temporary procedure: a local one's carries the
    /// session's id, since other sessions may have one of the same name.
    pub(crate) fn temporary_module_name(&self, name: &str) -> String {
        if name.starts_with("##") { name.to_owned() } else { format!("{name}___{}", self.id) }
    }

    /// Moves a procedure's program out of the session's cache, or compiles it.
    pub(crate) fn take_program_of(
        &mut self,
        procedure: &Arc<ProcedureDef>,
    ) -> Result<Arc<Program>, Stop> {
        let key = ProgramKey::Procedure(procedure.id);
        let version = self.catalog.version;
        self.counters.count(SessionCounter::PlanLookups);
        if let Some(entry) = self.programs.take(key, version) {
            return Ok(entry.program);
        }
        if let Some(program) = self.instance.programs.get(key, version, b"") {
            return Ok(program);
        }
        self.counters.count(SessionCounter::PlanMisses);
        self.meter.pause();
        let module = Module { database_id: procedure.database_id, object_id: procedure.id };
        let program = with_clerk(MemoryClerk::ObjectPlans, || {
            let program = self.compile_procedure(procedure);
            let owner = Some(Owner::of_procedure(&self.catalog, procedure));
            let program = program.map(|program| Program { owner, ..program });
            program.map(|program| self.register(program, Origin::Procedure(module)))
        });
        self.meter.unpause();
        let program = program?;
        self.instance.programs.put(key, &Arc::from([]), &program);
        Ok(program)
    }

    /// Puts a procedure's program back after its call.
    pub(crate) fn keep_program_of(&mut self, call: Invocation) {
        let Invocation { procedure, program, .. } = call;
        let key = ProgramKey::Procedure(procedure.id);
        let entry = Entry { procedure: Some(procedure), text: Arc::from([]), program };
        self.programs.put(key, entry);
    }

    fn compile_procedure(&self, procedure: &ProcedureDef) -> Result<Program, Stop> {
        let tsql::ast::RoutineBody::Statements(body) = &procedure.ast.body else {
            return Err(Msg::NotSupported("EXTERNAL NAME procedures").into());
        };
        let database = self.catalog.database_by_id(procedure.database_id);
        let database = database.map_or_else(|| self.database.to_string(), |d| d.name.clone());
        let parameters = self.program_parameters(&procedure.parameters, &database)?;
        Ok(self.compile_statements(
            body.clone(),
            procedure.text.as_str().into(),
            parameters,
            &database,
        )?)
    }

    pub(super) fn program_parameters(
        &self,
        defined: &[crate::catalog::ParameterDef],
        database: &str,
    ) -> types::Result<Parameters> {
        let mut parameters = Parameters { body: Body::Procedure, ..Parameters::default() };
        for (ordinal, parameter) in defined.iter().enumerate() {
            let name = parameter.name.clone();
            match &parameter.table_type {
                None => {
                    let ty: ColumnType = parameter.ty;
                    let variable =
                        crate::plan::program::VariableDef { name, ty, cursor: false, at: 0 };
                    parameters.variables.push(variable);
                }
                Some(user_type) => {
                    let context = crate::session::binding::bare_context(self, database);
                    let binder = context.binder();
                    let definition =
                        crate::exec::ddl::table_of_type(self, &binder, &name, user_type)?;
                    let user_type = Some(Arc::clone(user_type));
                    let table = crate::plan::program::TableVariableDef {
                        name,
                        definition,
                        user_type,
                        image_of: None,
                        at: 0,
                        ordinal,
                    };
                    parameters.tables.push(table);
                }
            }
        }
        Ok(parameters)
    }

    /// Drops the temporary tables of the scope that ends.
    pub(crate) fn close_temp_scope(&mut self) {
        for table in self.temp.close_scope() {
            self.counters.count(SessionCounter::TempTablesDropped);
            self.instance.store.drop_table(table.rows.data.id());
        }
    }

    /// Drops the temporary tables of all scopes.
    pub(crate) fn drop_temp_tables(&mut self) {
        if !self.temp.is_empty() {
            self.undo_definitions();
            for table in self.temp.iter() {
                self.counters.count(SessionCounter::TempTablesDropped);
                self.instance.store.drop_table(table.rows.data.id());
            }
            self.temp.clear();
        }
        self.drop_globals();
    }

    /// Drops the `##` tables and temporary procedures that the session has made; those of an open transaction
    /// stay until the next time.
    fn drop_globals(&mut self) {
        if self.transaction.count > 0 {
            return;
        }
        let ids = self.temp.take_globals();
        if ids.is_empty() {
            return;
        }
        let dropped = self.change_catalog(|catalog| {
            let tempdb = catalog.database_mut("tempdb").ok_or(Msg::InternalError)?;
            let own = ids.iter().filter_map(|id| tempdb.object_by_id(*id).cloned());
            let own: Vec<Object> = own.collect();
            for object in &own {
                tempdb.objects.remove(&(Name::new(object.schema()), Name::new(object.name())));
            }
            Ok(own)
        });
        for object in dropped.unwrap_or_default() {
            if let Object::Table(table) = object {
                self.counters.count(SessionCounter::TempTablesDropped);
                self.note_gone(&table.rows.data);
            }
        }
        self.keep_definitions();
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
