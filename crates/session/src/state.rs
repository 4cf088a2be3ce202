//! `SessionState`: everything about a session that statements read and change.

use std::any::Any;
use std::sync::Arc;

use sos::ledger::SessionBooks;
use storage::Transaction;
use storage::lock::{Acquired, LockKey, LockMode, LockScope, Patience};
use types::value::ColumnType;
use types::{Bytes, Collation, ConvertOptions, Error, Msg, Value};

use crate::argument::{Argument, text_type};
use crate::cache::{ProgramCache, ProgramKey};
use crate::context::Contexts;
use crate::cursor::{ApiCursor, Cursor};
use crate::definition::Definitions;
use crate::event::emit;
use crate::grant::Grant;
use crate::instance::{DatabaseCounters, Instance, SessionCounter, SessionCounters};
use crate::pointer::TextPointers;
use crate::scratch::Scratch;
use crate::temp::TempTables;
use crate::transaction::TransactionState;
use crate::{ClientInfo, IsolationLevel, Options};
use catalog::name::Name;
use catalog::security::{Copies, Rights};
use catalog::{Catalog, Database, Object, ProcedureDef};
use plan::program::AskedFor;
use plan::stats::Meter;

/// Everything about a session that statements read and change. Owned by the engine's `Session`;
/// lent to the executor through its `Cx`.
pub struct SessionState {
    /// The instance.
    pub instance: Arc<Instance>,
    /// The catalog snapshot of the running request: checked against the instance's version when a
    /// request begins and after DDL of its own.
    pub catalog: Arc<Catalog>,
    /// `@@SPID`
    pub id: i16,
    /// Name of the login that the session runs as: the one that logged in, unless EXECUTE AS has
    /// switched.
    pub login: String,
    /// Name of the login that logged in.
    pub original_login: Arc<str>,
    /// The switches of EXECUTE AS.
    pub contexts: Contexts,
    /// What the login may do, by the catalog in hand.
    pub rights: Rights,
    /// Current database, as created.
    pub database: Arc<str>,
    /// Database at login, to go back to at a reset.
    pub login_database: Arc<str>,
    /// SET options.
    pub options: Options,
    /// SET options at login.
    pub login_options: Arc<Options>,
    /// Current isolation level: not reset with the others, by design of the protocol.
    pub isolation: IsolationLevel,
    /// The client.
    pub client: ClientInfo,
    /// The open transaction, and what the session remembers of it.
    pub transaction: TransactionState,
    /// What it has defined and neither kept nor undone.
    pub definitions: Option<Box<Definitions>>,
    /// Application locks that it holds.
    pub locks: storage::lock::SessionLocks,
    /// Counts the session's transactions, for their descriptors.
    pub next_descriptor: u32,
    /// Temporary tables by scope.
    pub temp: TempTables,
    /// GLOBAL cursors.
    pub cursors: Vec<Cursor>,
    /// `@@FETCH_STATUS`
    pub fetch_status: i32,
    /// `@@CURSOR_ROWS`
    pub cursor_rows: i32,
    /// `@@ERROR` after the last statement.
    pub last_error: i32,
    /// `@@ROWCOUNT` after the last statement.
    pub row_count: u64,
    /// `@@IDENTITY`
    pub last_identity: Option<Value>,
    /// Last identity value that a batch inserted itself: SCOPE_IDENTITY() of the next.
    pub scope_identity: Option<Value>,
    /// Table that IDENTITY_INSERT is ON for.
    pub identity_insert: Option<i32>,
    /// `CONTEXT_INFO()`
    pub context_info: Bytes,
    /// Trace flags that are on for the session.
    pub trace_flags: Vec<i32>,
    /// What TEXTPTR gave.
    pub text_pointers: TextPointers,
    /// `SESSION_CONTEXT()`: key, value, read-only.
    pub session_context: Vec<(String, Value, bool)>,
    /// `@@NESTLEVEL`
    pub nest_level: u32,
    /// TRIGGER_NESTLEVEL(): triggers that are running, one within the other.
    pub trigger_level: u32,
    /// What EVENTDATA() gives, in a DDL trigger.
    pub event_data: Option<Arc<str>>,
    /// The request is an RPC: its statements are those of a procedure.
    pub in_rpc: bool,
    /// An INSERT .. EXEC is running its call: another one inside is an error.
    pub inserting_call: bool,
    /// Options as the running procedure or dynamic SQL found them, once it has changed one.
    pub saved_options: Option<Box<Options>>,
    /// TRY blocks and atomic blocks around the running statement, in whatever procedures.
    pub try_depth: u32,
    /// Errors being handled by CATCH blocks, innermost last: ERROR_NUMBER() and kin.
    pub handled_errors: Vec<Error>,
    /// Line of the running statement in its batch or procedure.
    pub line: u32,
    /// Tokens that the client has been sent in this request: none means that it may be run again.
    pub tokens_sent: u64,
    /// Raised by an attention: statements stop at their next check.
    pub cancel: Arc<sos::park::Cancel>,
    /// Login time, as `datetime`.
    pub login_time: Value,
    /// Its login, as a pool of connections has it.
    pub pooled: Pooled,
    /// An INSERT BULK statement whose rows have not come yet.
    pub pending_bulk: Option<tsql::ast::InsertBulk>,
    /// Open cursors of the client's API.
    pub api_cursors: Vec<ApiCursor>,
    /// Documents of sp_xml_preparedocument by handle.
    pub documents: Vec<(i32, Arc<dyn Any + Send + Sync>)>,
    /// Prepared statements by handle.
    pub prepared: Vec<(i32, Arc<crate::prepared::Prepared>)>,
    /// What the session counts of its own doing.
    pub counters: Arc<SessionCounters>,
    /// What it counts in its current database.
    pub database_counters: Arc<DatabaseCounters>,
    /// Programs that this session ran lately.
    pub programs: ProgramCache,
    /// What compiling has taken since it was told last, in ns.
    pub compile_ns: u64,
    /// What it counts and times.
    pub meter: Meter,
    /// What its running query has taken for the rows that it keeps.
    pub grant: Arc<Grant>,
    /// What its requests have spent and waited for.
    pub books: Arc<SessionBooks>,
    /// Buffers that are reused from request to request.
    pub scratch: SessionScratch,
    /// What it has been shown of databases.
    pub copies: Copies,
}

/// A session's login, as a pool of connections has it: each reset is a login anew.
#[derive(Clone, Copy, Debug)]
pub struct Pooled {
    /// When it logged in or was last reset, in ticks.
    pub since: u64,
    /// How the request began: the key of a reset that came with it, 0 without one.
    pub reset: u32,
}

impl Pooled {
    /// That of a session that logs in now.
    pub fn now() -> Self {
        Self { since: sos::clock::now_ticks(), reset: 0 }
    }
}

/// Buffers of a session.
#[derive(Default)]
pub struct SessionScratch {
    /// Parameters as an atomic block found them.
    pub parameters: Vec<Value>,
    /// Variables of the procedure that ran last, all NULL.
    pub variables: Vec<Value>,
    /// Arguments of a call, empty between calls.
    pub arguments: Vec<Argument>,
    /// The parameter that each argument met.
    pub places: Vec<usize>,
    /// Registers of the outermost context.
    pub registers: Vec<Value>,
    /// Statement buffers of the outermost context.
    pub statement: Scratch,
}

/// Variables that a session keeps from one call to the next, at most.
const VARIABLES_KEPT_MAX: usize = 64;

impl SessionScratch {
    /// Keeps the variables of a call for the next one. They become NULL now, so that no value keeps memory
    /// alive in an idle connection.
    pub fn keep_variables(&mut self, mut variables: Vec<Value>) {
        variables.truncate(VARIABLES_KEPT_MAX);
        variables.iter_mut().for_each(Value::clear);
        self.variables = variables;
    }
}

impl SessionState {
    /// What quotes mean to the session.
    pub fn quotes(&self) -> tsql::QuotedIdentifier {
        if self.options.quoted_identifier {
            tsql::QuotedIdentifier::On
        } else {
            tsql::QuotedIdentifier::Off
        }
    }

    /// Returns the cache key of a text: the same text means something else in another database or
    /// under another QUOTED_IDENTIFIER, and may be forbidden to another login.
    pub fn text_key(&self, parts: &[&[u8]]) -> ProgramKey {
        let mode = [u8::from(self.options.quoted_identifier), self.options.meaning().byte()];
        let rights = self.rights.key().to_le_bytes();
        let context: [&[u8]; 3] = [&mode, &rights, self.database.as_bytes()];
        ProgramKey::Text(self.programs.hash(context.iter().chain(parts)))
    }

    /// Returns the name by which tempdb keeps a temporary procedure: a local one's carries the
    /// session's id, since other sessions may have one of the same name.
    pub fn temporary_module_name(&self, name: &str) -> String {
        if name.starts_with("##") { name.to_owned() } else { format!("{name}___{}", self.id) }
    }

    /// Drops the temporary tables of the scope that ends.
    pub fn close_temp_scope(&mut self) {
        for table in self.temp.close_scope() {
            self.counters.count(SessionCounter::TempTablesDropped);
            self.instance.store.drop_table(table.rows.data.id());
        }
    }

    /// Drops the temporary tables of all scopes.
    pub fn drop_temp_tables(&mut self) {
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

    /// Keeps the options as they are, for the end of the running level. To be called before one is
    /// changed.
    pub fn save_options(&mut self) {
        if self.nest_level > 0 && self.saved_options.is_none() {
            self.saved_options = Some(Box::new(self.options.clone()));
        }
    }

    /// Returns what a plan has to be good for that is to serve the session now.
    #[inline]
    pub fn asked_for(&self) -> AskedFor<'_> {
        let meaning = self.options.meaning();
        AskedFor { meaning, database: &self.database, rights: self.rights.key() }
    }

    /// Takes the current catalog snapshot, if it is another one than that in hand: one load.
    pub fn refresh_catalog(&mut self) {
        if self.instance.catalog.version() != self.catalog.version {
            self.take_catalog();
        }
    }

    /// Returns what the session sees of the definitions of a database.
    pub fn sees(&self, database: &Arc<Database>) -> Arc<Database> {
        self.copies.of(&self.rights, &self.catalog, database)
    }

    /// Goes by another catalog from now on.
    pub fn set_catalog(&mut self, catalog: Arc<Catalog>) {
        self.programs.let_go(catalog.version);
        self.copies.let_go(&catalog);
        self.catalog = catalog;
        self.renew_contexts();
    }

    /// Returns whether the running statement is one of a procedure: DONEINPROC and not DONE.
    pub fn in_procedure(&self) -> bool {
        self.in_rpc || self.nest_level > 0
    }

    /// Makes a database the current one; returns the one before.
    pub fn enter_database(&mut self, database: Arc<str>) -> Arc<str> {
        let id = self.catalog.database(&database).map_or(0, |d| d.id);
        self.database_counters = self.counters.of_database(id);
        std::mem::replace(&mut self.database, database)
    }

    /// Returns the collation of the current database.
    pub fn collation(&self) -> Collation {
        self.catalog.database(&self.database).map_or_else(Collation::default, |d| d.collation)
    }

    /// Returns `nvarchar(max)` in the database's collation.
    pub fn text_type(&self) -> ColumnType {
        text_type(self.collation())
    }

    /// Returns the settings that conversions go by.
    pub fn convert_options(&self) -> ConvertOptions {
        ConvertOptions {
            date_format: self.options.date_format,
            ansi_warnings: if self.options.ansi_warnings {
                types::convert::AnsiWarnings::On
            } else {
                types::convert::AnsiWarnings::Off
            },
            round_abort: self.options.numeric_round_abort,
        }
    }

    /// Finds a procedure in the current catalog.
    pub fn find_procedure(
        &self,
        database: &str,
        schema: &str,
        name: &str,
    ) -> Option<Arc<ProcedureDef>> {
        self.catalog.find_procedure(database, schema, name).map(Arc::clone)
    }

    /// The session as storage knows it.
    pub fn tag(&self) -> storage::SessionTag {
        let deadlock_priority = self.options.deadlock_priority;
        let plan = self.catalog.version;
        storage::SessionTag { number: session_number(self.id), deadlock_priority, plan }
    }

    /// Forgets the transaction once storage has ended it, and gives its locks back.
    pub fn end_transaction(&mut self) {
        // What a commit keeps is kept by now.
        self.undo_definitions();
        self.transaction = TransactionState::default();
        emit::lock::released_all(self, LockScope::Transaction);
        self.locks.owner().end_transaction();
        self.locks.end_transaction(self.instance.store.locks());
    }

    /// Asks for a lock and waits for it.
    pub fn acquire_lock(
        &mut self,
        key: &LockKey,
        wanted: (LockScope, LockMode),
        patience: Patience<'_>,
    ) -> Acquired {
        let asked = emit::lock::asked();
        let acquired = self.locks.acquire(self.instance.store.locks(), key, wanted, patience);
        emit::lock::answered(self, &asked, key, wanted, acquired);
        acquired
    }

    /// Gives a lock back; tells whether it was held.
    pub fn release_lock(&mut self, key: &LockKey, scope: LockScope) -> bool {
        emit::lock::released(self, key, scope);
        self.locks.release(self.instance.store.locks(), key, scope)
    }

    /// Turns storage's word for a failure into the client's.
    pub fn storage_error(&self, error: &storage::Error) -> Error {
        match error {
            storage::Error::Deadlock => {
                self.counters.count(SessionCounter::Deadlocks);
                Msg::DeadlockVictim(i32::from(self.id)).into()
            }
            other => other
                .clone()
                .into_message(i32::from(self.id))
                .unwrap_or_else(|_| Msg::InternalError.into()),
        }
    }

    /// Rolls back whatever is open, without a word to the client: at reset and at the end.
    pub fn roll_back_silently(&mut self) {
        if let Some(active) = self.transaction.active.take() {
            Transaction::rollback(active);
            self.counters.count(SessionCounter::Aborts);
        }
        self.end_transaction();
    }
}

/// The number by which storage and the machine know a session.
pub fn session_number(id: i16) -> u32 {
    u32::from(id.cast_unsigned())
}

/// The id of the session of a number.
pub fn session_id(number: u32) -> Option<i16> {
    u16::try_from(number).ok().map(u16::cast_signed)
}
