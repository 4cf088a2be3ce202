//! `Instance`: one engine with everything that it holds. There are no globals, so that two instances
//! live in one process.

mod card;
mod counters;
mod history;
mod login_failures;
mod metadata;
mod packed;
mod programs;
mod sessions;
mod templates;

use std::sync::Arc;

use sos::ledger::{self, State};
use sos::sync::{AtomicBool, AtomicU32, Ordering};
use types::{Collation, DataType, Value};

use crate::event::{Events, emit};
use crate::grant::Workspace;
use catalog::EventSessionDef;
use catalog::{Catalog, CatalogCell, Login, password};
use plan::stats::Statistics;
use plan::view::Library;

pub use card::datetime_of;
pub use card::{Facts, SessionCard};
pub use counters::{CounterTotals, DatabaseCounters, SessionCounter, SessionCounters};
pub use history::{History, PERIOD_SECONDS, Reading, Remembered};
pub use login_failures::{Answer, FailureKind, FailureRow, LoginFailures};
pub use metadata::LockMode;
pub use metadata::MetadataCache;
pub use packed::PackedRows;
pub use programs::SharedPrograms;
pub use sessions::{Nudge, OnNudge, SessionTotals, Sessions};
pub use templates::SharedTemplates;

/// How an instance is set up.
#[derive(Clone, Debug)]
pub struct Config {
    /// Password of `sa`.
    pub sa_password: String,
    /// Name that `@@SERVERNAME` gives.
    pub server_name: String,
    /// Limit on memory, in bytes.
    pub memory_max: u64,
    /// Limit on what one query takes of it for rows that it keeps, in bytes; 0 is a quarter of all.
    pub query_memory_max: u64,
    /// What stands between a statement and its metadata.
    pub lock_mode: LockMode,
    /// How much plans are optimized: less than everything is for tests.
    pub optimizer: plan::Level,
}

/// What the engine, which is above, has built in.
pub struct Built {
    /// Functions, views and procedures by name.
    pub library: &'static dyn Library,
    /// The event session that a fresh instance has.
    pub event_session: Arc<EventSessionDef>,
}

/// An engine.
pub struct Instance {
    /// How it was set up; the password is not kept.
    pub config: Config,
    /// Clock, schedulers, workers, statistics.
    pub machine: Arc<sos::sched::Machine>,
    /// Timestamps and snapshots of all tables.
    pub store: Arc<storage::Store>,
    /// The catalog snapshot and its version.
    pub catalog: CatalogCell,
    /// Who is connected.
    pub sessions: Sessions,
    /// Who has failed to log in, and how long the next answers wait.
    pub login_failures: LoginFailures,
    /// Programs of all sessions.
    pub programs: SharedPrograms,
    /// Programs with parameters, made of texts that differ in constants.
    pub templates: SharedTemplates,
    /// What was counted of statements and procedures.
    pub statistics: Arc<Statistics>,
    /// The ledger at earlier moments.
    pub history: History,
    /// What queries take for the rows that they keep.
    pub workspace: Arc<Workspace>,
    /// What statements and logins look up under a lock; none in the default mode.
    pub metadata: Option<MetadataCache>,
    /// Functions, views and procedures that are built in.
    pub library: &'static dyn Library,
    /// Event sessions that run.
    pub events: Events,
    /// Row or vector mode, where a test forces one.
    execution_mode: AtomicU32,
    /// Whether a table with a period has been made: only then do transactions note when they begin.
    periods: AtomicBool,
    /// Start time, as `datetime`.
    pub started: Value,
    /// Start time on the machine's monotonic clock, in ms.
    pub started_ms: u64,
}

/// How an instance runs its queries: a setting for tests, no part of T-SQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExecutionMode {
    /// As the number of rows says.
    #[default]
    Automatic,
    /// All in row mode.
    Row,
    /// In vector mode whatever can be.
    Vector,
}

impl Instance {
    /// Makes an instance with its system databases. The machine's and the store's background work is
    /// the caller's to start.
    pub fn new(
        mut config: Config,
        built: Built,
        machine: Arc<sos::sched::Machine>,
        store: Arc<storage::Store>,
    ) -> Arc<Self> {
        let started = catalog::clock::clock().to_value(&DataType::DateTime).unwrap_or(Value::Null);
        let sa = Login {
            name: "sa".to_owned(),
            password_hash: password::hash(&config.sa_password),
            sid: vec![1],
            principal_id: catalog::SA_PRINCIPAL,
            default_database: "master".to_owned(),
            sysadmin: true,
            roles: Vec::new(),
            disabled: false,
            policy: catalog::PasswordPolicy::none(),
            created: started.clone(),
            modified: started.clone(),
        };
        config.sa_password.clear();
        let catalog = Catalog::bootstrap(sa, Collation::default(), &started, built.event_session);
        let instance = Arc::new(Self {
            events: Events::new(&machine),
            metadata: MetadataCache::of_mode(config.lock_mode),
            workspace: Arc::new(Workspace::new(config.memory_max, config.query_memory_max)),
            library: built.library,
            config,
            machine,
            store,
            catalog: CatalogCell::new(catalog),
            sessions: Sessions::default(),
            login_failures: LoginFailures::default(),
            programs: SharedPrograms::default(),
            templates: SharedTemplates::default(),
            statistics: Arc::default(),
            history: History::default(),
            periods: AtomicBool::new(false),
            execution_mode: AtomicU32::new(ExecutionMode::Automatic as u32),
            started,
            started_ms: sos::clock::monotonic_ns() / 1_000_000,
        });
        let watching = Arc::downgrade(&instance);
        instance.store.locks().watch_deadlocks(Box::new(move |deadlock| {
            if let Some(instance) = watching.upgrade() {
                emit::lock::deadlock(&instance, deadlock);
            }
        }));
        instance
    }

    /// Starts the event sessions that are to run from the start of the server on.
    ///
    /// # Errors
    /// What keeps one from it.
    pub fn start_event_sessions(&self) -> Result<(), String> {
        self.events.start_all(self.catalog.load().event_sessions.values())
    }

    /// Tells whether a table with a period has ever been made.
    pub fn has_periods(&self) -> bool {
        // Relaxed: a transaction that begins beside it asks for its time when it needs it.
        self.periods.load(Ordering::Relaxed)
    }

    /// Notes that there is a table with a period.
    pub fn note_periods(&self) {
        self.periods.store(true, Ordering::Relaxed);
    }

    /// Returns how queries run.
    pub fn execution_mode(&self) -> ExecutionMode {
        // Relaxed: it says nothing about any other memory.
        match self.execution_mode.load(Ordering::Relaxed) {
            1 => ExecutionMode::Row,
            2 => ExecutionMode::Vector,
            _ => ExecutionMode::Automatic,
        }
    }

    /// Makes statements with parameters of the first text of a kind, not of the second; for tests.
    pub fn parameterize_at_once(&self) {
        self.templates.make_at_once();
    }

    /// Forces a mode on all queries opened from now on; for tests.
    pub fn set_execution_mode(&self, mode: ExecutionMode) {
        self.execution_mode.store(mode as u32, Ordering::Relaxed);
    }

    /// Has plans of an older catalog let go where tables that were dropped are still in somebody's hands: in the
    /// caches, and in sessions that may be idle for long. For a background task, every few seconds.
    pub fn let_go_of_dropped(&self) {
        if self.store.take_held() {
            let version = self.catalog.version();
            self.programs.let_go(version);
            self.templates.let_go(version);
            self.sessions.let_go();
        }
    }

    /// Keeps where the time has gone until now; for a background task, every [`PERIOD_SECONDS`].
    pub fn remember(&self) {
        let before = ledger::to(State::Observing);
        self.history.remember(&Remembered::of(self.machine.accounts().close()));
        ledger::to(before);
    }
}
