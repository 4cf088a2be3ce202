//! `SessionState`: everything about a session that statements read and change.

use std::sync::Arc;

use sos::ledger::SessionBooks;
use storage::Transaction;
use storage::lock::{Acquired, LockKey, LockMode, LockScope, Patience};
use types::value::ColumnType;
use types::{Bytes, Collation, ConvertOptions, Error, Msg, Value};

use crate::catalog::{Catalog, Database, ProcedureDef};
use crate::event::emit;
use crate::exec::Scratch;
use crate::exec::grant::Grant;
use crate::exec::run::{Argument, Cursor};
use crate::instance::{DatabaseCounters, Instance, SessionCounter, SessionCounters};
use crate::proc::cursor::ApiCursor;
use crate::security::{Copies, Rights};
use crate::session::cache::ProgramCache;
use crate::session::context::Contexts;
use crate::session::definition::Definitions;
use crate::session::pointer::TextPointers;
use crate::session::temp::TempTables;
use crate::session::transaction::TransactionState;
use crate::session::{ClientInfo, IsolationLevel, Options};
use crate::stats::Meter;

/// Everything about a session that statements read and change. Owned by [`crate::session::Session`];
/// lent to the executor through [`crate::exec::Cx`].
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
    pub(crate) original_login: Arc<str>,
    /// The switches of EXECUTE AS.
    pub(crate) contexts: Contexts,
    /// What the login may do, by the catalog in hand.
    pub(crate) rights: Rights,
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
    pub(crate) definitions: Option<Box<Definitions>>,
    /// Application locks that it holds.
    pub(crate) locks: storage::lock::SessionLocks,
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
    pub(crate) text_pointers: TextPointers,
    /// `SESSION_CONTEXT()`: key, value, read-only.
    pub session_context: Vec<(String, Value, bool)>,
    /// `@@NESTLEVEL`
    pub nest_level: u32,
    /// TRIGGER_NESTLEVEL(): triggers that are running, one within the other.
    pub trigger_level: u32,
    /// What EVENTDATA() gives, in a DDL trigger.
    pub(crate) event_data: Option<Arc<str>>,
    /// The request is an RPC: its statements are those of a procedure.
    pub in_rpc: bool,
    /// An INSERT .. EXEC is running its call: another one inside is an error.
    pub(crate) inserting_call: bool,
    /// Options as the running procedure or dynamic SQL found them, once it has changed one.
    pub(crate) saved_options: Option<Box<Options>>,
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
    pub(crate) pooled: Pooled,
    /// An INSERT BULK statement whose rows have not come yet.
    pub pending_bulk: Option<tsql::ast::InsertBulk>,
    /// Open cursors of the client's API.
    pub(crate) api_cursors: Vec<ApiCursor>,
    /// Documents of sp_xml_preparedocument by handle.
    pub(crate) documents: Vec<(i32, Arc<crate::func::xml::open::Prepared>)>,
    /// Prepared statements by handle.
    pub prepared: Vec<(i32, Arc<crate::proc::prepared::Prepared>)>,
    /// What the session counts of its own doing.
    pub(crate) counters: Arc<SessionCounters>,
    /// What it counts in its current database.
    pub(crate) database_counters: Arc<DatabaseCounters>,
    /// Programs that this session ran lately.
    pub(crate) programs: ProgramCache,
    /// What compiling has taken since it was told last, in ns.
    pub(crate) compile_ns: u64,
    /// What it counts and times.
    pub(crate) meter: Meter,
    /// What its running query has taken for the rows that it keeps.
    pub(crate) grant: Arc<Grant>,
    /// What its requests have spent and waited for.
    pub(crate) books: Arc<SessionBooks>,
    /// Buffers that are reused from request to request.
    pub(crate) scratch: SessionScratch,
    /// What it has been shown of databases.
    pub(crate) copies: Copies,
}

/// A session's login, as a pool of connections has it: each reset is a login anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pooled {
    /// When it logged in or was last reset, in ticks.
    pub(crate) since: u64,
    /// How the request began: the key of a reset that came with it, 0 without one.
    pub(crate) reset: u32,
}

impl Pooled {
    /// That of a session that logs in now.
    pub(crate) fn now() -> Self {
        Self { since: sos::clock::now_ticks(), reset: 0 }
    }
}

/// Buffers of a session.
#[derive(Default)]
pub(crate) struct SessionScratch {
    /// Parameters as an atomic block found them.
    pub(crate) parameters: Vec<Value>,
    /// Variables of the procedure that ran last, all NULL.
    pub(crate) variables: Vec<Value>,
    /// Arguments of a call, empty between calls.
    pub(crate) arguments: Vec<Argument>,
    /// The parameter that each argument met.
    pub(crate) places: Vec<usize>,
    /// Registers of the outermost context.
    pub(crate) registers: Vec<Value>,
    /// Statement buffers of the outermost context.
    pub(crate) statement: Scratch,
}

/// Variables that a session keeps from one call to the next, at most.
const VARIABLES_KEPT_MAX: usize = 64;

impl SessionScratch {
    /// Keeps the variables of a call for the next one. They become NULL now, so that no value keeps memory
    /// alive in an idle connection.
    pub(crate) fn keep_variables(&mut self, mut variables: Vec<Value>) {
        variables.truncate(VARIABLES_KEPT_MAX);
        variables.iter_mut().for_each(Value::clear);
        self.variables = variables;
    }
}

impl SessionState {
    /// Takes the current catalog snapshot, if it is another one than that in hand: one load.
    pub fn refresh_catalog(&mut self) {
        if self.instance.catalog.version() != self.catalog.version {
            self.take_catalog();
        }
    }

    /// Returns what the session sees of the definitions of a database.
    pub(crate) fn sees(&self, database: &Arc<Database>) -> Arc<Database> {
        self.copies.of(&self.rights, &self.catalog, database)
    }

    /// Goes by another catalog from now on.
    pub(crate) fn set_catalog(&mut self, catalog: Arc<Catalog>) {
        self.programs.let_go(catalog.version);
        self.copies.let_go(&catalog);
        self.catalog = catalog;
        self.renew_contexts();
    }

    /// Tells whether the running statement is one of a procedure: DONEINPROC and not DONE.
    pub fn in_procedure(&self) -> bool {
        self.in_rpc || self.nest_level > 0
    }

    /// Makes a database the current one; returns the one before.
    pub(crate) fn enter_database(&mut self, database: Arc<str>) -> Arc<str> {
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
        crate::exec::run::text_type(self.collation())
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
    pub(crate) fn tag(&self) -> storage::SessionTag {
        let deadlock_priority = self.options.deadlock_priority;
        let plan = self.catalog.version;
        storage::SessionTag { number: session_number(self.id), deadlock_priority, plan }
    }

    /// Forgets the transaction once storage has ended it, and gives its locks back.
    pub(crate) fn end_transaction(&mut self) {
        // What a commit keeps is kept by now.
        self.undo_definitions();
        self.transaction = TransactionState::default();
        emit::lock::released_all(self, LockScope::Transaction);
        self.locks.owner().end_transaction();
        self.locks.end_transaction(self.instance.store.locks());
    }

    /// Asks for a lock and waits for it.
    pub(crate) fn acquire_lock(
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
    pub(crate) fn release_lock(&mut self, key: &LockKey, scope: LockScope) -> bool {
        emit::lock::released(self, key, scope);
        self.locks.release(self.instance.store.locks(), key, scope)
    }

    /// Turns storage's word for a failure into the client's.
    pub(crate) fn storage_error(&self, error: &storage::Error) -> Error {
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
    pub(crate) fn roll_back_silently(&mut self) {
        if let Some(active) = self.transaction.active.take() {
            Transaction::rollback(active);
            self.counters.count(SessionCounter::Aborts);
        }
        self.end_transaction();
    }
}

/// The number by which storage and the machine know a session.
pub(crate) fn session_number(id: i16) -> u32 {
    u32::from(id.cast_unsigned())
}

/// The id of the session of a number.
pub(crate) fn session_id(number: u32) -> Option<i16> {
    u16::try_from(number).ok().map(u16::cast_signed)
}
