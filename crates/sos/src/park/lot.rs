//! The parking lot: a hash table from addresses to the threads that wait under them.
//!
//! No wake-up is lost: a parking thread checks its condition and enters the lot under the bucket's
//! lock; an unparking thread changes the condition first and takes the bucket's lock afterwards. So
//! either the check sees the change, or the unparker finds the thread.

use std::collections::VecDeque;

use super::WakeWord;
use crate::lock::{SpinClass, SpinLock};
use crate::sync::{Arc, AtomicU64, CachePadded, Ordering};

/// Hash buckets; a collision costs a longer search only.
const BUCKETS: usize = 64;

/// One thread's entry in the lot, for the length of one wait.
#[derive(Debug, Default)]
pub struct Waiter {
    /// How the wait ended: one of the constants below; 0 while it lasts.
    pub word: WakeWord,
    signalled_at: AtomicU64,
}

impl Waiter {
    /// An unparking thread ended the wait.
    pub const SIGNALLED: u32 = 1;
    /// A cancellation ended the wait.
    pub const CANCELLED: u32 = 2;
    /// The waiter gave up at its deadline.
    pub const TIMED_OUT: u32 = 3;

    /// Ends the wait, unless something else has ended it already.
    pub fn end(&self, how: u32, now_ticks: u64) -> bool {
        // Relaxed: the word's Release publishes it. Two threads that end the wait at once write
        // nearly the same time.
        self.signalled_at.store(now_ticks, Ordering::Relaxed);
        self.word.set(how)
    }

    /// Clock ticks when another thread ended the wait.
    pub fn signalled_at(&self) -> u64 {
        self.signalled_at.load(Ordering::Relaxed)
    }
}

type Bucket = CachePadded<SpinLock<VecDeque<(usize, Arc<Waiter>)>>>;

/// The waiting threads, by address.
#[derive(Debug)]
pub struct Lot {
    buckets: [Bucket; BUCKETS],
}

impl Lot {
    /// Makes a lot in which no thread waits.
    #[cfg(not(any(loom, shuttle)))]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            buckets: [const { CachePadded::new(SpinLock::new(SpinClass::SosWaitList, VecDeque::new())) };
                BUCKETS],
        }
    }

    /// Makes a lot in which no thread waits.
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
            // A waiter that has just timed out or been cancelled must not consume the wake-up.
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
