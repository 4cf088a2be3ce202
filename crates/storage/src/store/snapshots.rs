//! The snapshots in use: one slot per transaction that reads, scanned for garbage collection.
//!
//! ```text
//! slot  0 free ──► 1 taking a snapshot ──► ts in use ──► 0
//! ```
//! A slot says 1 before the snapshot is taken. A thread that computes the horizon takes the time
//! first and reads the slots then: it meets the 1 and gives up, or the snapshot is later.

use crate::primitives::{
    AtomicPtr, AtomicU64, CachePadded, Clock, Mutant, Ordering, Shards, Timestamp, is_mutant,
};

const FREE: u64 = 0;
const TAKING: u64 = 1;
const SLOTS: usize = 15;

/// Slots that one thread's transactions use first; more blocks are chained on demand and kept.
#[derive(Default)]
struct Block {
    slots: [AtomicU64; SLOTS],
    next: AtomicPtr<CachePadded<Block>>,
}

/// All snapshot slots of a store.
pub(crate) struct Snapshots {
    shards: Shards<Block>,
}

/// The slot of one transaction. Freed with [`Slot::release`].
#[derive(Clone, Copy)]
pub(crate) struct Slot(*const AtomicU64);

// SAFETY: the slot is an atomic in the registry, which outlives the transactions of its store.
unsafe impl Send for Slot {}

impl Slot {
    fn word(&self) -> &AtomicU64 {
        // SAFETY: blocks live as long as the registry, and a transaction keeps its store alive.
        unsafe { &*self.0 }
    }

    /// Takes a snapshot. Versions that the older snapshot `pinned` needs are kept too.
    pub(crate) fn take(&self, clock: &Clock, pinned: Option<Timestamp>) -> Timestamp {
        if is_mutant(Mutant::SnapshotUnmarked) {
            self.release();
            return clock.snapshot();
        }
        // SeqCst: pairs with the loads in `horizon`.
        self.word().swap(TAKING, Ordering::SeqCst);
        let snapshot = clock.snapshot();
        let oldest = pinned.map_or(snapshot, |pinned| pinned.min(snapshot));
        self.word().store(oldest.0.max(TAKING), Ordering::SeqCst);
        snapshot
    }

    /// Frees the slot, so its snapshot no longer keeps versions.
    pub(crate) fn release(self) {
        // Release: the transaction's reads are over before its versions are freed.
        self.word().store(FREE, Ordering::SeqCst);
    }
}

impl Snapshots {
    pub(crate) fn new() -> Self {
        Self { shards: Shards::default() }
    }

    /// Takes a free slot of this thread's shard.
    pub(crate) fn acquire(&self) -> Slot {
        let mut block = self.shards.own();
        loop {
            for slot in &block.slots {
                if slot.load(Ordering::Relaxed) == FREE
                    && slot
                        .compare_exchange(FREE, TAKING, Ordering::SeqCst, Ordering::Relaxed)
                        .is_ok()
                {
                    return Slot(slot);
                }
            }
            block = block.next_or_add();
        }
    }

    /// Returns the horizon: every snapshot in use, and every one taken from now on, is at least
    /// this. `None` while a transaction is taking a snapshot.
    pub(crate) fn horizon(&self, clock: &Clock) -> Option<Timestamp> {
        let mut oldest = clock.snapshot().0;
        for word in self.words() {
            match word {
                FREE => {}
                TAKING => return None,
                ts => oldest = oldest.min(ts),
            }
        }
        Some(Timestamp(oldest))
    }

    /// Returns the number of slots in use.
    pub(crate) fn in_use(&self) -> usize {
        self.words().filter(|word| *word != FREE).count()
    }

    fn words(&self) -> impl Iterator<Item = u64> {
        self.shards.iter().flat_map(|shard| {
            let mut block = Some(shard);
            let blocks = std::iter::from_fn(move || {
                let current = block?;
                block = current.next();
                Some(current)
            });
            // SeqCst: pairs with the swap in `take`.
            blocks.flat_map(|block| block.slots.iter().map(|slot| slot.load(Ordering::SeqCst)))
        })
    }
}

impl Block {
    fn next(&self) -> Option<&Self> {
        // SAFETY: chained blocks live as long as the registry.
        unsafe { self.next.load(Ordering::Acquire).as_ref() }.map(|padded| &**padded)
    }

    fn next_or_add(&self) -> &Self {
        if let Some(next) = self.next() {
            return next;
        }
        let new = Box::into_raw(Box::<CachePadded<Self>>::default());
        let raced = self.next.compare_exchange(
            std::ptr::null_mut(),
            new,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        if raced.is_err() {
            // SAFETY: this thread lost the race, so no other has seen `new`.
            drop(unsafe { Box::from_raw(new) });
        }
        self.next().expect("a block was just chained")
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let next = self.next.load(Ordering::Acquire);
        if !next.is_null() {
            // SAFETY: made by `Box::into_raw` in `next_or_add`, owned by this block.
            drop(unsafe { Box::from_raw(next) });
        }
    }
}
