//! `Counter`: a number that one thread writes and any thread may read.

use crate::sync::{AtomicU64, Ordering};

/// A counter that exactly one thread writes and any thread may read.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Makes a counter at zero.
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds `n`, modulo 2^64, so that a correction may be added as its complement. Only the owning
    /// thread may call it.
    #[inline]
    pub fn add(&self, n: u64) {
        // Relaxed: a single writer needs no read-modify-write, and readers order nothing by it.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// Sets the counter to `n` if that is greater. Only the owning thread may call it.
    #[inline]
    pub fn raise_to(&self, n: u64) {
        if n > self.0.load(Ordering::Relaxed) {
            self.0.store(n, Ordering::Relaxed);
        }
    }

    /// Returns the value, on any thread.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the value. Only the owning thread may call it.
    #[inline]
    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    /// Sets the value and publishes what was written before; pairs with [`Self::get_acquire`].
    #[inline]
    pub(crate) fn publish(&self, n: u64) {
        self.0.store(n, Ordering::Release);
    }

    /// Returns the value and sees what was written before [`Self::publish`].
    #[inline]
    pub(crate) fn get_acquire(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}
