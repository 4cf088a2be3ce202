//! `IndexUses`: how often statements have used an index, for `sys.dm_db_index_usage_stats`.
//!
//! Each thread counts in a place that no other thread writes, so a use costs two stores and shares no
//! cache line. An index gets its places when a plan that uses it is first made; the plan keeps them,
//! so counting looks nothing up.
//!
//! ```text
//!  plan ──► IndexUses of index 2 ──► place of thread 0: seeks, scans, updates, and when each was last
//!  table ─► TableUses ────────────┘  place of thread 1: ..
//! ```

use std::sync::Arc;

use crate::primitives::{AtomicU64, Ordering, Shards, SpinClass, SpinLock};
use crate::spec::IndexId;

/// What a statement does with an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexUse {
    /// It finds rows by their key, or in a range of keys.
    Seek,
    /// It reads all rows.
    Scan,
    /// It changes rows that the index has, or may get.
    Update,
}

/// Number of kinds of uses.
const KINDS: usize = 3;

/// What one thread has counted.
#[derive(Default)]
struct Cell {
    counts: [AtomicU64; KINDS],
    last: [AtomicU64; KINDS],
}

/// The uses of one index since it was created, or since the server has started.
#[derive(Default)]
pub struct IndexUses {
    cells: Shards<Cell>,
}

impl std::fmt::Debug for IndexUses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kinds = [IndexUse::Seek, IndexUse::Scan, IndexUse::Update];
        f.debug_list().entries(kinds.map(|kind| self.total(kind).count)).finish()
    }
}

/// The uses of one kind, of all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UseTotal {
    /// Number of executions that have used the index so.
    pub count: u64,
    /// When the last one began, in the ticks that the callers gave; 0 if there was none.
    pub last: u64,
}

impl IndexUses {
    /// Counts a statement that began at `now`.
    #[inline]
    pub fn count(&self, kind: IndexUse, now: u64) {
        let cell = self.cells.own();
        let count = &cell.counts[kind as usize];
        // Relaxed: statistics, which order nothing. A load and a store, since the thread is the only
        // writer; where there are more threads than places, two that share one may lose a count.
        count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        cell.last[kind as usize].store(now, Ordering::Relaxed);
    }

    /// Returns the uses of one kind.
    pub fn total(&self, kind: IndexUse) -> UseTotal {
        let mut total = UseTotal::default();
        for cell in self.cells.iter() {
            total.count += cell.counts[kind as usize].load(Ordering::Relaxed);
            total.last = total.last.max(cell.last[kind as usize].load(Ordering::Relaxed));
        }
        total
    }
}

/// The uses of a table's indexes, of its heap (index 0) too.
pub struct TableUses(SpinLock<Vec<(IndexId, Arc<IndexUses>)>>);

impl Default for TableUses {
    fn default() -> Self {
        Self(SpinLock::new(SpinClass::XtpIndex, Vec::new()))
    }
}

impl TableUses {
    /// Returns the counts of an index, for a plan that will use it.
    pub fn of(&self, index: IndexId) -> Arc<IndexUses> {
        if let Some(known) = self.get(index) {
            return known;
        }
        // Allocated before the lock is taken; another thread may be faster.
        let new = Arc::<IndexUses>::default();
        let mut known = self.0.lock();
        if let Some((_, faster)) = known.iter().find(|(id, _)| *id == index) {
            return Arc::clone(faster);
        }
        known.push((index, Arc::clone(&new)));
        new
    }

    /// Returns the counts of an index; `None` if no plan has used it.
    pub fn get(&self, index: IndexId) -> Option<Arc<IndexUses>> {
        let known = self.0.lock();
        known.iter().find(|(id, _)| *id == index).map(|(_, uses)| Arc::clone(uses))
    }

    /// Forgets an index that is dropped: a later one with its id starts at zero.
    pub fn forget(&self, index: IndexId) {
        let mut known = self.0.lock();
        let place = known.iter().position(|(id, _)| *id == index);
        let gone = place.map(|place| known.swap_remove(place));
        drop(known);
        // Freed after the lock is released.
        drop(gone);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
