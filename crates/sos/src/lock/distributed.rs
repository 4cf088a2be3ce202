//! The distributed form of a reader/writer spinlock: each thread counts its reads in a slot of its
//! own, so readers write no shared line; a writer pays, with a barrier on all CPUs.
//!
//! | writer | slots    | meaning                                                        |
//! |--------|----------|----------------------------------------------------------------|
//! | 0      | all 0    | free                                                           |
//! | 0      | some n   | readers                                                        |
//! | 1      | some n   | a writer waits for those readers; new ones step back           |
//! | 1      | all 0    | one writer                                                     |
//!
//! Dekker's pattern: a reader stores its slot and loads the writer's word; the writer stores its word
//! and loads the slots. Each needs a fence in between. With membarrier(2) the writer's system call
//! stands for the fences of all readers, and theirs costs nothing.

use std::marker::PhantomData;

use super::class::Contention;
use super::{Proven, SpinClass, thread_number};
use crate::sync::{AtomicU32, CachePadded, Ordering, fence};

/// Slots: threads with higher numbers share the last one.
const SLOTS: usize = if cfg!(any(loom, shuttle)) { 2 } else { 128 };

/// The orderings of a [`RawDistributed`]; other than [`Proven`] only in tests that must fail.
pub trait DistributedOrders {
    /// Whether readers have their barrier.
    const READER_BARRIER: bool;
    /// Of a reader's store that ends its read.
    const FREE: Ordering;
}

impl DistributedOrders for Proven {
    const READER_BARRIER: bool = true;
    // Release: pairs with the Acquire of the writer's loads of the slots.
    const FREE: Ordering = Ordering::Release;
}

/// What a reader's side of the barrier costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Barrier {
    /// Nothing: the writer's system call does it.
    Asymmetric,
    /// A fence: the kernel has no membarrier, or a model checker runs.
    Fence,
}

/// The words of the lock, without data.
#[derive(Debug)]
pub struct RawDistributed<O = Proven> {
    barrier: Barrier,
    writer: CachePadded<AtomicU32>,
    slots: Box<[CachePadded<AtomicU32>]>,
    orders: PhantomData<O>,
}

impl<O: DistributedOrders> RawDistributed<O> {
    /// Makes a free lock.
    #[must_use]
    pub fn new() -> Self {
        Self {
            barrier: if register_barrier() { Barrier::Asymmetric } else { Barrier::Fence },
            writer: CachePadded::new(AtomicU32::new(0)),
            slots: (0..SLOTS).map(|_| CachePadded::new(AtomicU32::new(0))).collect(),
            orders: PhantomData,
        }
    }

    /// Becomes a reader, spinning while there is a writer. `number` is the calling thread's.
    #[inline]
    pub fn read_as(&self, number: u32, class: SpinClass) {
        if !self.try_read(number) {
            self.read_contended(number, class);
        }
    }

    #[inline]
    fn try_read(&self, number: u32) -> bool {
        self.count(number, 1, Ordering::Relaxed);
        self.reader_barrier();
        // Acquire: pairs with the Release in `free_write`.
        if self.writer.load(Ordering::Acquire) == 0 {
            return true;
        }
        self.free_read_as(number);
        false
    }

    /// Changes the thread's slot: a plain store if nobody else writes it.
    #[inline]
    fn count(&self, number: u32, change: u32, order: Ordering) {
        let index = usize::try_from(number).unwrap_or(SLOTS).min(SLOTS - 1);
        let slot = &self.slots[index];
        if index < SLOTS - 1 {
            slot.store(slot.load(Ordering::Relaxed).wrapping_add(change), order);
        } else {
            slot.fetch_add(change, order);
        }
    }

    #[inline]
    fn reader_barrier(&self) {
        match self.barrier {
            // Keeps the compiler from reordering; the CPU is stopped by `writer_barrier`.
            Barrier::Asymmetric => std::sync::atomic::compiler_fence(Ordering::SeqCst),
            // SeqCst: pairs with the one in `writer_barrier`.
            Barrier::Fence if O::READER_BARRIER => fence(Ordering::SeqCst),
            Barrier::Fence => {}
        }
    }

    fn writer_barrier(&self) {
        match self.barrier {
            Barrier::Asymmetric => barrier_on_all_cpus(),
            // SeqCst: pairs with the one in `reader_barrier`.
            Barrier::Fence => fence(Ordering::SeqCst),
        }
    }

    #[cold]
    fn read_contended(&self, number: u32, class: SpinClass) {
        let mut contention = Contention::begin(class);
        loop {
            if self.writer.load(Ordering::Relaxed) == 0 && self.try_read(number) {
                return;
            }
            contention.pause();
        }
    }

    /// Ends a read of this thread.
    #[inline]
    pub fn free_read_as(&self, number: u32) {
        self.count(number, u32::MAX, O::FREE);
    }

    /// Becomes the writer, spinning until the last reader has gone.
    #[cold]
    pub fn write(&self, class: SpinClass) {
        let mut contention = None;
        // Acquire: pairs with the Release in `free_write`.
        while self.writer.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            contention.get_or_insert_with(|| Contention::begin(class)).pause();
        }
        self.writer_barrier();
        for slot in &self.slots {
            // Acquire: pairs with the Release in `free_read_as`.
            while slot.load(Ordering::Acquire) != 0 {
                contention.get_or_insert_with(|| Contention::begin(class)).pause();
            }
        }
    }

    /// Ends the writer's hold.
    pub fn free_write(&self) {
        // Release: pairs with the Acquire in `try_read` and `write`.
        self.writer.store(0, Ordering::Release);
    }

    /// Becomes a reader; see [`Self::read_as`].
    #[inline]
    pub fn read(&self, class: SpinClass) {
        self.read_as(thread_number(), class);
    }

    /// Ends a read of this thread.
    #[inline]
    pub fn free_read(&self) {
        self.free_read_as(thread_number());
    }
}

impl<O: DistributedOrders> Default for RawDistributed<O> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(not(any(loom, shuttle)))]
fn register_barrier() -> bool {
    crate::sys::register_membarrier()
}

#[cfg(any(loom, shuttle))]
fn register_barrier() -> bool {
    false
}

#[cfg(not(any(loom, shuttle)))]
fn barrier_on_all_cpus() {
    crate::sys::membarrier();
}

#[cfg(any(loom, shuttle))]
fn barrier_on_all_cpus() {
    fence(Ordering::SeqCst);
}
