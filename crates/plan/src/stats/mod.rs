//! Execution statistics of statements, procedures and sessions: how often, how long, and where the
//! time went.
//!
//! ```text
//!   compile ─► ProgramBooks: handles, and a range of ids        one id for the program and each statement
//!   request ─► Meter: edges of statements ─► Shard of the worker: one StatementCell for each id
//!   view    ─► Statistics: folds the cells of all shards
//!   Query Store ─► Collector: the same once a minute, of what has changed
//! ```
//!
//! Nothing that requests write is written by two threads, and an execution takes no lock. How exact
//! the numbers are: docs/decisions/0040-statement-statistics.md.

mod books;
mod cell;
mod collect;
mod failure;
mod handle;
mod ids;
mod io;
mod live;
mod meter;
mod report;
mod shape;
mod shard;
mod spend;
mod waits;
mod window;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use sos::lock::{SpinClass, SpinLock};
use sos::sync::{AtomicU64, Ordering};

pub use books::{Identity, Module, Origin};
pub use books::{ProgramBooks, StatementPlace};
pub use cell::{Deviation, Folded, SUMMARIES, Spread, Totals};
pub use collect::{Collected, Collector, Left, Parameterization, QueryIdentity, identity};
pub use failure::Failure;
pub use handle::{Handle, statement_handle};
pub use ids::{COMPILE, OVERFLOW};
pub use io::Io;
pub use live::Live;
pub use meter::{Called, Cost, Meter};
pub use report::{StatementRow, hashes, planned, statement_of, statements, statements_of};
pub use shard::{FailedTotals, Window};
pub use spend::{Part, Spend};
pub use waits::{CATEGORIES, CATEGORY_NAMES, WaitTotal, WaitTotals};
pub use window::Extremes;

use crate::program::Program;
use ids::{Ids, Range};
use shard::Shards;

/// The statistics of an instance.
#[derive(Default)]
pub struct Statistics {
    ids: SpinLockOf<Ids>,
    programs: SpinLockOf<Known>,
    handles: SpinLockOf<ByHandle>,
    shards: Arc<Shards>,
    next_serial: AtomicU64,
    /// The epoch that was begun last.
    last_epoch: AtomicU64,
    /// What a Query Store has not collected yet of programs that are gone.
    departed: SpinLockOf<collect::Departed>,
}

/// Books by the hash of their identity.
type Known = HashMap<u64, Weak<ProgramBooks>, foldhash::fast::RandomState>;

/// Books by their handles, as of the last time a view asked for an unknown one.
type ByHandle = HashMap<Handle, Weak<ProgramBooks>, foldhash::fast::RandomState>;

/// A lock of the plan cache's class: taken when something is compiled, evicted or shown.
struct SpinLockOf<T>(SpinLock<T>);

impl<T: Default> Default for SpinLockOf<T> {
    fn default() -> Self {
        Self(SpinLock::new(SpinClass::PlanCache, T::default()))
    }
}

/// Reads the clock; returns what the thread has spent so far, and the time.
pub fn spent_now() -> (Spend, u64) {
    spend::now()
}

/// Returns the same as of the last edge that the ledger recorded, without reading the clock.
pub fn spent_at_edge() -> (Spend, u64) {
    spend::at_edge()
}

/// Low bits of a statement's number that hold its id.
const ID_BITS: u32 = ids::IDS_MAX.ilog2();

/// Returns the number that identifies a statement to the sampler: the program's serial number above
/// the id, since ids are reused.
pub const fn statement_number(serial: u64, id: u32) -> u64 {
    serial << ID_BITS | id as u64
}

/// Returns the program's serial number and the id in a statement's number.
pub fn program_and_id(number: u64) -> (u64, u32) {
    let id = number & ((1 << ID_BITS) - 1);
    (number >> ID_BITS, u32::try_from(id).unwrap_or(OVERFLOW))
}

impl Statistics {
    /// Returns the books of a program: existing ones for its text, or new ones.
    pub fn register(
        self: &Arc<Self>,
        mut program: Program,
        identity: &Identity<'_>,
    ) -> Arc<Program> {
        let books = self.books(identity, program.statements + 1);
        program.books = Some(Arc::clone(&books));
        let program = Arc::new(program);
        books.compiled(&program);
        program
    }

    fn books(self: &Arc<Self>, identity: &Identity<'_>, count: u32) -> Arc<ProgramBooks> {
        let key = identity.key();
        let known = self.programs.0.lock().get(&key).and_then(Weak::upgrade);
        let is_good = |books: &Arc<ProgramBooks>| !books.is_evicted() && books.is_of(identity);
        if let Some(known) = known.filter(is_good) {
            return known;
        }
        let ids = self.ids.0.lock().take(count);
        // Relaxed: only uniqueness is needed. 0 means no program.
        let serial = self.next_serial.fetch_add(1, Ordering::Relaxed) + 1;
        let books = Arc::new(ProgramBooks::new(identity, (key, serial, ids), self));
        let mut programs = self.programs.0.lock();
        // Another session may have inserted its books first: then all share those. `books` is
        // dropped after the lock is released, because its drop takes the lock.
        let faster = programs.get(&key).and_then(Weak::upgrade);
        let is_known = faster.as_ref().is_some_and(is_good);
        if !is_known {
            programs.insert(key, Arc::downgrade(&books));
        }
        drop(programs);
        match faster {
            Some(faster) if is_known => faster,
            _ => books,
        }
    }

    /// Returns the books of all cached programs, in the order of their first compilation.
    pub fn programs(&self) -> Vec<Arc<ProgramBooks>> {
        let known: Vec<_> = self.programs.0.lock().values().filter_map(Weak::upgrade).collect();
        let mut known: Vec<_> = known.into_iter().filter(|books| !books.is_evicted()).collect();
        known.sort_by_key(|books| books.serial);
        known
    }

    /// Finds a cached program by its `plan_handle`, or one of its text by `sql_handle`.
    pub fn find(&self, handle: &[u8]) -> Option<Arc<ProgramBooks>> {
        let handle = Handle::from_bytes(handle)?;
        let known = self.handles.0.lock().get(&handle).and_then(Weak::upgrade);
        if let Some(known) = known.filter(|books| !books.is_evicted()) {
            return Some(known);
        }
        // The handle is unknown, or its books are gone: rebuild the whole map. So a view that asks
        // for the text of every program pays for this once.
        let mut by_handle = ByHandle::default();
        for books in self.programs() {
            for handle in [*books.plan_handle(), *books.sql_handle()] {
                by_handle.entry(handle).or_insert_with(|| Arc::downgrade(&books));
            }
        }
        let found = by_handle.get(&handle).and_then(Weak::upgrade);
        *self.handles.0.lock() = by_handle;
        found
    }

    /// Finds a cached program by the serial number of its books.
    pub fn by_serial(&self, serial: u64) -> Option<Arc<ProgramBooks>> {
        self.programs().into_iter().find(|books| books.serial == serial)
    }

    /// Evicts all programs (DBCC FREEPROCCACHE): they are recompiled, and count from zero.
    pub fn evict_all(&self) {
        for books in self.programs() {
            books.evict();
        }
    }

    /// Returns the sum over all workers for an id.
    pub fn fold(&self, id: u32) -> Totals {
        self.shards.fold(id)
    }

    /// Returns an epoch that no cell has seen.
    fn next_epoch(&self) -> u64 {
        // Relaxed: only uniqueness is needed.
        self.last_epoch.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes back the ids of dropped books: no thread counts under them any more.
    fn forget(&self, books: &ProgramBooks) {
        let mut programs = self.programs.0.lock();
        let known = programs.get(&books.key);
        if known.is_some_and(|known| std::ptr::eq(known.as_ptr(), books)) {
            programs.remove(&books.key);
        }
        drop(programs);
        if books.ids != Range::NONE {
            self.shards.clear(books.ids);
            self.ids.0.lock().free(books.ids);
        }
    }
}
