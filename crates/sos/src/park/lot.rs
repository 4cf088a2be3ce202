//! The parking lot: who waits under which address.
//!
//! The rule that no wake-up is lost: a parking thread checks its condition and enters the lot under
//! the bucket's lock; an unparking thread changes the condition first and takes the bucket's lock
//! afterwards. So either the check sees the change, or the unparker finds the thread.

use std::collections::VecDeque;

use super::WakeWord;
use crate::lock::{SpinClass, SpinLock};
use crate::sync::{Arc, AtomicU64, CachePadded, Ordering};

/// Hash buckets; a collision costs a longer search only.
const BUCKETS: usize = 64;

/// One thread's wait.
#[derive(Debug, Default)]
pub struct Waiter {
    /// Who decided the wait, and how.
    pub word: WakeWord,
    signalled_at: AtomicU64,
}

impl Waiter {
    /// The decision of an unparker.
    pub const SIGNALLED: u32 = 1;
    /// The decision of a cancellation.
    pub const CANCELLED: u32 = 2;
    /// The waiter's own decision at its deadline.
    pub const TIMED_OUT: u32 = 3;

    /// Ends the wait, unless something else has ended it already.
    pub fn end(&self, how: u32, now_ticks: u64) -> bool {
        // Relaxed: published by the Release of the word; two enders write about the same time.
        self.signalled_at.store(now_ticks, Ordering::Relaxed);
        self.word.set(how)
    }

    /// The ticks at which somebody ended the wait.
    pub fn signalled_at(&self) -> u64 {
        self.signalled_at.load(Ordering::Relaxed)
    }
}

type Bucket = CachePadded<SpinLock<VecDeque<(usize, Arc<Waiter>)>>>;

/// Threads waiting by address.
#[derive(Debug)]
pub struct Lot {
    buckets: [Bucket; BUCKETS],
}

impl Lot {
    /// Makes an empty lot.
    #[cfg(not(any(loom, shuttle)))]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            buckets: [const { CachePadded::new(SpinLock::new(SpinClass::SosWaitList, VecDeque::new())) };
                BUCKETS],
        }
    }

    /// Makes an empty lot.
    #[cfg(any(loom, shuttle))]
    #[must_use]
    pub fn new() -> Self {
        let bucket = |_| CachePadded::new(SpinLock::new(SpinClass::SosWaitList, VecDeque::new()));
        Self { buckets: std::array::from_fn(bucket) }
    }

    fn bucket(&self, key: usize) -> &Bucket {
        // Fibonacci hashing: addresses differ in their middle bits.
        let hash = (key as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
        &self.buckets[usize::try_from(hash).unwrap_or(0) % BUCKETS]
    }

    /// Enters the lot if `must_wait` holds under the bucket's lock.
    pub fn enter(&self, key: usize, must_wait: impl FnOnce() -> bool) -> Option<Arc<Waiter>> {
        let mut bucket = self.bucket(key).lock();
        if !must_wait() {
            return None;
        }
        let waiter = Arc::new(Waiter::default());
        bucket.push_back((key, Arc::clone(&waiter)));
        Some(waiter)
    }

    /// Leaves the lot after a wait that no unparker ended.
    pub fn leave(&self, key: usize, waiter: &Arc<Waiter>) {
        self.bucket(key).lock().retain(|(_, other)| !Arc::ptr_eq(other, waiter));
    }

    /// Ends the oldest wait under `key`; returns whether there was one.
    pub fn unpark_one(&self, key: usize, now_ticks: u64) -> bool {
        loop {
            let next = {
                let mut bucket = self.bucket(key).lock();
                let position = bucket.iter().position(|(other, _)| *other == key);
                position.and_then(|position| bucket.remove(position))
            };
            let Some((_, waiter)) = next else {
                return false;
            };
            // One that timed out or was cancelled meanwhile must not swallow the wake-up.
            if waiter.end(Waiter::SIGNALLED, now_ticks) {
                return true;
            }
        }
    }

    /// Ends every wait under `key`; returns how many.
    pub fn unpark_all(&self, key: usize, now_ticks: u64) -> usize {
        let mut woken = 0;
        while self.unpark_one(key, now_ticks) {
            woken += 1;
        }
        woken
    }
}

impl Default for Lot {
    fn default() -> Self {
        Self::new()
    }
}
