//! `LiveProfile`: the operators of a statement that runs, with what each has done so far, for
//! `sys.dm_exec_query_profiles`.
//!
//! Made only for statements that are profiled (SET STATISTICS XML and PROFILE, trace flag 7412, USE
//! HINT ('QUERY_PLAN_PROFILE')). Each thread writes its own counters, which any session may read.

use std::collections::HashMap;
use std::sync::Arc;

use sos::clock;
use sos::ledger::Counter;
use sos::lock::{SpinClass, SpinLock};

use plan::stats::ProgramBooks;

/// The table or index that an operator reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveObject {
    /// `database_id` of the table.
    pub database: i16,
    /// `object_id` of the table.
    pub object: i32,
    /// `index_id`: 0 is the heap.
    pub index: i32,
}

/// An operator of the plan.
#[derive(Clone, Debug)]
pub struct LiveOperator {
    /// `physical_operator_name`, as plans show it.
    pub physical: &'static str,
    /// Addresses of what counts for it: of its node, and of the scan in the node. Empty for an
    /// operator that only plans show.
    pub addresses: Vec<usize>,
    /// Place of the operator whose counts are its own too; `None` if nothing counts for it.
    pub counted_at: Option<usize>,
    /// `estimate_row_count`: rows that it is expected to return.
    pub rows: f64,
    /// What it reads, if it is a scan.
    pub object: Option<LiveObject>,
    /// `estimated_read_row_count`: rows that a scan is expected to read.
    pub reads: Option<f64>,
}

/// The operators of a statement and the counts of its threads.
#[derive(Debug)]
pub struct LiveProfile {
    /// Names of the program that the statement belongs to.
    pub books: Option<Arc<ProgramBooks>>,
    /// The operators, in the order of their `node_id`s.
    pub operators: Vec<LiveOperator>,
    places: HashMap<usize, usize>,
    threads: SpinLock<Vec<Arc<LiveThread>>>,
}

/// The counts of one thread.
#[derive(Debug)]
pub struct LiveThread {
    /// `thread_id`: 0 is the session's own thread.
    pub number: u32,
    counts: Vec<LiveCount>,
}

/// What an operator has done on one thread. Times are clock ticks; 0 is never.
#[derive(Debug, Default)]
pub struct LiveCount {
    /// Rows that it has returned.
    pub rows: Counter,
    /// Number of times it was opened.
    pub opened: Counter,
    /// Number of openings that have ended.
    pub closed: Counter,
    /// Rows that storage returned to it.
    pub reads: Counter,
    /// Ticks from openings to their ends.
    pub ticks: Counter,
    /// When it was opened first.
    pub first_open: Counter,
    /// When it was opened last.
    pub last_open: Counter,
    /// When it returned its first row.
    pub first_row: Counter,
    /// When it returned its latest row.
    pub last_row: Counter,
    /// When an opening ended last.
    pub last_close: Counter,
}

impl LiveProfile {
    /// Makes the profile of a statement that is about to run.
    pub fn new(books: Option<Arc<ProgramBooks>>, operators: Vec<LiveOperator>) -> Arc<Self> {
        let places = operators.iter().enumerate();
        let places = places.flat_map(|(place, operator)| {
            operator.addresses.iter().map(move |address| (*address, place))
        });
        let places = places.collect();
        let threads = SpinLock::new(SpinClass::SessionManager, Vec::new());
        Arc::new(Self { books, operators, places, threads })
    }

    /// Returns the place of the operator that a node or scan counts for.
    pub fn place_of(&self, address: usize) -> Option<usize> {
        self.places.get(&address).copied()
    }

    /// Returns the counts that a thread writes. A helper of several regions has the same ones.
    pub fn thread(&self, number: u32) -> Arc<LiveThread> {
        let mut threads = self.threads.lock();
        if let Some(known) = threads.iter().find(|thread| thread.number == number) {
            return Arc::clone(known);
        }
        let counts = self.operators.iter().map(|_| LiveCount::default()).collect();
        let thread = Arc::new(LiveThread { number, counts });
        threads.push(Arc::clone(&thread));
        thread
    }

    /// Returns the counts of all threads so far, ordered by number.
    pub fn threads(&self) -> Vec<Arc<LiveThread>> {
        let mut threads = self.threads.lock().clone();
        threads.sort_by_key(|thread| thread.number);
        threads
    }
}

impl LiveThread {
    /// Returns the counts of an operator.
    pub fn count(&self, place: usize) -> &LiveCount {
        &self.counts[place]
    }
}

impl LiveCount {
    /// Counts an opening that begins now.
    pub fn open(&self, now: u64) {
        self.opened.add(1);
        if self.first_open.get() == 0 {
            self.first_open.raise_to(now);
        }
        self.last_open.raise_to(now);
    }

    /// Counts rows that were returned.
    pub fn add_rows(&self, rows: u64) {
        let now = clock::now_ticks();
        self.rows.add(rows);
        if self.first_row.get() == 0 {
            self.first_row.raise_to(now);
        }
        self.last_row.raise_to(now);
    }

    /// Counts the end of an opening.
    pub fn close(&self, now: u64) {
        self.ticks.add(now.saturating_sub(self.last_open.get()));
        self.last_close.raise_to(now);
        self.closed.add(1);
    }

    /// Returns the ticks of all openings, up to now for one that has not ended.
    pub fn elapsed(&self, now: u64) -> u64 {
        let is_open = self.opened.get() > self.closed.get();
        let running = if is_open { now.saturating_sub(self.last_open.get()) } else { 0 };
        self.ticks.get() + running
    }

    /// Returns the latest time at which it did anything.
    pub fn last_active(&self) -> u64 {
        self.last_open.get().max(self.last_row.get()).max(self.last_close.get())
    }
}

/// The profiles of a connection's running statements: one for each MARS session.
#[derive(Debug)]
pub struct LiveProfiles(SpinLock<Vec<Arc<LiveProfile>>>);

impl Default for LiveProfiles {
    fn default() -> Self {
        Self(SpinLock::new(SpinClass::SessionManager, Vec::new()))
    }
}

impl LiveProfiles {
    /// Shows a profile until the guard is dropped.
    pub fn show(self: &Arc<Self>, profile: &Arc<LiveProfile>) -> Showing {
        self.0.lock().push(Arc::clone(profile));
        Showing { among: Arc::clone(self), profile: Arc::clone(profile) }
    }

    /// Returns the profiles of the statements that run now.
    pub fn shown(&self) -> Vec<Arc<LiveProfile>> {
        self.0.lock().clone()
    }
}

/// A guard: while it lives, its profile is shown.
#[derive(Debug)]
pub struct Showing {
    among: Arc<LiveProfiles>,
    profile: Arc<LiveProfile>,
}

impl Drop for Showing {
    fn drop(&mut self) {
        let mut shown = self.among.0.lock();
        shown.retain(|other| !Arc::ptr_eq(other, &self.profile));
    }
}
