//! `SessionCard`: what a session shows to other sessions, for `sys.dm_exec_sessions` and related
//! views.
//!
//! There is one writer, the session. Values that change with every request are relaxed stores to
//! cells that only it writes; values that change rarely (options, database, the client's
//! properties) are behind a lock that is taken when they change. Readers tolerate being one request
//! behind.

use std::sync::Arc;

use sos::clock;
use sos::ledger::SessionBooks;
use sos::lock::{SpinClass, SpinLock};
use sos::park::Cancel;
use sos::sync::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use types::Value;

use crate::cursor::{CursorFacts, ShownCursors};
use crate::grant::Grant;
use crate::instance::SessionCounters;
use crate::instance::shown_time::datetime_of;
use crate::live_profile::LiveProfiles;
use crate::trace::Trace;
use crate::{ClientInfo, IsolationLevel, Options, SessionState, Traffic};
use plan::stats::Live;

/// What other sessions can see of a session.
pub struct SessionCard {
    /// `session_id`; 51 and more.
    pub id: i16,
    /// Name of the login.
    pub login: String,
    /// Login time, as `datetime`.
    pub login_time: Value,
    /// The flag that KILL and attentions set.
    pub cancel: Arc<Cancel>,
    /// `connection_id`, a random `uniqueidentifier`.
    pub connection_id: Value,
    /// State of its running request.
    pub live: Arc<Live>,
    /// Memory of its running query.
    pub grant: Arc<Grant>,
    /// Times and waits of its requests.
    pub books: Arc<SessionBooks>,
    resets: AtomicU64,
    rows: AtomicU64,
    error: AtomicI64,
    transactions: AtomicU32,
    isolation: AtomicU32,
    /// Counters of its activity.
    pub counters: Arc<SessionCounters>,
    /// The distributed trace that it works for.
    pub trace: Arc<Trace>,
    /// Operators of its running statements that are profiled.
    pub profiles: Arc<LiveProfiles>,
    facts: SpinLock<Facts>,
    cursors: ShownCursors,
}

/// Properties that change rarely.
#[derive(Clone)]
pub struct Facts {
    /// Name of the current database.
    pub database: Arc<str>,
    /// Name of the database at login.
    pub login_database: Arc<str>,
    /// SET options of the session.
    pub options: Options,
    /// Properties of the client.
    pub client: ClientInfo,
}

impl SessionCard {
    /// Returns the card of a session that has just logged in.
    pub fn new(state: &SessionState) -> Self {
        let facts = Facts {
            database: Arc::clone(&state.identity.database),
            login_database: Arc::clone(&state.connection.login_database),
            options: state.options.clone(),
            client: state.connection.client.clone(),
        };
        Self {
            id: state.connection.id,
            login: state.identity.login.clone(),
            login_time: state.connection.login_time.clone(),
            cancel: Arc::clone(&state.connection.cancel),
            connection_id: catalog::new_guid(),
            live: Arc::clone(state.accounting.meter.live()),
            grant: Arc::clone(&state.accounting.grant),
            books: Arc::clone(&state.accounting.books),
            resets: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            error: AtomicI64::new(0),
            transactions: AtomicU32::new(0),
            isolation: AtomicU32::new(isolation_number(state.isolation)),
            counters: Arc::clone(&state.accounting.counters),
            trace: Arc::clone(&state.accounting.trace),
            profiles: Arc::clone(&state.accounting.profiles),
            facts: SpinLock::new(SpinClass::SessionManager, facts),
            cursors: Arc::clone(&state.connection.cursors),
        }
    }

    /// Notes that a request has ended, and publishes the session's values.
    pub fn end_request(&self, state: &SessionState) {
        self.live.end_request();
        // Relaxed, here and below: statistics with this thread as the only writer.
        self.rows.store(state.last.row_count, Ordering::Relaxed);
        self.error.store(i64::from(state.last.error), Ordering::Relaxed);
        self.transactions.store(state.transaction.count, Ordering::Relaxed);
        self.isolation.store(isolation_number(state.isolation), Ordering::Relaxed);
    }

    /// Counts a reset of the connection.
    pub fn count_reset(&self) {
        let resets = self.resets.load(Ordering::Relaxed);
        self.resets.store(resets + 1, Ordering::Relaxed);
    }

    /// Publishes the properties that change rarely.
    pub fn publish(&self, state: &SessionState) {
        let mut facts = self.facts.lock();
        facts.database = Arc::clone(&state.identity.database);
        facts.options.clone_from(&state.options);
        facts.client.clone_from(&state.connection.client);
        drop(facts);
        self.isolation.store(isolation_number(state.isolation), Ordering::Relaxed);
    }

    /// Returns what is shown of its cursors.
    pub fn cursors(&self) -> Vec<CursorFacts> {
        self.cursors.lock().clone()
    }

    /// Returns the properties that change rarely.
    pub fn facts(&self) -> Facts {
        self.facts.lock().clone()
    }

    /// Returns the counts of its connection.
    pub fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.facts.lock().client.traffic)
    }

    /// Returns whether a request runs.
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

    /// Returns the duration of the running request so far, in ms.
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

    /// Returns the number of the isolation level, as views show it.
    pub fn isolation(&self) -> u32 {
        self.isolation.load(Ordering::Relaxed)
    }
}

/// Returns the number that views show for an isolation level.
pub(super) fn isolation_number(level: IsolationLevel) -> u32 {
    match level {
        IsolationLevel::ReadUncommitted => 1,
        IsolationLevel::ReadCommitted => 2,
        IsolationLevel::RepeatableRead => 3,
        IsolationLevel::Serializable => 4,
        IsolationLevel::Snapshot => 5,
    }
}
