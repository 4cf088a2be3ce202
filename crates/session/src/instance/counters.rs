//! What each session counts of its own doing, for `sys.dm_os_performance_counters`.
//!
//! One writer, the session: counting is a load and a store to a line that nobody else writes. Readers
//! add up the sessions that are open and the sums of those that are gone.

use std::collections::BTreeMap;
use std::sync::Arc;

use sos::ledger::Counter;
use sos::lock::{SpinClass, SpinLock};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionCounter {
    /// Batches and RPCs.
    Requests,
    /// Texts and procedures compiled.
    Compilations,
    /// Plans made for one execution, because they depend on the session or a newer catalog.
    Recompilations,
    /// Programs looked for in the plan cache.
    PlanLookups,
    /// Programs not found there.
    PlanMisses,
    /// Attentions of the client.
    Attentions,
    /// Temporary tables made.
    TempTablesMade,
    /// Temporary tables dropped.
    TempTablesDropped,
    /// Messages of severity 10 and less.
    InfoErrors,
    /// Messages of severity 11 to 19.
    UserErrors,
    /// Messages of severity 20 and more, which end the connection.
    FatalErrors,
    /// Transactions chosen as the victim of a deadlock.
    Deadlocks,
    /// Transactions rolled back, for whatever reason.
    Aborts,
    /// Transactions rolled back because the client asked for it.
    UserAborts,
    /// Transactions that failed validation at commit.
    ValidationFailures,
    /// Savepoints made.
    Savepoints,
    /// Times that a transaction went back to a savepoint.
    SavepointRollbacks,
}

impl SessionCounter {
    /// How many there are.
    const COUNT: usize = Self::SavepointRollbacks as usize + 1;
}

/// One session's counters, on cache lines of their own.
#[derive(Debug)]
#[repr(align(128))]
pub struct SessionCounters {
    cells: [Counter; SessionCounter::COUNT],
    /// Those of the databases that it has been in. The lock is taken when it goes to another one.
    databases: SpinLock<Vec<(i16, Arc<DatabaseCounters>)>>,
}

/// What a session counts in one database.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct DatabaseCounters {
    /// Transactions begun, those of single statements included.
    pub transactions: Counter,
    /// Transactions that wrote and committed.
    pub writes: Counter,
}

impl Default for SessionCounters {
    fn default() -> Self {
        Self {
            cells: Default::default(),
            databases: SpinLock::new(SpinClass::SessionManager, Vec::new()),
        }
    }
}

impl SessionCounters {
    /// Counts one; called by the session only.
    #[inline]
    pub fn count(&self, counter: SessionCounter) {
        self.add(counter, 1);
    }

    /// Counts several; called by the session only.
    #[inline]
    pub fn add(&self, counter: SessionCounter, count: u64) {
        self.cells[counter as usize].add(count);
    }

    /// Counts a transaction that could not commit; called by the session only.
    pub fn count_failed_commit(&self, error: &storage::Error) {
        self.count(SessionCounter::Aborts);
        let validation = matches!(
            error,
            storage::Error::RepeatableReadFailure | storage::Error::SerializableFailure
        );
        if validation {
            self.count(SessionCounter::ValidationFailures);
        }
    }

    /// Returns what the session counts in a database.
    pub fn of_database(&self, id: i16) -> Arc<DatabaseCounters> {
        let mut databases = self.databases.lock();
        if let Some((_, found)) = databases.iter().find(|(known, _)| *known == id) {
            return Arc::clone(found);
        }
        let new = Arc::<DatabaseCounters>::default();
        databases.push((id, Arc::clone(&new)));
        new
    }
}

/// Counters added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterTotals {
    cells: [u64; SessionCounter::COUNT],
    /// Transactions, and those that wrote, by `database_id`.
    databases: BTreeMap<i16, (u64, u64)>,
}

impl CounterTotals {
    /// Adds a session's.
    pub(crate) fn absorb(&mut self, session: &SessionCounters) {
        for (sum, cell) in self.cells.iter_mut().zip(&session.cells) {
            *sum += cell.get();
        }
        for (id, counters) in session.databases.lock().iter() {
            let (transactions, writes) = self.databases.entry(*id).or_default();
            *transactions += counters.transactions.get();
            *writes += counters.writes.get();
        }
    }

    /// The sum of a counter.
    #[must_use]
    pub fn get(&self, counter: SessionCounter) -> u64 {
        self.cells[counter as usize]
    }

    /// Transactions begun in a database, and how many of them wrote and committed.
    #[must_use]
    pub fn transactions(&self, database_id: i16) -> (u64, u64) {
        self.databases.get(&database_id).copied().unwrap_or_default()
    }

    /// The same of all databases, those that are gone included.
    #[must_use]
    pub fn all_transactions(&self) -> (u64, u64) {
        self.databases.values().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
    }
}
