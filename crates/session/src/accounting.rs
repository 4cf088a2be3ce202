//! `Accounting`: what is counted, timed and charged to a session.

use std::sync::Arc;

use sos::ledger::SessionBooks;
use sos::park::Cancel;

use crate::grant::Grant;
use crate::instance::{DatabaseCounters, Instance, SessionCounters};
use crate::live_profile::LiveProfiles;
use crate::trace::Trace;
use plan::stats::{Live, Meter};

/// The counters, times and memory of a session. They last as long as the connection, and other
/// sessions see them through the session's card; a reset of the connection sets `books` to zero.
pub struct Accounting {
    /// Counters of the session's activity.
    pub counters: Arc<SessionCounters>,
    /// Counters for its current database.
    pub database_counters: Arc<DatabaseCounters>,
    /// Statement statistics of the session.
    pub meter: Meter,
    /// Time spent compiling since the last report to the client, in ns.
    pub compile_ns: u64,
    /// Memory that its running query uses to buffer rows.
    pub grant: Arc<Grant>,
    /// Times and waits of its requests.
    pub books: Arc<SessionBooks>,
    /// The distributed trace that it works for.
    pub trace: Arc<Trace>,
    /// Operators of its running statements that are profiled.
    pub profiles: Arc<LiveProfiles>,
}

impl Accounting {
    /// Returns the accounting of a session that logs in to a database, given by id. An attention
    /// sets `cancel`, which ends a wait for memory.
    pub fn new(instance: &Instance, cancel: &Arc<Cancel>, database: i16) -> Self {
        let counters = Arc::<SessionCounters>::default();
        let books = Arc::<SessionBooks>::default();
        Self {
            database_counters: counters.of_database(database),
            counters,
            meter: Meter::new(Arc::new(Live::new(sos::clock::now_ticks())), Arc::clone(&books)),
            compile_ns: 0,
            grant: Arc::new(Grant::new(&instance.workspace, cancel)),
            books,
            trace: Arc::default(),
            profiles: Arc::default(),
        }
    }

    /// Returns the accounting of a member of a MARS connection: it counts for the login session, and
    /// has its own memory grant, since its attention ends its waits only.
    pub(crate) fn of_member(login: &Self, instance: &Instance, cancel: &Arc<Cancel>) -> Self {
        Self {
            counters: Arc::clone(&login.counters),
            database_counters: Arc::clone(&login.database_counters),
            meter: Meter::new(Arc::clone(login.meter.live()), Arc::clone(&login.books)),
            compile_ns: 0,
            grant: Arc::new(Grant::new(&instance.workspace, cancel)),
            books: Arc::clone(&login.books),
            trace: Arc::clone(&login.trace),
            profiles: Arc::clone(&login.profiles),
        }
    }

    /// Returns the accounting of a helper: the session's memory grant, and new statistics, which are
    /// added to the session's when the helper ends. A helper's counters are not read.
    pub(crate) fn of_helper(&self) -> Self {
        let books = Arc::<SessionBooks>::default();
        Self {
            counters: Arc::default(),
            database_counters: Arc::default(),
            meter: Meter::new(Arc::new(Live::default()), Arc::clone(&books)),
            compile_ns: 0,
            grant: Arc::clone(&self.grant),
            books,
            trace: Arc::default(),
            profiles: Arc::default(),
        }
    }
}
