//! A reader/writer latch of one word that spins for about 2 us and then parks.
//!
//! | writer | waiting | parked | readers | meaning                                               |
//! |--------|---------|--------|---------|-------------------------------------------------------|
//! | 0      | 0       | 0      | 0       | free                                                  |
//! | 0      | 0       | 0      | n       | n readers                                             |
//! | 1      | 0       | 0      | 0       | one writer                                            |
//! | 0      | 1       | 1      | n       | n readers; a writer is parked, new readers wait       |
//! | 1      | x       | 1      | 0       | one writer; others are parked                         |
//!
//! Whoever frees the latch with `parked` set clears `waiting` and `parked` and wakes all the parked,
//! who try again: barging is allowed, and batches of readers alternate with writers.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::{LatchClass, Proven};
use crate::sync::{AtomicU32, Ordering};

const WRITER: u32 = 1 << 31;
const WRITER_WAITING: u32 = 1 << 30;
const PARKED: u32 = 1 << 29;
const READERS: u32 = PARKED - 1;

/// The orderings of a [`RawRwLatch`]; other than [`Proven`] only in tests that must fail.
pub trait LatchOrders {
    /// Of the exchanges that take the latch.
    const TAKE: Ordering;
    /// Of the read-modify-writes that free it.
    const FREE: Ordering;
}

impl LatchOrders for Proven {
    // Acquire: pairs with the Release in `free_read` and `free_write`.
    const TAKE: Ordering = Ordering::Acquire;
    // Release: pairs with the Acquire in `try_read` and `try_write`.
    const FREE: Ordering = Ordering::Release;
}

/// The word of the latch, without data.
#[derive(Debug)]
pub struct RawRwLatch<O = Proven> {
    word: AtomicU32,
    orders: PhantomData<O>,
}

impl<O: LatchOrders> RawRwLatch<O> {
    /// Makes a free latch.
    #[must_use]
    pub fn new() -> Self {
        Self { word: AtomicU32::new(0), orders: PhantomData }
    }

    /// Becomes a reader unless a writer holds the latch or waits for it.
    #[inline]
    pub fn try_read(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        word & (WRITER | WRITER_WAITING) == 0 && self.exchange(word, word + 1)
    }

    /// Becomes the writer if nobody holds the latch.
    #[inline]
    pub fn try_write(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        word & (WRITER | READERS) == 0 && self.exchange(word, word | WRITER)
    }

    #[inline]
    fn exchange(&self, from: u32, to: u32) -> bool {
        // Relaxed on failure: the caller tries again from a fresh load.
        self.word.compare_exchange_weak(from, to, O::TAKE, Ordering::Relaxed).is_ok()
    }

    /// Becomes a reader, waiting as long as it takes.
    #[inline]
    pub fn read(&self, class: LatchClass) {
        if !self.try_read() {
            self.slow_path(Wanted::Read, class);
        }
    }

    /// Becomes the writer, waiting as long as it takes.
    #[inline]
    pub fn write(&self, class: LatchClass) {
        if !self.try_write() {
            self.slow_path(Wanted::Write, class);
        }
    }

    /// Ends a reader's hold.
    #[inline]
    pub fn free_read(&self) {
        let before = self.word.fetch_sub(1, O::FREE);
        if before & READERS == 1 && before & PARKED != 0 {
            self.wake();
        }
    }

    /// Ends the writer's hold.
    #[inline]
    pub fn free_write(&self) {
        // One operation frees the latch and takes over the duty to wake.
        let before = self.word.fetch_and(READERS, O::FREE);
        if before & PARKED != 0 {
            self.unpark();
        }
    }

    #[cold]
    fn wake(&self) {
        // Relaxed: `unpark` orders this with the check that a parking thread does in the lot.
        let before = self.word.fetch_and(!(PARKED | WRITER_WAITING), Ordering::Relaxed);
        if before & PARKED != 0 {
            self.unpark();
        }
    }

    #[cold]
    fn slow_path(&self, wanted: Wanted, class: LatchClass) {
        let mut rounds = 0;
        loop {
            let taken = match wanted {
                Wanted::Read => self.try_read(),
                Wanted::Write => self.try_write(),
            };
            if taken {
                return;
            }
            if rounds < SPIN_ROUNDS {
                rounds += 1;
                crate::sync::spin_hint();
                continue;
            }
            self.park(wanted, class);
        }
    }

    /// Marks the word and parks until the mark is cleared.
    fn park(&self, wanted: Wanted, class: LatchClass) {
        let word = self.word.load(Ordering::Relaxed);
        let (blocked, marks) = match wanted {
            Wanted::Read => (word & (WRITER | WRITER_WAITING) != 0, PARKED),
            Wanted::Write => (word & (WRITER | READERS) != 0, PARKED | WRITER_WAITING),
        };
        if !blocked {
            return;
        }
        let marked = word | marks;
        let stays = Ordering::Relaxed;
        if marked != word && self.word.compare_exchange(word, marked, stays, stays).is_err() {
            return;
        }
        self.sleep(wanted, class);
    }

    #[cfg(not(any(loom, shuttle)))]
    fn key(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    #[cfg(not(any(loom, shuttle)))]
    fn sleep(&self, wanted: Wanted, class: LatchClass) {
        let wait_type = match wanted {
            Wanted::Read => crate::wait::WaitType::LatchShared,
            Wanted::Write => crate::wait::WaitType::LatchExclusive,
        };
        // Under the lot's lock: whoever clears the mark later finds this thread in the lot.
        let marked = || self.word.load(Ordering::Relaxed) & PARKED != 0;
        let started = crate::clock::now_ticks();
        crate::park::park(self.key(), wait_type, marked, None, None);
        let ticks = crate::clock::now_ticks().saturating_sub(started);
        crate::ledger::with_current(|account| account.latch(class).book(ticks, 0));
    }

    #[cfg(not(any(loom, shuttle)))]
    fn unpark(&self) {
        crate::park::unpark_all(self.key());
    }

    #[cfg(any(loom, shuttle))]
    fn sleep(&self, _wanted: Wanted, _class: LatchClass) {
        crate::sync::spin_hint();
    }

    #[cfg(any(loom, shuttle))]
    fn unpark(&self) {}
}

impl<O: LatchOrders> Default for RawRwLatch<O> {
    fn default() -> Self {
        Self::new()
    }
}

/// Tries before parking: about 2 us at some 40 ns a pause.
const SPIN_ROUNDS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 50 };

#[derive(Clone, Copy)]
enum Wanted {
    Read,
    Write,
}

/// A value behind a [`RawRwLatch`]: may be held for microseconds, never across a wait for a client.
pub struct RwLatch<T> {
    raw: RawRwLatch,
    class: LatchClass,
    value: UnsafeCell<T>,
}

// SAFETY: the latch gives the value to one writer at a time, which may as well own it.
unsafe impl<T: Send> Send for RwLatch<T> {}
// SAFETY: readers share the value (Sync), writers have it to themselves (Send).
unsafe impl<T: Send + Sync> Sync for RwLatch<T> {}

impl<T> RwLatch<T> {
    /// Makes a free latch.
    pub fn new(class: LatchClass, value: T) -> Self {
        Self { raw: RawRwLatch::new(), class, value: UnsafeCell::new(value) }
    }

    /// Shares the value with other readers.
    #[inline]
    pub fn read(&self) -> ReadLatchGuard<'_, T> {
        self.raw.read(self.class);
        ReadLatchGuard { latch: self, not_send: PhantomData }
    }

    /// Has the value alone.
    #[inline]
    pub fn write(&self) -> WriteLatchGuard<'_, T> {
        self.raw.write(self.class);
        let panics_before = std::thread::panicking();
        WriteLatchGuard { latch: self, panics_before, not_send: PhantomData }
    }

    /// The value, when nobody else can have the latch.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T> fmt::Debug for RwLatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLatch").field("class", &self.class).finish_non_exhaustive()
    }
}

/// Proof of a shared hold.
#[derive(Debug)]
pub struct ReadLatchGuard<'a, T> {
    latch: &'a RwLatch<T>,
    not_send: PhantomData<*const ()>,
}

/// Proof of the exclusive hold.
#[derive(Debug)]
pub struct WriteLatchGuard<'a, T> {
    latch: &'a RwLatch<T>,
    panics_before: bool,
    not_send: PhantomData<*const ()>,
}

impl<T> Deref for ReadLatchGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard proves that there is no writer.
        unsafe { &*self.latch.value.get() }
    }
}

impl<T> Deref for WriteLatchGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard proves that this thread is the only holder.
        unsafe { &*self.latch.value.get() }
    }
}

impl<T> DerefMut for WriteLatchGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard proves that this thread is the only holder.
        unsafe { &mut *self.latch.value.get() }
    }
}

impl<T> Drop for ReadLatchGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.latch.raw.free_read();
    }
}

impl<T> Drop for WriteLatchGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() && !self.panics_before {
            super::poisoned(self.latch.class.name());
        }
        self.latch.raw.free_write();
    }
}
