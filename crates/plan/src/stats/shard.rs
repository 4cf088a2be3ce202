//! `Shard`: all cells of one worker, and how a worker gets one.
//!
//! A thread leases a shard when a request begins and returns it when the request ends; until then
//! no other thread writes to it. A thread that exits leaves its shard, with its counts, to the next
//! thread that asks, so that there are never more shards than threads at a time.

use std::cell::Cell;
use std::sync::{Arc, Weak};

use sos::lock::{SpinClass, SpinLock};
use sos::sync::{AtomicU64, OnceLock, Ordering};

use super::cell::{SUMMARIES, StatementCell, Totals};
use super::failure::Failure;
use super::ids::{IDS_MAX, Range};
use super::waits::WaitTotals;
use super::window::{Extremes, Windows};

/// Number of cells that are allocated together.
const SEGMENT_CELLS: u32 = 64;

/// All cells of one worker: a segment is allocated when one of its statements first runs there.
pub struct Shard {
    segments: Box<[OnceLock<Box<[StatementCell]>>]>,
    /// The epoch of all shards: see `window.rs`.
    epoch: Arc<AtomicU64>,
}

impl Shard {
    fn new(epoch: &Arc<AtomicU64>) -> Self {
        let segments = IDS_MAX.div_ceil(SEGMENT_CELLS);
        let segments = (0..segments).map(|_| OnceLock::new()).collect();
        Self { segments, epoch: Arc::clone(epoch) }
    }

    /// Returns the cell of a statement, to count an execution that has ended now.
    #[inline]
    pub fn current(&self, id: u32) -> &StatementCell {
        let cell = self.cell(id);
        cell.enter(self.epoch());
        cell
    }

    /// Returns the current epoch; 0 if no database has a Query Store.
    #[inline]
    pub fn epoch(&self) -> u64 {
        // Relaxed: a worker that sees the next epoch late counts a little longer in this one.
        self.epoch.load(Ordering::Relaxed)
    }

    /// Returns the cell of a statement.
    #[inline]
    pub fn cell(&self, id: u32) -> &StatementCell {
        let segment = &self.segments[(id / SEGMENT_CELLS) as usize];
        let cells =
            segment.get_or_init(|| (0..SEGMENT_CELLS).map(|_| StatementCell::default()).collect());
        &cells[(id % SEGMENT_CELLS) as usize]
    }

    /// Returns the cell of a statement; `None` if no statement of its segment ever ran here.
    fn seen(&self, id: u32) -> Option<&StatementCell> {
        let cells = self.segments.get((id / SEGMENT_CELLS) as usize)?.get()?;
        cells.get((id % SEGMENT_CELLS) as usize)
    }
}

/// The shards of an instance.
pub(super) struct Shards {
    known: SpinLock<Known>,
    /// Written by a collector once a minute, read by all workers.
    epoch: Arc<AtomicU64>,
}

#[derive(Default)]
struct Known {
    all: Vec<Arc<Shard>>,
    /// Shards that no thread has leased.
    free: Vec<Arc<Shard>>,
}

impl Default for Shards {
    fn default() -> Self {
        let known = SpinLock::new(SpinClass::PlanCache, Known::default());
        Self { known, epoch: Arc::default() }
    }
}

impl Shards {
    /// Returns the sum over all workers for an id.
    pub(super) fn fold(&self, id: u32) -> Totals {
        let mut totals = Totals::default();
        self.all().iter().filter_map(|shard| shard.seen(id)).for_each(|cell| totals.add(cell));
        totals
    }

    /// Sets the epoch that counts from now on; 0 for none.
    pub(super) fn set_epoch(&self, epoch: u64) {
        // Relaxed: see [`Shard::epoch`].
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    /// Returns the current epoch; 0 if no database has a Query Store.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Returns whether a Query Store collects.
    pub(super) fn has_epoch(&self) -> bool {
        self.epoch() != 0
    }

    /// Returns what all workers have of an id for a Query Store, with the extremes of an epoch.
    pub(super) fn window(&self, id: u32, epoch: u64) -> Window {
        let mut window = Window::default();
        for shard in self.all() {
            let Some(cell) = shard.seen(id) else { continue };
            window.add_extremes(cell.since_epoch(epoch));
            let Some(windows) = cell.windows() else { continue };
            window.add_windows(windows, epoch);
        }
        window
    }

    /// Zeroes the cells of ids that no thread counts under any more.
    pub(super) fn clear(&self, range: Range) {
        // The lock is held for a few stores, so the list is not copied.
        let known = self.known.lock();
        for shard in &known.all {
            let ids = range.first..range.first + range.count;
            ids.filter_map(|id| shard.seen(id)).for_each(StatementCell::clear);
        }
    }

    fn all(&self) -> Vec<Arc<Shard>> {
        self.known.lock().all.clone()
    }

    /// Leases the shard that the thread had last, or another one.
    pub(super) fn lease(self: &Arc<Self>) -> Lease {
        let kept = KEPT.take().filter(|lease| std::ptr::eq(lease.home.as_ptr(), &raw const **self));
        kept.unwrap_or_else(|| self.another())
    }

    #[cold]
    fn another(self: &Arc<Self>) -> Lease {
        let free = self.known.lock().free.pop();
        let shard = free.unwrap_or_else(|| {
            let shard = Arc::new(Shard::new(&self.epoch));
            self.known.lock().all.push(Arc::clone(&shard));
            shard
        });
        Lease { shard, home: Arc::downgrade(self) }
    }
}

/// What a Query Store asks of a statement beyond its totals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// Start of the first execution of the epoch, in ticks; `None` if there was none.
    pub first: Option<u64>,
    /// Minimum and maximum of each figure in the epoch: see [`SUMMARIES`].
    pub extremes: [Extremes; SUMMARIES],
    /// Executions that have failed, since the program was compiled, by [`Failure::index`].
    pub failures: Option<Box<[FailedTotals; Failure::COUNT]>>,
    /// Waits since the program was compiled, by category.
    pub waits: Option<Box<WaitTotals>>,
}

/// Executions that have failed in one way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FailedTotals {
    /// The counts since the program was compiled.
    pub totals: Totals,
    /// Minimum and maximum of each figure in the epoch: see [`SUMMARIES`].
    pub extremes: [Extremes; SUMMARIES],
}

impl Window {
    fn add_extremes(&mut self, found: Option<(u64, [Extremes; SUMMARIES])>) {
        let Some((first, extremes)) = found else { return };
        self.first = Some(self.first.map_or(first, |known| known.min(first)));
        for (sum, one) in self.extremes.iter_mut().zip(extremes) {
            *sum = sum.and(one);
        }
    }

    fn add_windows(&mut self, windows: &Windows, epoch: u64) {
        if let Some(cells) = windows.failures() {
            let failures = self.failures.get_or_insert_default();
            for (sum, cell) in failures.iter_mut().zip(cells) {
                sum.totals.add(cell);
                let extremes = cell.since_epoch(epoch).map(|(_, extremes)| extremes);
                for (sum, one) in sum.extremes.iter_mut().zip(extremes.unwrap_or_default()) {
                    *sum = sum.and(one);
                }
            }
        }
        if let Some(cells) = windows.waited() {
            cells.add_to(epoch, self.waits.get_or_insert_default());
        }
    }
}

thread_local! {
    static KEPT: Cell<Option<Lease>> = const { Cell::new(None) };
}

/// A shard that is leased to the thread that writes it.
pub struct Lease {
    shard: Arc<Shard>,
    home: Weak<Shards>,
}

impl Lease {
    /// Stores the shard for the thread's next request.
    pub fn put_back(self) {
        // An exiting thread has no place for it: then it is returned to the free list.
        let mut lease = Some(self);
        let _ = KEPT.try_with(|kept| kept.set(lease.take()));
    }
}

impl std::ops::Deref for Lease {
    type Target = Shard;
    fn deref(&self) -> &Shard {
        &self.shard
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            // The lock orders what this thread has written before what the next one writes.
            home.known.lock().free.push(Arc::clone(&self.shard));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_outlives_its_thread_and_goes_to_the_next() {
        let shards = Arc::new(Shards::default());
        for _ in 0..3 {
            let shards = Arc::clone(&shards);
            let count = move || {
                let lease = shards.lease();
                lease.cell(3).count(1);
                lease.put_back();
                let again = shards.lease();
                again.cell(3).count(2);
                again.put_back();
            };
            let accounts = Arc::default();
            let thread = sos::thread::spawn(&accounts, "counts", count).expect("a thread starts");
            thread.join().expect("it ends");
        }
        assert_eq!(shards.fold(3).executions, 6);
        assert_eq!(shards.all().len(), 1);
        shards.clear(Range { first: 2, count: 2 });
        assert_eq!(shards.fold(3), Totals::default());
    }

    #[test]
    fn two_instances_on_one_thread_count_apart() {
        let (one, other) = (Arc::new(Shards::default()), Arc::new(Shards::default()));
        for (shards, times) in [(&one, 1), (&other, 2), (&one, 3)] {
            for _ in 0..times {
                let lease = shards.lease();
                lease.cell(2).count(1);
                lease.put_back();
            }
        }
        assert_eq!((one.fold(2).executions, other.fold(2).executions), (4, 2));
        assert_eq!((one.all().len(), other.all().len()), (1, 1));
    }
}
