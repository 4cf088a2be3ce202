//! Atomics: the one place from which all code takes them, so that loom and shuttle can replace
//! them.
//!
//! Also the asymmetric barrier: a pair of fences of which one side costs nothing and the other pays
//! a system call (`membarrier`), for protocols with many readers and rare writers.

#[cfg(not(any(loom, shuttle)))]
pub use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

#[cfg(loom)]
pub use loom::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

#[cfg(shuttle)]
pub use shuttle::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

pub use std::sync::{Arc, OnceLock, Weak};

use std::ops::{Deref, DerefMut};

/// A value alone on its cache lines: two of 64 bytes, because the prefetcher fetches them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CachePadded<T>(pub T);

impl<T> CachePadded<T> {
    /// Wraps a value in its own cache lines.
    pub const fn new(value: T) -> Self {
        Self(value)
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CachePadded<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// Hints to the CPU that this thread spins; under a model checker, lets another thread run.
#[inline]
pub fn spin_hint() {
    #[cfg(not(any(loom, shuttle)))]
    std::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(shuttle)]
    shuttle::thread::yield_now();
}
