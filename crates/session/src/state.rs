//! `SessionState`: all state of a session that statements read and change.

use std::any::Any;
use std::sync::Arc;

use sos::ledger::SessionBooks;
use storage::Transaction;
use storage::lock::{Acquired, LockKey, LockMode, LockScope, Patience};
use types::value::ColumnType;
use types::{Bytes, Collation, ConvertOptions, Error, Msg, Value};

use crate::argument::{Argument, text_type};
use crate::context::Contexts;
use crate::cursor::{ApiCursor, Cursor};
use crate::definition::Definitions;
use crate::event::emit;
use crate::grant::Grant;
use crate::instance::{DatabaseCounters, Instance, SessionCounter, SessionCounters};
use crate::plan_cache::{ProgramCache, ProgramKey};
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

/// All state of a session that statements read and change. Owned by the engine's `Session`;
/// borrowed by the executor through its `Cx`.
pub struct SessionState {
    /// Instance that the session belongs to.
    pub instance: Arc<Instance>,
    /// Catalog snapshot of the running request. Its version is compared with the instance's when a
    /// request begins, and after the session's own DDL.
    pub catalog: Arc<Catalog>,
    /// `@@SPID`, the session's id.
    pub id: i16,
    /// Name of the login that the session runs as: the one that logged in, unless EXECUTE AS has
    /// switched
    /// it.
    pub login: String,
    /// Name of the login that logged in.
    pub original_login: Arc<str>,
    /// Switches by EXECUTE AS, innermost last.
    pub contexts: Contexts,
    /// Permissions of the login under the current catalog snapshot.
    pub rights: Rights,
    /// Name of the current database, in the spelling of CREATE.
    pub database: Arc<str>,
    /// Database at login; a reset returns to it.
    pub login_database: Arc<str>,
    /// SET options in effect.
    pub options: Options,
    /// SET options at login.
    pub login_options: Arc<Options>,
    /// Current isolation level. A reset does not restore it, as the protocol specifies.
    pub isolation: IsolationLevel,
    /// Properties of the client.
    pub client: ClientInfo,
    /// The open transaction and its savepoints.
    pub transaction: TransactionState,
    /// Definitions that are neither committed nor undone; `None` without any.
    pub definitions: Option<Box<Definitions>>,
    /// Application locks that the session holds.
    pub locks: storage::lock::SessionLocks,
    /// Number of the session's next transaction, for its descriptor.
    pub next_descriptor: u32,
    /// Temporary tables by scope.
    pub temp: TempTables,
    /// Cursors declared GLOBAL, in order of declaration.
    pub cursors: Vec<Cursor>,
    /// `@@FETCH_STATUS` of the last FETCH.
    pub fetch_status: i32,
    /// `@@CURSOR_ROWS` of the last OPEN.
    pub cursor_rows: i32,
    /// `@@ERROR` after the last statement.
    pub last_error: i32,
    /// `@@ROWCOUNT` after the last statement.
    pub row_count: u64,
    /// `@@IDENTITY`: last identity value inserted, in any scope.
    pub last_identity: Option<Value>,
    /// Identity value that the last batch inserted itself: SCOPE_IDENTITY() of the next batch.
    pub scope_identity: Option<Value>,
    /// `object_id` of the table with IDENTITY_INSERT ON.
    pub identity_insert: Option<i32>,
    /// `CONTEXT_INFO()`, up to 128 bytes.
    pub context_info: Bytes,
    /// Trace flags that are on for this session.
    pub trace_flags: Vec<i32>,
    /// Pointers returned by TEXTPTR.
    pub text_pointers: TextPointers,
    /// `SESSION_CONTEXT()`: key, value, and whether read-only.
    pub session_context: Vec<(String, Value, bool)>,
    /// `@@NESTLEVEL`: depth of nested modules.
    pub nest_level: u32,
    /// TRIGGER_NESTLEVEL(): number of running triggers, each within the other.
    pub trigger_level: u32,
    /// EVENTDATA() in a DDL trigger.
    pub event_data: Option<Arc<str>>,
    /// Whether the request is an RPC: its statements count as those of a procedure.
    pub in_rpc: bool,
    /// Whether an INSERT .. EXEC is running its call: a nested one is an error.
    pub inserting_call: bool,
    /// Options before the running procedure or dynamic SQL first changed one.
    pub saved_options: Option<Box<Options>>,
    /// Number of TRY blocks and atomic blocks around the running statement, in all procedures.
    pub try_depth: u32,
    /// Errors handled by CATCH blocks, innermost last: ERROR_NUMBER() and the related functions.
    pub handled_errors: Vec<Error>,
    /// Line of the running statement in its batch or procedure.
    pub line: u32,
    /// Number of tokens sent to the client for this request: with none, the request may be
    /// restarted.
    pub tokens_sent: u64,
    /// Set by an attention: statements stop at their next check.
    pub cancel: Arc<sos::park::Cancel>,
    /// Login time, as `datetime`.
    pub login_time: Value,
    /// Time of the last login or reset of a pooled connection.
    pub pooled: Pooled,
    /// An INSERT BULK statement whose rows have not arrived yet.
    pub pending_bulk: Option<tsql::ast::InsertBulk>,
    /// Open server cursors of the client's API.
    pub api_cursors: Vec<ApiCursor>,
    /// Documents of sp_xml_preparedocument by handle.
    pub documents: Vec<(i32, Arc<dyn Any + Send + Sync>)>,
    /// Prepared statements by handle.
    pub prepared: Vec<(i32, Arc<crate::prepared::Prepared>)>,
    /// Counters of the session's activity.
    pub counters: Arc<SessionCounters>,
    /// Counters for its current database.
    pub database_counters: Arc<DatabaseCounters>,
    /// Programs that ran recently.
    pub programs: ProgramCache,
    /// Time spent compiling since the last report to the client, in ns.
    pub compile_ns: u64,
    /// Statement statistics of the session.
    pub meter: Meter,
    /// Memory that its running query uses to buffer rows.
    pub grant: Arc<Grant>,
    /// Times and waits of its requests.
    pub books: Arc<SessionBooks>,
    /// Buffers that are reused from request to request.
    pub scratch: SessionScratch,
    /// Copies of databases without the items that the login may not see.
    pub copies: Copies,
}

/// The login state of a pooled connection: each reset counts as a login.
#[derive(Clone, Copy, Debug)]
pub struct Pooled {
    /// Time of the login or the last reset, in ticks.
    pub since: u64,
    /// Map key of the reset that came with the current request; 0 without one.
    pub reset: u32,
}

impl Pooled {
    /// Returns the state of a session that logs in now.
    pub fn now() -> Self {
        Self { since: sos::clock::now_ticks(), reset: 0 }
    }
}

/// Buffers of a session that requests reuse.
#[derive(Default)]
pub struct SessionScratch {
    /// Values of the parameters when an atomic block began.
    pub parameters: Vec<Value>,
    /// Variables of the procedure that ran last, all NULL.
    pub variables: Vec<Value>,
    /// Arguments of a call, empty between calls.
    pub arguments: Vec<Argument>,
    /// Index of the parameter that each argument is passed to.
    pub places: Vec<usize>,
    /// Registers of the outermost context.
    pub registers: Vec<Value>,
    /// Statement buffers of the outermost context.
    pub statement: Scratch,
}

/// Maximum number of variables that are kept from one call to the next.
const VARIABLES_KEPT_MAX: usize = 64;

impl SessionScratch {
    /// Keeps the variables of a call for the next one. They are set to NULL now, so that no value
    /// keeps memory alive in an idle connection.
    pub fn keep_variables(&mut self, mut variables: Vec<Value>) {
        variables.truncate(VARIABLES_KEPT_MAX);
        variables.iter_mut().for_each(Value::clear);
        self.variables = variables;
    }
}

impl SessionState {
    /// Returns the meaning of double quotes under QUOTED_IDENTIFIER.
    pub fn quotes(&self) -> tsql::QuotedIdentifier {
        if self.options.quoted_identifier {
            tsql::QuotedIdentifier::On
        } else {
            tsql::QuotedIdentifier::Off
        }
    }

    /// Returns the cache key of a text: the same text has another meaning in another database or
    /// under another QUOTED_IDENTIFIER, and may be forbidden to another login.
    pub fn text_key(&self, parts: &[&[u8]]) -> ProgramKey {
        let mode = [u8::from(self.options.quoted_identifier), self.options.meaning().byte()];
        let rights = self.rights.key().to_le_bytes();
        let context: [&[u8]; 3] = [&mode, &rights, self.database.as_bytes()];
        ProgramKey::Text(self.programs.hash(context.iter().chain(parts)))
    }

    /// Returns the name under which tempdb stores a temporary procedure: a local one's contains the
    /// session's id, since other sessions may use the same name.
    pub fn temporary_module_name(&self, name: &str) -> String {
        if name.starts_with("##") { name.to_owned() } else { format!("{name}___{}", self.id) }
    }

    /// Drops the temporary tables of the innermost scope, which ends.
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

    /// Drops the `##` tables and temporary procedures that the session has created. Inside a
    /// transaction it drops none; the next call does.
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

    /// Saves the current options, to be restored when the running level ends. Must be called before
    /// an option is changed.
    pub fn save_options(&mut self) {
        if self.nest_level > 0 && self.saved_options.is_none() {
            self.saved_options = Some(Box::new(self.options.clone()));
        }
    }

    /// Returns the session state that a plan must match to be used now.
    #[inline]
    pub fn asked_for(&self) -> AskedFor<'_> {
        let meaning = self.options.meaning();
        AskedFor { meaning, database: &self.database, rights: self.rights.key() }
    }

    /// Takes the current catalog snapshot, if it is newer than the session's: one load.
    pub fn refresh_catalog(&mut self) {
        if self.instance.catalog.version() != self.catalog.version {
            self.take_catalog();
        }
    }

    /// Returns the database as the session may see it.
    pub fn sees(&self, database: &Arc<Database>) -> Arc<Database> {
        self.copies.of(&self.rights, &self.catalog, database)
    }

    /// Sets the catalog snapshot, and updates what depends on it.
    pub fn set_catalog(&mut self, catalog: Arc<Catalog>) {
        self.programs.let_go(catalog.version);
        self.copies.let_go(&catalog);
        self.catalog = catalog;
        self.renew_contexts();
    }

    /// Returns whether the running statement belongs to a procedure: it ends with DONEINPROC
    /// instead of DONE.
    pub fn in_procedure(&self) -> bool {
        self.in_rpc || self.nest_level > 0
    }

    /// Makes a database the current one; returns the previous one.
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

    /// Returns the settings that conversions depend on.
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

    /// Returns the session's identification for storage.
    pub fn tag(&self) -> storage::SessionTag {
        let deadlock_priority = self.options.deadlock_priority;
        let plan = self.catalog.version;
        storage::SessionTag { number: session_number(self.id), deadlock_priority, plan }
    }

    /// Forgets the transaction once storage has ended it, and releases its locks.
    pub fn end_transaction(&mut self) {
        // A commit has kept its definitions before this call.
        self.undo_definitions();
        self.transaction = TransactionState::default();
        emit::lock::released_all(self, LockScope::Transaction);
        self.locks.owner().end_transaction();
        self.locks.end_transaction(self.instance.store.locks());
    }

    /// Acquires a lock, waiting for it if needed.
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

    /// Releases a lock; returns whether it was held.
    pub fn release_lock(&mut self, key: &LockKey, scope: LockScope) -> bool {
        emit::lock::released(self, key, scope);
        self.locks.release(self.instance.store.locks(), key, scope)
    }

    /// Converts an error of storage to the client's error.
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

    /// Rolls back any open transaction without a message to the client: at reset and at the end.
    pub fn roll_back_silently(&mut self) {
        if let Some(active) = self.transaction.active.take() {
            Transaction::rollback(active);
            self.counters.count(SessionCounter::Aborts);
        }
        self.end_transaction();
    }
}

/// Returns the number that storage and the machine use for a session.
pub fn session_number(id: i16) -> u32 {
    u32::from(id.cast_unsigned())
}

/// Returns the session id of such a number.
pub fn session_id(number: u32) -> Option<i16> {
    u16::try_from(number).ok().map(u16::cast_signed)
}
