//! `Instance`: one engine with all its state. There are no globals, so that two instances can run
//! in one process.

mod activity;
mod card;
mod counters;
mod history;
mod login_failures;
mod memory_health;
mod metadata;
mod packed;
mod query_stores;
mod sessions;
mod shown_time;
mod standing;

use std::sync::Arc;

use durable::{Database, Folder, Progress, Recovered, Settings};
use sos::ledger::{self, State};
use sos::lock::{SpinClass, SpinLock};
use sos::sync::{AtomicBool, AtomicU32, OnceLock, Ordering};
use types::{Collation, DataType, Value};

use crate::describer::Describer;
use crate::event::{Events, emit};
use crate::grant::Workspace;
use crate::plan_cache::{SharedPrograms, SharedTemplates};
use catalog::EventSessionDef;
use catalog::{Catalog, CatalogCell, Login, password};
use plan::program::Program;
use plan::stats::Statistics;
use plan::view::Library;
use query_store::QueryStore;

pub use activity::{Monitored, ServerActivity};
pub use card::{Facts, SessionCard};
pub use counters::{CounterTotals, DatabaseCounters, SessionCounter, SessionCounters};
pub use history::{History, PERIOD_SECONDS, Reading, Remembered};
pub use login_failures::{Answer, FailureKind, FailureRow, LoginFailures};
pub use memory_health::{MemoryHealth, MemorySnapshot, Severity};
pub use metadata::LockMode;
pub use metadata::MetadataCache;
pub use packed::PackedRows;
pub use query_stores::QUERY_STORE_PERIOD_SECONDS;
pub use sessions::{Nudge, OnNudge, SessionTotals, Sessions};
pub use shown_time::datetime_of;
pub use standing::{Shutdown, Stopper};

/// Settings of an instance.
#[derive(Clone, Debug)]
pub struct Config {
    /// Initial password of `sa`.
    pub sa_password: String,
    /// Name that `@@SERVERNAME` returns.
    pub server_name: String,
    /// Limit of the instance's memory, in bytes.
    pub memory_max: u64,
    /// Limit of the memory that one query may use for buffered rows, in bytes; 0 for a quarter of
    /// the instance's.
    pub query_memory_max: u64,
    /// How statements look up metadata.
    pub lock_mode: LockMode,
    /// Level of optimization; less than full is for tests.
    pub optimizer: plan::Level,
}

/// Built-in items, which crates above this one provide.
pub struct Built {
    /// Functions, views and procedures by name.
    pub library: &'static dyn Library,
    /// Binds definitions to describe them.
    pub describer: &'static dyn Describer,
    /// The event session of a fresh instance.
    pub event_session: Arc<EventSessionDef>,
    /// How plans are kept in a Query Store.
    pub plans: Plans,
}

/// How plans are shown.
#[derive(Clone, Copy)]
pub struct Plans {
    /// Version of the server that makes them.
    pub version: &'static str,
    /// Writes the plans of the statements of a program that begin between two bytes of its text as
    /// XML. The names of a plan are those of a catalog and a database, its degree depends on the
    /// number of schedulers.
    pub document: PlanDocument,
}

/// A function that writes plans as XML: see [`Plans::document`].
pub type PlanDocument =
    fn(&Arc<Program>, (&Catalog, &str, usize), Option<(u32, u32)>) -> Option<String>;

/// One engine with all its state.
pub struct Instance {
    /// Its settings; the password is erased.
    pub config: Config,
    /// Clock, schedulers, workers, statistics.
    pub machine: Arc<sos::sched::Machine>,
    /// Timestamps and snapshots of all tables.
    pub store: Arc<storage::Store>,
    /// The catalog snapshot and its version.
    pub catalog: Arc<CatalogCell>,
    /// Open sessions, by id.
    pub sessions: Sessions,
    /// Failed logins, and the delay of the next answers.
    pub login_failures: LoginFailures,
    /// Compiled programs of all sessions.
    pub programs: SharedPrograms,
    /// Parameterised programs for texts that differ only in constants.
    pub templates: SharedTemplates,
    /// Execution statistics of statements and procedures.
    pub statistics: Arc<Statistics>,
    /// Snapshots of the ledger at earlier times.
    pub history: History,
    /// Snapshots of its memory at earlier times.
    pub memory_health: MemoryHealth,
    /// What sp_monitor has read when it ran last.
    pub monitored: SpinLock<Option<Monitored>>,
    /// Memory that queries use to buffer rows.
    pub workspace: Arc<Workspace>,
    /// Tables in which statements and logins look up metadata under a lock; `None` in the default
    /// mode.
    pub metadata: Option<MetadataCache>,
    /// Built-in functions, views and procedures.
    pub library: &'static dyn Library,
    /// Binds definitions to describe them.
    pub describer: &'static dyn Describer,
    /// Event sessions that are running.
    pub events: Events,
    /// What the queries of databases have cost over time.
    pub query_store: QueryStore,
    /// Who collects for the Query Stores, and when.
    collecting: query_stores::Collecting,
    plans: Plans,
    /// Row or vector mode, if a test forces one.
    execution_mode: AtomicU32,
    /// Whether any table has a period: only then do transactions record their start time.
    periods: AtomicBool,
    /// What makes the instance durable; empty for one that lives in memory only.
    durable: OnceLock<Database>,
    /// How SHUTDOWN stops the server.
    stop_switch: standing::StopSwitch,
    /// Start time, as `datetime`.
    pub started: Value,
    /// Start time on the machine's monotonic clock, in ms.
    pub started_ms: u64,
}

/// The execution mode of queries: a setting for tests, without T-SQL syntax.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExecutionMode {
    /// Chosen by the number of rows.
    #[default]
    Automatic,
    /// Row mode for all operators.
    Row,
    /// Vector mode for every operator that has it.
    Vector,
}

impl Instance {
    /// Returns an instance with its system databases. The caller starts the background work of the
    /// machine and the store.
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
            default_language: types::Language::us_english(),
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
            describer: built.describer,
            query_store: QueryStore::default(),
            collecting: query_stores::Collecting::default(),
            plans: built.plans,
            config,
            machine,
            store,
            catalog: Arc::new(CatalogCell::new(catalog)),
            sessions: Sessions::default(),
            login_failures: LoginFailures::default(),
            programs: SharedPrograms::default(),
            templates: SharedTemplates::default(),
            statistics: Arc::default(),
            history: History::default(),
            memory_health: MemoryHealth::default(),
            monitored: SpinLock::new(SpinClass::ServerOther, None),
            periods: AtomicBool::new(false),
            execution_mode: AtomicU32::new(ExecutionMode::Automatic as u32),
            durable: OnceLock::new(),
            stop_switch: standing::StopSwitch::default(),
            started,
            started_ms: sos::clock::monotonic_ns() / 1_000_000,
        });
        let watching = Arc::downgrade(&instance);
        instance.store.locks().watch_deadlocks(Box::new(move |deadlock| {
            if let Some(instance) = watching.upgrade() {
                emit::deadlock::found(&instance, deadlock);
            }
        }));
        instance
    }

    /// Starts the event sessions with STARTUP_STATE = ON.
    ///
    /// # Errors
    /// The reason why one cannot start.
    pub fn start_event_sessions(&self) -> Result<(), String> {
        self.events.start_all(self.catalog.load().event_sessions.values())
    }

    /// Opens the database in a folder, and brings back what it has. To be called once, before the
    /// first session.
    ///
    /// # Errors
    /// A sentence that says what is wrong; the instance cannot be used then.
    pub fn open_database(&self, folder: Folder, settings: &Settings) -> Result<Recovered, String> {
        self.recover_database(folder, settings, &Progress::default())
    }

    /// As [`Self::open_database`], and notes how far it is.
    ///
    /// # Errors
    /// As there.
    pub fn recover_database(
        &self,
        folder: Folder,
        settings: &Settings,
        progress: &Progress,
    ) -> Result<Recovered, String> {
        let parts = durable::Instance {
            machine: &self.machine,
            store: &self.store,
            catalog: &self.catalog,
            events: &crate::event::registry::NAMES,
            progress,
        };
        let (database, recovered) = durable::open(folder, settings, parts)?;
        assert!(self.durable.set(database).is_ok(), "an instance has one database");
        let catalog = self.catalog.load();
        let mut tables = catalog.databases.values().flat_map(|database| database.objects.values());
        let has_period = |object: &catalog::Object| match object {
            catalog::Object::Table(table) => table.period.is_some(),
            _ => false,
        };
        if tables.any(has_period) {
            self.note_periods();
        }
        self.read_query_stores();
        Ok(recovered)
    }

    /// Sets the password of `sa`, as the operator who starts the server may.
    ///
    /// # Errors
    /// 9002 and 9001 of the log.
    pub fn set_sa_password(&self, text: &str) -> types::Result<()> {
        let has_it = |login: &Arc<catalog::Login>| {
            login.principal_id == catalog::SA_PRINCIPAL
                && password::matches(&login.password_hash, text)
        };
        // A start with the password of the one before writes nothing, and so needs no room in the log.
        if self.catalog.load().logins.values().into_iter().any(has_it) {
            return Ok(());
        }
        self.catalog.change(|catalog| {
            let logins = catalog.logins.values_mut();
            let sa = logins.into_iter().find(|login| login.principal_id == catalog::SA_PRINCIPAL);
            if let Some(sa) = sa {
                Arc::make_mut(sa).password_hash = password::hash(text);
            }
            Ok(())
        })
    }

    /// Returns what makes the instance durable; `None` for one that lives in memory only.
    #[inline]
    pub fn durable(&self) -> Option<&Database> {
        self.durable.get()
    }

    /// Returns whether a table with a period was ever created.
    pub fn has_periods(&self) -> bool {
        // Relaxed: a transaction that misses a concurrent change reads its start time when it needs
        // it.
        self.periods.load(Ordering::Relaxed)
    }

    /// Notes that a table with a period exists.
    pub fn note_periods(&self) {
        self.periods.store(true, Ordering::Relaxed);
    }

    /// Returns the execution mode of queries.
    pub fn execution_mode(&self) -> ExecutionMode {
        // Relaxed: it orders no other memory.
        match self.execution_mode.load(Ordering::Relaxed) {
            1 => ExecutionMode::Row,
            2 => ExecutionMode::Vector,
            _ => ExecutionMode::Automatic,
        }
    }

    /// Parameterises the first text of a kind, instead of the second; for tests.
    pub fn parameterize_at_once(&self) {
        self.templates.make_at_once();
    }

    /// Sets the execution mode of queries that are opened from now on; for tests.
    pub fn set_execution_mode(&self, mode: ExecutionMode) {
        self.execution_mode.store(mode as u32, Ordering::Relaxed);
    }

    /// Drops plans of older catalogs if any of them still refers to a dropped table: in the shared
    /// caches, and in sessions that may be idle for long. Called by a background task every few
    /// seconds.
    pub fn let_go_of_dropped(&self) {
        if self.store.take_held() {
            let version = self.catalog.version();
            self.programs.let_go(version);
            self.templates.let_go(version);
            self.sessions.let_go();
        }
    }

    /// Records where time has gone so far; called by a background task every [`PERIOD_SECONDS`].
    pub fn remember(&self) {
        let before = ledger::to(State::Observing);
        self.history.remember(&Remembered::of(self.machine.accounts().close()));
        self.memory_health.tick(&self.workspace.now());
        ledger::to(before);
    }
}
