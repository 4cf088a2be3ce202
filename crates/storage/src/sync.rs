//! The atomics and latches of `sos`, and what storage shards by thread.

use std::cell::Cell;

#[cfg(not(shuttle))]
pub(crate) use sos::ledger::{Label, label, labelled};

pub(crate) use sos::lock::{SpinClass, SpinLock};
pub(crate) use sos::sync::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, CachePadded, Ordering,
};

/// A deliberate mistake that a model must catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// An autocommit write takes its time before it is linked.
    TimeBeforeLink,
    /// A hash bucket's parent is cleared before the bucket is ready.
    ClearBeforeReady,
    /// A reader of the range index does not check the leaf's version.
    LeafUnchecked,
    /// Who gives a lock back does not look for who waits for it.
    LockQueueForgotten,
    /// Who gives up a request for a lock does not look whether it has just been granted.
    LockGrantOverlooked,
    /// Who finds a deadlock gives up itself, whoever else finds it too.
    LockVictimIsWhoSearches,
    /// Who closes the gate of a table does not wait for the writers who found it open.
    GateWithoutWait,
}

/// Whether the code shall make a mistake: never, but in a model that says so.
#[cfg(not(all(test, shuttle)))]
pub(crate) const fn is_mutant(_mutant: Mutant) -> bool {
    false
}

#[cfg(all(test, shuttle))]
pub(crate) use crate::models::is_mutant;

/// The number of shards of counters and queues; a power of two.
pub(crate) const SHARDS: usize = 16;

/// Returns this thread's shard: threads take turns, so up to [`SHARDS`] of them write apart.
#[inline]
pub(crate) fn shard() -> usize {
    // Not of `sos::sync`: which shard a thread gets is nothing to explore.
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
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

/// A counter whose shards are written by different threads and folded by readers.
#[derive(Default)]
pub(crate) struct ShardedCounter {
    shards: [CachePadded<AtomicI64>; SHARDS],
}

impl ShardedCounter {
    /// Adds to this thread's shard.
    #[inline]
    pub(crate) fn add(&self, amount: i64) {
        self.shards[shard()].fetch_add(amount, Ordering::Relaxed);
    }

    /// Folds the shards. A reader that races with a writer may see a partial sum; never below zero.
    pub(crate) fn sum(&self) -> u64 {
        let sum: i64 = self.shards.iter().map(|s| s.load(Ordering::Relaxed)).sum();
        u64::try_from(sum).unwrap_or(0)
    }
}

/// The ledger's labels, where there is a ledger.
#[cfg(shuttle)]
mod no_ledger {
    #[derive(Clone, Copy)]
    pub(crate) enum Label {
        Index,
        Row,
        Commit,
        Collect,
    }

    pub(crate) fn label(label: Label) -> Label {
        label
    }

    #[must_use]
    pub(crate) struct LabelGuard;

    pub(crate) fn labelled(_: Label) -> LabelGuard {
        LabelGuard
    }
}

#[cfg(shuttle)]
pub(crate) use no_ledger::{Label, label, labelled};
