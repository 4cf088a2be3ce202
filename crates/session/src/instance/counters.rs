//! Counters of each session's activity, for `sys.dm_os_performance_counters`.
//!
//! There is one writer, the session: counting is a load and a store to a cache line that no other
//! thread writes. Readers add up the open sessions, and the sums of those that have ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use sos::ledger::Counter;
use sos::lock::{SpinClass, SpinLock};

/// The events that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionCounter {
    /// Requests: batches and RPCs.
    Requests,
    /// Compilations of texts and procedures.
    Compilations,
    /// Plans for one execution, because they depend on the session or on a newer catalog.
    Recompilations,
    /// Lookups of programs in the plan cache.
    PlanLookups,
    /// Lookups that found no program.
    PlanMisses,
    /// Attentions: cancellations by the client.
    Attentions,
    /// Creations of temporary tables.
    TempTablesMade,
    /// Drops of temporary tables.
    TempTablesDropped,
    /// Messages of severity up to 10.
    InfoErrors,
    /// Messages of severity 11 to 19.
    UserErrors,
    /// Messages of severity 20 and more, which end the connection.
    FatalErrors,
    /// Transactions chosen as deadlock victim.
    Deadlocks,
    /// Transactions rolled back, for any reason.
    Aborts,
    /// Transactions rolled back at the client's request.
    UserAborts,
    /// Transactions that failed validation at commit.
    ValidationFailures,
    /// Savepoints that were set.
    Savepoints,
    /// Rollbacks to a savepoint.
    SavepointRollbacks,
}

impl SessionCounter {
    /// Number of different counters.
    const COUNT: usize = Self::SavepointRollbacks as usize + 1;
}

/// The counters of one session. They have their own cache lines.
#[derive(Debug)]
#[repr(align(128))]
pub struct SessionCounters {
    cells: [Counter; SessionCounter::COUNT],
    /// Counters per database it has used. The lock is taken when it switches to another one.
    databases: SpinLock<Vec<(i16, Arc<DatabaseCounters>)>>,
}

/// The counters of a session for one database.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct DatabaseCounters {
    /// Transactions begun, including those of single statements.
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
    /// Counts one event. Called by the session only.
    #[inline]
    pub fn count(&self, counter: SessionCounter) {
        self.add(counter, 1);
    }

    /// Counts several events. Called by the session only.
    #[inline]
    pub fn add(&self, counter: SessionCounter, count: u64) {
        self.cells[counter as usize].add(count);
    }

    /// Counts a transaction that failed to commit. Called by the session only.
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

    /// Returns the session's counters for a database.
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

/// The sum of several sessions' counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterTotals {
    cells: [u64; SessionCounter::COUNT],
    /// Transactions begun, and those that wrote, by `database_id`.
    databases: BTreeMap<i16, (u64, u64)>,
}

impl CounterTotals {
    /// Adds the counters of a session.
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

    /// Returns the sum of a counter.
    #[must_use]
    pub fn get(&self, counter: SessionCounter) -> u64 {
        self.cells[counter as usize]
    }

    /// Returns the number of transactions begun in a database, and of those that wrote and
    /// committed.
    #[must_use]
    pub fn transactions(&self, database_id: i16) -> (u64, u64) {
        self.databases.get(&database_id).copied().unwrap_or_default()
    }

    /// Returns the same for all databases, dropped ones included.
    #[must_use]
    pub fn all_transactions(&self) -> (u64, u64) {
        self.databases.values().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
    }
}
