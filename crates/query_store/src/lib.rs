//! The Query Store: what the queries of a database have cost over time, by SQL Server's names.
//!
//! ```text
//!   plan::stats ─► Collector ─► Sweep: differences ─► DatabaseStore: texts, queries, plans, intervals
//!                                                         │  ▲
//!                                                 views ◄─┘  └─► bytes ─► a file in the data folder
//! ```
//!
//! | looking for                                     | start here     |
//! |-------------------------------------------------|----------------|
//! | what ALTER DATABASE .. SET QUERY_STORE has set  | `options.rs`   |
//! | what was recorded                               | `store.rs`     |
//! | which queries are recorded, how much, how long  | `database.rs`  |
//! | a collection: from counts to entries            | `sweep.rs`     |
//! | the difference of two readings of a statement   | `count.rs`     |
//! | average, minimum, maximum and deviation         | `measure.rs`   |
//! | a store as bytes                                | `bytes.rs`     |
//!
//! Requests write nothing here: they count for the statement statistics, as they do without it, and a
//! collection reads those once a minute. It does not know sessions, files or how a plan is shown.
#![forbid(unsafe_code)]

mod bytes;
mod count;
mod database;
mod measure;
pub mod options;
pub mod store;
mod sweep;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use catalog::{Catalog, Database};
use plan::stats::{QueryIdentity, Statistics};
use sos::lock::{LatchClass, RwLatch};
use sos::memory::{MemoryClerk, with_clerk};
use sos::sync::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use types::date::Moment;

pub use count::Clock;
pub use database::{DatabaseStore, FULL, MEMORY_FULL};
pub use measure::Measure;
pub use sweep::{Document, Sweep};

use options::{Mode, Options};
use store::Instant;

/// Time between two collections.
pub const COLLECTED_EVERY: Instant = 60 * store::SECOND;

/// The Query Stores of an instance.
pub struct QueryStore {
    state: RwLatch<State>,
    /// Whether a database records.
    is_on: AtomicBool,
    /// Number of queries with hints.
    hints: AtomicUsize,
    /// When the last collection was.
    collected: AtomicI64,
}

/// All stores, and what was last seen of the statistics.
#[derive(Debug, Default)]
struct State {
    databases: BTreeMap<i16, DatabaseStore>,
    known: HashMap<u64, sweep::Known, foldhash::fast::RandomState>,
    /// Number of the collection.
    sweeps: u64,
    /// Dropped programs whose counts were lost.
    lost: u64,
    /// Stores that a file has, and whose database was not seen yet.
    read: BTreeMap<i16, (store::Store, Instant)>,
}

impl Default for QueryStore {
    fn default() -> Self {
        Self {
            state: RwLatch::new(LatchClass::Other, State::default()),
            is_on: AtomicBool::new(false),
            hints: AtomicUsize::new(0),
            collected: AtomicI64::new(0),
        }
    }
}

/// Returns the current time, for stores.
pub fn now() -> Instant {
    instant(catalog::clock::clock())
}

/// Converts a moment in UTC.
fn instant(moment: Moment) -> Instant {
    i64::from(moment.days) * types::date::TICKS_PER_DAY + moment.ticks
}

/// Converts a time of a store to a moment in UTC.
#[must_use]
pub fn moment(at: Instant) -> Moment {
    let days = i32::try_from(at.div_euclid(types::date::TICKS_PER_DAY)).unwrap_or(0);
    Moment { days, ticks: at.rem_euclid(types::date::TICKS_PER_DAY), offset: 0 }
}

fn created(database: &Database) -> Instant {
    Moment::from_value(&database.created).map_or(0, instant)
}

impl QueryStore {
    /// Returns whether a database records.
    pub fn is_on(&self) -> bool {
        // Relaxed: a collection that sees a change late is one that is early or late by a second.
        self.is_on.load(Ordering::Relaxed)
    }

    /// Returns when the last collection was.
    pub fn collected(&self) -> Instant {
        self.collected.load(Ordering::Relaxed)
    }

    /// Takes over the options of all databases; returns whether one records.
    pub fn set_options(&self, catalog: &Catalog, statistics: &Statistics) -> bool {
        let databases = catalog.databases.values();
        let is_on = databases.into_iter().any(|d| Options::of(&d.options).mode == Mode::ReadWrite);
        self.is_on.store(is_on, Ordering::Relaxed);
        statistics.set_collecting(is_on);
        is_on
    }

    /// Collects what was counted since the last collection.
    pub fn collect(&self, sweep: &Sweep<'_>) {
        with_clerk(MemoryClerk::QueryStore, || {
            let mut state = self.state.write();
            sweep.run(&mut state);
            self.count_hints(&state);
        });
        self.collected.store(sweep.clock.now, Ordering::Relaxed);
    }

    fn count_hints(&self, state: &State) {
        let hints = state.databases.values().map(|of| of.store.hints.len()).sum();
        // Relaxed: all programs are compiled again after a hint was set.
        self.hints.store(hints, Ordering::Relaxed);
    }

    /// Calls `read` with the store of a database, if it has one.
    pub fn read<R>(&self, database: i16, read: impl FnOnce(Option<&DatabaseStore>) -> R) -> R {
        read(self.state.read().databases.get(&database))
    }

    /// Calls `change` with the store of a database, if it has one.
    pub fn change<R>(
        &self,
        database: i16,
        change: impl FnOnce(Option<&mut DatabaseStore>) -> R,
    ) -> R {
        with_clerk(MemoryClerk::QueryStore, || {
            let mut state = self.state.write();
            let changed = change(state.databases.get_mut(&database));
            self.count_hints(&state);
            changed
        })
    }

    /// Returns the number of dropped programs whose counts were lost, because more were dropped than
    /// a collection can take.
    pub fn lost(&self) -> u64 {
        self.state.read().lost
    }

    /// Returns the hints of a query with its id, if it has any. Costs a load while no query has.
    pub fn hint_of(
        &self,
        database: i16,
        identity: impl FnOnce() -> Option<QueryIdentity>,
    ) -> Option<(i64, Arc<str>)> {
        if self.hints.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let identity = identity()?;
        self.read(database, |found| {
            let found = found.filter(|found| found.options.mode != Mode::Off)?;
            let query = found.store.find(&identity)?;
            Some((query, Arc::clone(&found.store.hints.get(&query)?.text)))
        })
    }

    /// Notes that a query could not be compiled with its hints.
    pub fn note_failure(&self, database: i16, query: i64, number: i32) {
        self.change(database, |found| {
            if let Some(hint) = found.and_then(|found| found.store.hints.get_mut(&query)) {
                hint.failures += 1;
                hint.reason = number;
            }
        });
    }

    /// Returns the stores that are to be written to disk, as bytes: those whose time has come, or all
    /// that have changed.
    pub fn to_write(&self, now: Instant, all: bool) -> Vec<(i16, Vec<u8>)> {
        let mut state = self.state.write();
        let due = state.databases.iter_mut();
        let due = due.filter(|(_, of)| of.is_dirty && (all || of.is_flush_due(now)));
        due.map(|(id, of)| {
            of.is_dirty = false;
            of.flushed = now;
            (*id, of.to_bytes())
        })
        .collect()
    }

    /// Notes that a store could not be written: the next time it is tried again.
    pub fn not_written(&self, database: i16) {
        self.change(database, |found| found.map(DatabaseStore::touch));
    }

    /// Returns the ids of the databases that have a store.
    pub fn databases(&self) -> Vec<i16> {
        let state = self.state.read();
        state.databases.keys().chain(state.read.keys()).copied().collect()
    }

    /// Takes the bytes of a store that an earlier run has written; it becomes that of its database
    /// when that is seen.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn take_read(&self, database: i16, bytes: &[u8]) -> Result<(), &'static str> {
        let read = with_clerk(MemoryClerk::QueryStore, || DatabaseStore::from_bytes(bytes))?;
        self.state.write().read.insert(database, read);
        Ok(())
    }

    /// Takes over which databases there are, after a start.
    pub fn match_catalog(&self, catalog: &Catalog) {
        let mut state = self.state.write();
        state.match_catalog(catalog);
        self.count_hints(&state);
    }
}

impl State {
    /// Takes over the options of databases; stores of dropped databases go with them.
    fn match_catalog(&mut self, catalog: &Catalog) {
        let of = |id: i16| catalog.database_by_id(id).map(|database| created(database));
        self.databases.retain(|id, known| of(*id) == Some(known.created));
        for database in catalog.databases.values() {
            let options = Options::of(&database.options);
            let created = created(database);
            let read = self.read.remove(&database.id).filter(|(_, of)| *of == created);
            if options.mode == Mode::Off
                && read.is_none()
                && !self.databases.contains_key(&database.id)
            {
                continue;
            }
            let known = self.databases.entry(database.id).or_insert_with(|| {
                let store = read.map(|(store, _)| store).unwrap_or_default();
                DatabaseStore::new(store, created)
            });
            known.is_fresh |=
                options.mode == Mode::ReadWrite && known.options.mode != Mode::ReadWrite;
            known.options = options;
            known.level = database.options.compatibility_level;
        }
        // What a file has of a database that is not there any more.
        self.read.clear();
    }

    /// Removes what is too old or too much.
    fn clean_up(&mut self, now: Instant, bytes_max: u64) {
        for store in self.databases.values_mut() {
            store.clean_up(now);
        }
        let all = |databases: &BTreeMap<i16, DatabaseStore>| -> u64 {
            databases.values().map(|of| of.store.bytes()).sum()
        };
        if all(&self.databases) < bytes_max {
            return;
        }
        for store in self.databases.values_mut().filter(|store| store.options.cleans_up) {
            store.shrink(store.store.bytes() / 10 * 8);
        }
        if all(&self.databases) >= bytes_max {
            for store in self.databases.values_mut() {
                store.read_only |= MEMORY_FULL;
            }
        }
    }
}
