//! The queue of a latch: the threads that are parked under its address, in the order of arrival.
//!
//! All queues share 64 buckets. A bucket's lock also guards the queue's flags in the latches'
//! words, so that a flag is set exactly if the queue has a thread of that kind.

use std::collections::VecDeque;

use super::latch_slow_path::LatchSlowPath;
use super::latch_word::{Parked, Wanted};
use super::{SpinClass, SpinLock};
use crate::park::WakeWord;
use crate::sync::{Arc, AtomicU64, CachePadded, Ordering};

/// Hash buckets; a collision costs a longer search only.
const BUCKETS: usize = 64;
/// How long (ns) the head of a queue may be overtaken before it gets the latch handed over.
#[cfg(not(shuttle))]
const BARGING_NS_MAX: u64 = 750_000;

/// A thread in the queue.
#[derive(Debug)]
pub(super) struct LatchWaiter {
    /// Why the thread is woken: [`SIGNALLED`] or [`HANDED`].
    pub(super) word: WakeWord,
    /// The thread's ledger number, for the word of a latch that is handed to it.
    number: u32,
    signalled_at: AtomicU64,
}

/// The latch may be free: try again.
pub(super) const SIGNALLED: u32 = 1;
/// The latch has been handed to the thread.
pub(super) const HANDED: u32 = 2;

impl LatchWaiter {
    pub(super) fn new(number: u32) -> Arc<Self> {
        let signalled_at = AtomicU64::new(0);
        Arc::new(Self { word: WakeWord::default(), number, signalled_at })
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Clock ticks when the thread was woken.
    #[cfg(not(shuttle))]
    pub(super) fn signalled_at(&self) -> u64 {
        self.signalled_at.load(Ordering::Relaxed)
    }
}

/// Wakes the threads that were taken out of a queue, after the bucket's lock has been freed.
pub(super) fn wake(waiters: Vec<Arc<LatchWaiter>>, decision: u32) {
    if waiters.is_empty() {
        return;
    }
    let now = now();
    for waiter in waiters {
        // Relaxed: published by the Release of the word.
        waiter.signalled_at.store(now, Ordering::Relaxed);
        waiter.word.set(decision);
    }
}

#[cfg(not(shuttle))]
fn now() -> u64 {
    crate::clock::now_ticks()
}

/// Whether a thread that has waited since `since` has waited too long, and the last hand-over is as
/// long ago.
#[cfg(not(shuttle))]
fn is_due(since: u64, handed_at: u64) -> bool {
    let ticks = now().saturating_sub(since.max(handed_at));
    crate::clock::ticks_to_ns(ticks) >= BARGING_NS_MAX
}

#[cfg(shuttle)]
const fn now() -> u64 {
    0
}

/// Under shuttle, a random decision.
#[cfg(shuttle)]
fn is_due(_since: u64, _handed_at: u64) -> bool {
    shuttle::rand::Rng::r#gen(&mut shuttle::rand::thread_rng())
}

#[derive(Debug)]
struct Entry {
    address: usize,
    wanted: Wanted,
    /// Clock ticks when its slow path began.
    since: u64,
    waiter: Arc<LatchWaiter>,
}

/// The queues of the latches of one bucket.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    entries: VecDeque<Entry>,
    /// Clock ticks when one of the latches was last handed over.
    handed_at: u64,
}

impl Bucket {
    pub(super) fn enter(
        &mut self,
        address: usize,
        slow_path: &LatchSlowPath,
        waiter: &Arc<LatchWaiter>,
    ) {
        let (wanted, since) = (slow_path.wanted(), slow_path.started());
        let entry = Entry { address, wanted, since, waiter: Arc::clone(waiter) };
        // A thread that was woken and overtaken returns to the front.
        if slow_path.has_slept() {
            self.entries.push_front(entry);
        } else {
            self.entries.push_back(entry);
        }
    }

    /// Whether the latch must be handed over this time, because the head of the queue has waited
    /// too long. Not often, because no thread can use the latch until the head has woken up.
    pub(super) fn is_hand_over_due(&mut self, address: usize) -> bool {
        let Some(head) = self.entries.iter().find(|entry| entry.address == address) else {
            return false;
        };
        let due = is_due(head.since, self.handed_at);
        if due {
            self.handed_at = now();
        }
        due
    }

    /// Takes out the writer at the head of a latch's queue.
    pub(super) fn take_writer(&mut self, address: usize) -> Vec<Arc<LatchWaiter>> {
        let is_it = |entry: &Entry| entry.address == address && entry.wanted == Wanted::Write;
        let position = self.entries.iter().position(is_it);
        let entry = position.and_then(|position| self.entries.remove(position));
        entry.into_iter().map(|entry| entry.waiter).collect()
    }

    /// Takes all readers out of a latch's queue.
    pub(super) fn take_readers(&mut self, address: usize) -> Vec<Arc<LatchWaiter>> {
        let mut readers = Vec::new();
        self.entries.retain(|entry| {
            let is_it = entry.address == address && entry.wanted == Wanted::Read;
            if is_it {
                readers.push(Arc::clone(&entry.waiter));
            }
            !is_it
        });
        readers
    }

    /// Whether a latch's queue has readers, and whether it has writers.
    pub(super) fn parked(&self, address: usize) -> Parked {
        let mut parked = Parked::default();
        for entry in self.entries.iter().filter(|entry| entry.address == address) {
            match entry.wanted {
                Wanted::Read => parked.readers = true,
                Wanted::Write => parked.writers = true,
            }
        }
        parked
    }
}

type Locked = CachePadded<SpinLock<Bucket>>;

/// The queues of many latches.
#[derive(Debug)]
pub(super) struct LatchQueues {
    buckets: [Locked; BUCKETS],
}

impl LatchQueues {
    /// Makes the buckets, with no thread queued.
    #[cfg(not(shuttle))]
    pub(super) const fn new() -> Self {
        let buckets = [const {
            let bucket = Bucket { entries: VecDeque::new(), handed_at: 0 };
            CachePadded::new(SpinLock::new(SpinClass::SosRw, bucket))
        }; BUCKETS];
        Self { buckets }
    }

    /// Makes the buckets, with no thread queued.
    #[cfg(shuttle)]
    pub(super) fn new() -> Self {
        let bucket = |_| CachePadded::new(SpinLock::new(SpinClass::SosRw, Bucket::default()));
        Self { buckets: std::array::from_fn(bucket) }
    }

    pub(super) fn bucket(&self, address: usize) -> &SpinLock<Bucket> {
        // Fibonacci hashing: addresses differ in their middle bits.
        let hash = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
        &self.buckets[usize::try_from(hash).unwrap_or(0) % BUCKETS]
    }
}
