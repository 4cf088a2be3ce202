//! `Domain`: the epoch counter, and one slot per thread that takes part.
//!
//! | slot | meaning                                                                          |
//! |------|----------------------------------------------------------------------------------|
//! | 0    | offline: the thread holds no pointer                                             |
//! | e    | online: the thread holds pointers read since it saw epoch e at the earliest      |
//!
//! The epoch moves from e to e+1 only when every online slot says e. What a thread retires carries
//! its own slot's epoch s and is freed at epoch s+3:
//!
//! * s+2 is reached only after the retiring thread itself has said s+1 or gone offline, after the
//!   unlink; so a thread that sees s+2 sees the unlink (Release of the slot, Acquire of the check,
//!   Release of the epoch, Acquire of the reader).
//! * s+3 is reached only after every online thread has said s+2, that is, holds no pointer that it
//!   read before it saw the unlink.
//!
//! So the path of a retiring thread has no fence and writes no shared line. Only going online has a
//! fence, because a thread that the check has overlooked must see every unlink before the check.

use std::marker::PhantomData;

use crate::lock::{Proven, SpinClass, SpinLock};
use crate::sync::{Arc, AtomicU64, CachePadded, Ordering, fence};

/// The memory orderings of a [`Domain`]; other than [`Proven`] only in tests that must fail.
pub trait EpochOrders {
    /// Of a thread's store to its slot.
    const SLOT_STORE: Ordering;
    /// Of the check's load of the slots.
    const SLOT_LOAD: Ordering;
    /// Of a thread's load of the epoch.
    const EPOCH_LOAD: Ordering;
    /// Whether going online has its fence.
    const ONLINE_FENCE: bool;
    /// The number of epochs that a retired item waits before it is freed.
    const DELAY: u64;
}

impl EpochOrders for Proven {
    const SLOT_STORE: Ordering = Ordering::Release;
    const SLOT_LOAD: Ordering = Ordering::Acquire;
    const EPOCH_LOAD: Ordering = Ordering::Acquire;
    const ONLINE_FENCE: bool = true;
    const DELAY: u64 = 3;
}

/// A value of the epoch counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(pub u64);

const OFFLINE: u64 = 0;

/// One thread's place in a domain, on its own cache line.
#[derive(Debug)]
pub struct Slot {
    epoch: CachePadded<AtomicU64>,
}

/// The threads that share data, and the current epoch.
#[derive(Debug)]
pub struct Domain<O = Proven> {
    epoch: CachePadded<AtomicU64>,
    slots: SpinLock<Vec<Arc<Slot>>>,
    orders: PhantomData<O>,
}

impl<O: EpochOrders> Domain<O> {
    /// Makes a domain without threads.
    #[cfg(not(any(loom, shuttle)))]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            epoch: CachePadded::new(AtomicU64::new(1)),
            slots: SpinLock::new(SpinClass::SosEpoch, Vec::new()),
            orders: PhantomData,
        }
    }

    /// Makes a domain without threads.
    #[cfg(any(loom, shuttle))]
    #[must_use]
    pub fn new() -> Self {
        Self {
            epoch: CachePadded::new(AtomicU64::new(1)),
            slots: SpinLock::new(SpinClass::SosEpoch, Vec::new()),
            orders: PhantomData,
        }
    }

    /// Adds a thread, offline.
    pub fn join(&self) -> Arc<Slot> {
        let slot = Arc::new(Slot { epoch: CachePadded::new(AtomicU64::new(OFFLINE)) });
        self.slots.lock().push(Arc::clone(&slot));
        slot
    }

    /// Removes a thread, which must be offline.
    pub fn part(&self, slot: &Arc<Slot>) {
        self.slots.lock().retain(|other| !Arc::ptr_eq(other, slot));
    }

    /// Marks the thread as online: it may read shared pointers from here on.
    pub fn online(&self, slot: &Slot) {
        let mut epoch = self.epoch.load(O::EPOCH_LOAD);
        loop {
            slot.epoch.store(epoch, Ordering::Relaxed);
            if O::ONLINE_FENCE {
                // SeqCst: pairs with the fence in `advance`. Either the check sees this slot, or
                // this thread sees every unlink that came before the check.
                fence(Ordering::SeqCst);
            }
            // A stale epoch in the slot would let what this thread retires be freed too early.
            let now = self.epoch.load(O::EPOCH_LOAD);
            if now == epoch {
                return;
            }
            epoch = now;
        }
    }

    /// Marks the thread as offline: it holds no shared pointer any more.
    pub fn offline(&self, slot: &Slot) {
        // Release: pairs with the Acquire in `advance`; its reads are over before anything is
        // freed.
        slot.epoch.store(OFFLINE, O::SLOT_STORE);
    }

    /// An online thread holds no shared pointer at this moment. One load; a store to its own line
    /// when the epoch has moved.
    #[inline]
    pub fn quiescent(&self, slot: &Slot) {
        // Acquire: pairs with the Release in `advance`.
        let now = self.epoch.load(O::EPOCH_LOAD);
        if slot.epoch.load(Ordering::Relaxed) != now {
            // Release: pairs with the Acquire in `advance`.
            slot.epoch.store(now, O::SLOT_STORE);
        }
    }

    /// The epoch with which to tag an item that this online thread has just unlinked.
    #[inline]
    pub fn tag(&self, slot: &Slot) -> Epoch {
        Epoch(slot.epoch.load(Ordering::Relaxed))
    }

    /// Whether an item of this tag can be freed.
    #[inline]
    pub fn is_free(&self, tag: Epoch) -> bool {
        // Acquire: pairs with the Release in `advance`; every reader's last access happens before.
        self.epoch.load(O::EPOCH_LOAD) >= tag.0 + O::DELAY
    }

    /// Advances the epoch if every online thread has seen the current one; returns whether it did.
    pub fn advance(&self) -> bool {
        let Some(slots) = self.slots.try_lock() else {
            return false;
        };
        let epoch = self.epoch.load(O::EPOCH_LOAD);
        // SeqCst: pairs with the fence in `online`.
        fence(Ordering::SeqCst);
        for slot in slots.iter() {
            // Acquire: pairs with the Release in `quiescent` and `offline`.
            let seen = slot.epoch.load(O::SLOT_LOAD);
            if seen != OFFLINE && seen != epoch {
                return false;
            }
        }
        // Release: hands on what the slots' Acquires saw. Only the holder of the list gets here.
        self.epoch.store(epoch + 1, Ordering::Release);
        true
    }
}

impl<O: EpochOrders> Default for Domain<O> {
    fn default() -> Self {
        Self::new()
    }
}
