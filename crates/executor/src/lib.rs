//! The row executor: runs bound plans against storage, row by row.
//!
//! Start at `statement.rs`: it runs one bound statement, in a transaction or directly on the row.
//! - `eval/` evaluates expressions;
//! - `query/` has one file per operator; an operator pushes rows, as filled registers, to the one
//!   above;
//! - `dml/` changes rows; `trigger.rs` records them for triggers; `transactions.rs` begins and ends a
//!   session's transactions;
//! - `columnstore.rs` and `tuple_mover.rs` fill and read columnstores; `bulk/` reads files;
//! - `profile.rs` counts what operators do.
//!
//! Does not know binder and optimizer: it calls the layers above through its [`Host`].
#![forbid(unsafe_code)]

pub mod arithmetic;
pub mod bulk;
pub mod columnstore;
pub mod dml;
pub mod eval;
pub mod fault;
pub mod host;
mod io;
pub mod long;
pub mod parallel;
pub mod profile;
pub mod query;
pub mod reset;
mod spread;
pub mod statement;
pub mod transactions;
mod trigger;
pub mod tuple_mover;

use std::any::Any;
use std::sync::Arc;

use types::Value;

pub use host::Host;
pub use profile::Profile;
pub use session::frame::{Frame, FrameTables};
pub use session::grant;
pub use session::scratch::Scratch;
pub use statement::{run_bound, run_scalar};
pub use tuple_mover::move_tuples;

use catalog::clock::clock;
use plan::function::EvalContext;
use plan::sink::{Command, ResultSink};
use session::SessionState;

/// Most registers that a session keeps from one request to the next.
const REGISTERS_KEPT_MAX: usize = 64;

/// The context of the running statement: everything that the executor may use.
pub struct Cx<'a> {
    /// The layers above the executor.
    pub host: &'static dyn Host,
    /// The session that runs the statement.
    pub session: &'a mut SessionState,
    /// Variables and tables of the running batch or procedure.
    pub frame: &'a mut Frame,
    /// Receives results and messages for the client.
    pub sink: &'a mut dyn ResultSink,
    /// The register file of the running statement.
    pub registers: Vec<Value>,
    /// Time of the statement, read once at its first use: GETDATE() is the same for all its rows.
    pub now: Option<types::date::Moment>,
    /// The transaction in which the statement reads and writes. `None` outside a statement, and in
    /// a point statement; a subquery of a point statement begins a transaction for itself.
    pub transaction: Option<&'a storage::Transaction>,
    /// An error of storage on its way up to the code that restarts the statement or ends the
    /// transaction; the `Err` that is returned has its text only.
    pub fault: Option<storage::Error>,
    /// Set when the statement stopped because the client cancelled it or has disconnected; then the
    /// `Err` that is returned is not for the client.
    pub interrupted: Option<fault::Interruption>,
    /// An aggregate ignored NULLs: warning 8153 at the end of the statement.
    pub null_eliminated: bool,
    /// Arithmetic errors replaced with NULL, for messages at the end of the statement.
    pub made_null: arithmetic::MadeNull,
    /// Buffers that are reused from row to row and from statement to statement.
    pub scratch: Scratch,
    /// Text of the running definition, for `sys.sql_modules`.
    pub statement_text: String,
    /// Source of the running program: spans of the statement refer to it.
    pub source: String,
    /// Whether the statement fires triggers.
    pub(crate) fires: bool,
    /// Triggers to fire after the statement has changed its rows.
    pub(crate) pending: Vec<trigger::Pending>,
    /// Rows that its foreign keys have changed by cascading, for the triggers of their tables.
    pub(crate) cascaded: Vec<trigger::Cascaded>,
    /// Checks of foreign keys that are made after the statement has changed all its rows.
    pub(crate) late: Vec<dml::Late>,
    /// Changed keys whose referring rows are followed at the statement's end.
    pub(crate) waiting: Vec<dml::Waiting>,
    /// Counts of the statement's operators, if the session asked for a profile.
    pub profile: Option<Box<Profile>>,
    /// Rows of the previous round of recursive CTEs, by id.
    pub work_tables: Vec<(u32, Arc<Vec<Vec<Value>>>)>,
    /// Regions and shared state of the statement's parallelism.
    pub parallel: parallel::Parallel,
    /// Results of subqueries that are run once per statement, by number.
    pub kept: Vec<Option<eval::Kept>>,
    /// How rows are read among which the statement picks those that it changes.
    pub(crate) picking: dml::Picking,
}

impl<'a> Cx<'a> {
    /// Returns the transaction of a statement that changes rows; a point statement has none.
    pub(crate) fn changing(&self) -> &'a storage::Transaction {
        self.transaction.expect("`in_transaction` runs whatever changes more than one row")
    }

    /// Makes a context with an empty register file.
    #[inline]
    pub fn new(
        host: &'static dyn Host,
        session: &'a mut SessionState,
        frame: &'a mut Frame,
        sink: &'a mut dyn ResultSink,
    ) -> Self {
        Self {
            host,
            session,
            frame,
            sink,
            registers: Vec::new(),
            now: None,
            transaction: None,
            fault: None,
            interrupted: None,
            null_eliminated: false,
            made_null: arithmetic::MadeNull::default(),
            scratch: Scratch::default(),
            statement_text: String::new(),
            source: String::new(),
            profile: None,
            work_tables: Vec::new(),
            kept: Vec::new(),
            parallel: parallel::Parallel::default(),
            fires: false,
            pending: Vec::new(),
            cascaded: Vec::new(),
            late: Vec::new(),
            waiting: Vec::new(),
            picking: dml::Picking::default(),
        }
    }
}

impl EvalContext for Cx<'_> {
    fn now(&mut self) -> types::date::Moment {
        self.now()
    }

    fn convert_options(&self) -> types::ConvertOptions {
        self.convert_options()
    }

    fn date_first(&self) -> u8 {
        self.session.options.date_first
    }

    fn next_sequential_id(&self) -> Value {
        self.session.instance.catalog.next_sequential_id()
    }

    fn updated_columns(&self) -> Option<&[u8]> {
        self.frame.updated.as_deref()
    }

    fn document(&self, handle: i64) -> Option<Arc<dyn Any + Send + Sync>> {
        let mut documents = self.session.held.documents.iter();
        let (_, found) = documents.find(|(known, _)| i64::from(*known) == handle)?;
        Some(Arc::clone(found))
    }

    fn parsed(&mut self) -> &mut Option<Box<dyn Any + Send>> {
        &mut self.scratch.xml
    }

    fn cancel(&self) -> &Arc<sos::park::Cancel> {
        &self.session.connection.cancel
    }

    fn session(&self) -> &dyn Any {
        &*self.session
    }

    fn session_mut(&mut self) -> &mut dyn Any {
        &mut *self.session
    }

    fn frame(&self) -> &dyn Any {
        &*self.frame
    }
}

/// The result of a data statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementResult {
    /// The kind of statement, for DONE.
    pub command: Command,
    /// Rows returned, assigned or changed: `@@ROWCOUNT`.
    pub rows: u64,
}

impl Cx<'_> {
    /// Makes room for a statement's registers.
    #[inline]
    pub fn reserve(&mut self, registers: u32) {
        let registers = registers as usize;
        if self.registers.len() < registers {
            self.registers.resize(registers, Value::Null);
        }
    }

    /// Takes the buffers that the session keeps between requests.
    #[inline]
    pub fn take_buffers(&mut self) {
        let kept = &mut self.session.caches.scratch;
        std::mem::swap(&mut self.registers, &mut kept.registers);
        std::mem::swap(&mut self.scratch, &mut kept.statement);
    }

    /// Returns the buffers to the session. Registers are set to NULL but kept: an idle connection's
    /// values hold no memory, and the next request does not allocate registers again.
    #[inline]
    pub fn keep_buffers(&mut self) {
        self.registers.truncate(REGISTERS_KEPT_MAX);
        self.registers.iter_mut().for_each(Value::clear);
        self.scratch.end_request();
        self.take_buffers();
    }

    /// Takes the buffers of the calling context for the duration of a call.
    #[inline]
    pub fn lend_buffers(&mut self, registers: &mut Vec<Value>, scratch: &mut Scratch) {
        std::mem::swap(&mut self.registers, registers);
        std::mem::swap(&mut self.scratch, scratch);
    }

    /// Returns the buffers to the calling context.
    #[inline]
    pub fn return_buffers(&mut self, registers: &mut Vec<Value>, scratch: &mut Scratch) {
        self.lend_buffers(registers, scratch);
    }

    /// Returns the statement's time, UTC: the clock is read at the first call.
    #[inline]
    pub fn now(&mut self) -> types::date::Moment {
        *self.now.get_or_insert_with(clock)
    }

    /// Returns the start time of the statement's transaction, as period columns store it.
    pub(crate) fn transaction_time(&mut self, data_type: &types::DataType) -> Value {
        let began = *self.session.transaction.time.get_or_insert_with(clock);
        catalog::period::of(began, data_type)
    }

    /// Returns a table's name with database and schema, as messages show it.
    pub fn qualified(&self, table: &catalog::TableDef) -> String {
        let database = self.session.catalog.database_by_id(table.database_id);
        let database = database.map(|d| d.name.as_str()).unwrap_or("tempdb");
        format!("{database}.{}", table.qualified_name())
    }

    /// Returns the session's options for conversions.
    #[inline]
    pub fn convert_options(&self) -> types::ConvertOptions {
        self.session.convert_options()
    }
}
