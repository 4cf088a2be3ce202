//! `Tally`: a statistic that one thread counts, in a place of [`crate::primitives::Shards`].

use std::sync::atomic::AtomicU64 as Bits;

use crate::primitives::Ordering;

/// A number that only rises. Not an atomic of `sos::sync`: no thread decides anything by it, so
/// there is nothing for a model checker to explore.
#[derive(Default)]
pub(crate) struct Tally(Bits);

impl Tally {
    /// Adds to it: a load and a store, since the thread is the only writer. Where there are more
    /// threads than places, two that share one may lose a count.
    #[inline]
    pub(crate) fn add(&self, amount: u64) {
        // Relaxed: a statistic, which orders nothing.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
    }

    /// Adds to one that several threads share, where events are rare.
    pub(crate) fn add_shared(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    /// Returns what has been added so far.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
