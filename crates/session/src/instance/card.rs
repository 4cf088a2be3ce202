//! `SessionCard`: what a session tells others of itself, for `sys.dm_exec_sessions` and its kin.
//!
//! One writer, the session. What changes with every request are relaxed stores to cells that only it
//! writes; what changes rarely (options, database, what was agreed with the client) is behind a lock
//! that is taken when it has changed. Readers tolerate being one request behind.

use std::sync::Arc;

use sos::clock;
use sos::ledger::SessionBooks;
use sos::lock::{SpinClass, SpinLock};
use sos::park::Cancel;
use sos::sync::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use types::date::Moment;
use types::{DataType, Value};

use crate::grant::Grant;
use crate::instance::SessionCounters;
use crate::{ClientInfo, IsolationLevel, Options, SessionState};
use plan::stats::Live;

/// What others may know of a session.
pub struct SessionCard {
    /// `session_id`
    pub id: i16,
    /// Login name.
    pub login: String,
    /// Login time, as `datetime`.
    pub login_time: Value,
    /// The flag that KILL raises.
    pub cancel: Arc<Cancel>,
    /// `connection_id`
    pub connection_id: Value,
    /// What its running request shows of itself.
    pub live: Arc<Live>,
    /// What its running query has taken.
    pub grant: Arc<Grant>,
    /// What its requests have spent and waited for.
    pub books: Arc<SessionBooks>,
    resets: AtomicU64,
    rows: AtomicU64,
    error: AtomicI64,
    transactions: AtomicU32,
    isolation: AtomicU32,
    /// What it counts of its own doing.
    pub counters: Arc<SessionCounters>,
    facts: SpinLock<Facts>,
}

/// What changes rarely.
#[derive(Clone)]
pub struct Facts {
    /// Current database.
    pub database: Arc<str>,
    /// Database at login.
    pub login_database: Arc<str>,
    /// SET options.
    pub options: Options,
    /// The client.
    pub client: ClientInfo,
}

impl SessionCard {
    /// Makes the card of a session that has just logged in.
    pub fn new(state: &SessionState) -> Self {
        let facts = Facts {
            database: Arc::clone(&state.database),
            login_database: Arc::clone(&state.login_database),
            options: state.options.clone(),
            client: state.client.clone(),
        };
        Self {
            id: state.id,
            login: state.login.clone(),
            login_time: state.login_time.clone(),
            cancel: Arc::clone(&state.cancel),
            connection_id: catalog::new_guid(),
            live: Arc::clone(state.meter.live()),
            grant: Arc::clone(&state.grant),
            books: Arc::clone(&state.books),
            resets: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            error: AtomicI64::new(0),
            transactions: AtomicU32::new(0),
            isolation: AtomicU32::new(isolation_number(state.isolation)),
            counters: Arc::clone(&state.counters),
            facts: SpinLock::new(SpinClass::SessionManager, facts),
        }
    }

    /// Notes that a request has ended, and how the session stands then.
    pub fn end_request(&self, state: &SessionState) {
        self.live.end_request();
        // Relaxed, here and below: statistics, of which this thread is the only writer.
        self.rows.store(state.row_count, Ordering::Relaxed);
        self.error.store(i64::from(state.last_error), Ordering::Relaxed);
        self.transactions.store(state.transaction.count, Ordering::Relaxed);
        self.isolation.store(isolation_number(state.isolation), Ordering::Relaxed);
    }

    /// Notes a reset.
    pub fn count_reset(&self) {
        let resets = self.resets.load(Ordering::Relaxed);
        self.resets.store(resets + 1, Ordering::Relaxed);
    }

    /// Publishes what changes rarely.
    pub fn publish(&self, state: &SessionState) {
        let mut facts = self.facts.lock();
        facts.database = Arc::clone(&state.database);
        facts.options.clone_from(&state.options);
        facts.client.clone_from(&state.client);
        drop(facts);
        self.isolation.store(isolation_number(state.isolation), Ordering::Relaxed);
    }

    /// Returns what changes rarely.
    pub fn facts(&self) -> Facts {
        self.facts.lock().clone()
    }

    /// Tells whether a request runs.
    pub fn is_running(&self) -> bool {
        self.live.is_running()
    }

    /// Returns when the last request began, as `datetime`.
    pub fn last_start(&self) -> Value {
        datetime_of(self.live.started())
    }

    /// Returns when the last request ended, as `datetime`.
    pub fn last_end(&self) -> Value {
        datetime_of(self.live.ended())
    }

    /// Returns how long the running request has been running, in ms.
    pub fn elapsed_ms(&self) -> u64 {
        let ticks = clock::now_ticks().saturating_sub(self.live.started());
        clock::ticks_to_ns(ticks) / 1_000_000
    }

    /// Returns the number of requests so far.
    pub fn requests(&self) -> u64 {
        self.live.requests()
    }

    /// Returns the number of resets so far.
    pub fn resets(&self) -> u64 {
        self.resets.load(Ordering::Relaxed)
    }

    /// Returns `@@ROWCOUNT` after the last request.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Returns `@@ERROR` after the last request.
    pub fn error(&self) -> i64 {
        self.error.load(Ordering::Relaxed)
    }

    /// Returns `@@TRANCOUNT` after the last request.
    pub fn transactions(&self) -> u32 {
        self.transactions.load(Ordering::Relaxed)
    }

    /// Returns the number of the isolation level.
    pub fn isolation(&self) -> u32 {
        self.isolation.load(Ordering::Relaxed)
    }
}

/// Returns the number by which views show an isolation level.
pub(super) fn isolation_number(level: IsolationLevel) -> u32 {
    match level {
        IsolationLevel::ReadUncommitted => 1,
        IsolationLevel::ReadCommitted => 2,
        IsolationLevel::RepeatableRead => 3,
        IsolationLevel::Serializable => 4,
        IsolationLevel::Snapshot => 5,
    }
}

/// The time of day of a reading of the cycle counter.
pub fn datetime_of(ticks: u64) -> Value {
    let ago = clock::ticks_to_ns(clock::now_ticks().saturating_sub(ticks)) / 100;
    let now: Moment = catalog::clock::clock();
    let moment = now.plus_ticks(-i64::try_from(ago).unwrap_or(0));
    moment.and_then(|m| m.to_value(&DataType::DateTime).ok()).unwrap_or(Value::Null)
}
