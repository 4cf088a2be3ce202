//! The atomics, the short latch and the thread number that the rest of storage uses.

pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU64, AtomicUsize, Ordering,
};

use std::cell::{Cell, UnsafeCell};

/// A spinning latch for sections of a few hundred nanoseconds that never block inside.
pub(crate) struct Latch<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `held` lets one thread at a time reach the value, so it need only be `Send`.
unsafe impl<T: Send> Sync for Latch<T> {}

impl<T> Latch<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Runs `body` on the value while no other thread does.
    pub(crate) fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        while self.held.swap(true, Ordering::Acquire) {
            while self.held.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        }
        let release = Release(&self.held);
        // SAFETY: this thread took `held` above and gives it back when `release` drops.
        let result = body(unsafe { &mut *self.value.get() });
        drop(release);
        result
    }
}

impl<T: Default> Default for Latch<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

struct Release<'a>(&'a AtomicBool);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire swap in `with`.
        self.0.store(false, Ordering::Release);
    }
}

/// The number of shards of counters and queues; a power of two.
pub(crate) const SHARDS: usize = 16;

/// Returns this thread's shard.
pub(crate) fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static SHARD: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    SHARD.with(|cell| {
        if cell.get() == usize::MAX {
            cell.set(NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS);
        }
        cell.get()
    })
}

/// A value alone on its pair of cache lines.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Padded<T>(pub(crate) T);

/// A counter whose shards are written by different threads and folded by readers.
#[derive(Default)]
pub(crate) struct ShardedCounter {
    shards: [Padded<AtomicI64>; SHARDS],
}

impl ShardedCounter {
    /// Adds to this thread's shard.
    pub(crate) fn add(&self, amount: i64) {
        self.shards[shard()].0.fetch_add(amount, Ordering::Relaxed);
    }

    /// Folds the shards. A reader that races with a writer may see a partial sum; never below zero.
    pub(crate) fn sum(&self) -> u64 {
        let sum: i64 = self.shards.iter().map(|s| s.0.load(Ordering::Relaxed)).sum();
        u64::try_from(sum).unwrap_or(0)
    }
}
