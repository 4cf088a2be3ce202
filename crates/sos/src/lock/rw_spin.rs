//! `RwSpin`: a reader/writer spinlock in three modes that differ only in their cost.
//!
//! The exclusive and the one-word mode are kept for comparison: SQL Server's metadata cache had the
//! first, and the second after its first repair. The distributed mode is in `distributed.rs`. The
//! word of the other two:
//!
//! | bit 31 (writer) | bit 30 (writer waits) | the rest | meaning                           |
//! |-----------------|-----------------------|----------|-----------------------------------|
//! | 0               | 0                     | 0        | free                              |
//! | 0               | 0                     | n        | n readers                         |
//! | 0               | 1                     | n        | n readers, new ones hold back     |
//! | 1               | x                     | n        | a writer: the thread of number n  |

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::distributed::Hold;
use super::spin_slow_path::{self, SpinCost, SpinSlowPath};
use super::{LatchOrders, Proven, RawDistributed, SpinClass, thread_number};
use crate::sync::{AtomicU32, Ordering};

const WRITER: u32 = 1 << 31;
const WRITER_WAITING: u32 = 1 << 30;
/// The bits for the number of readers, or the writer's thread number.
const HOLDERS: u32 = WRITER_WAITING - 1;

/// The mode of an [`RwSpin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RwMode {
    /// Readers exclude each other, too.
    Exclusive,
    /// Readers share one word, which each of them writes.
    OneWord,
    /// Each reader writes its own cache line; writers pay with a barrier on all CPUs.
    Distributed,
}

/// Whether readers share a [`RawRwSpin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordMode {
    /// Readers exclude each other, too.
    Exclusive,
    /// Readers share the lock.
    Shared,
}

/// The word of the exclusive and of the one-word mode, without the value.
#[derive(Debug)]
pub struct RawRwSpin<O = Proven> {
    mode: WordMode,
    word: AtomicU32,
    orders: PhantomData<O>,
}

impl<O: LatchOrders> RawRwSpin<O> {
    /// Makes a free lock.
    #[must_use]
    pub fn new(mode: WordMode) -> Self {
        Self { mode, word: AtomicU32::new(0), orders: PhantomData }
    }

    #[inline]
    fn exchange(&self, from: u32, to: u32) -> bool {
        // Acquire: pairs with the Release in `free_read` and `free_write`.
        self.word.compare_exchange(from, to, O::TAKE, Ordering::Relaxed).is_ok()
    }

    /// Becomes a reader, if that is possible at once.
    #[inline]
    pub fn try_read(&self) -> bool {
        match self.mode {
            WordMode::Exclusive => self.try_write(),
            WordMode::Shared => {
                let word = self.word.load(Ordering::Relaxed);
                word & (WRITER | WRITER_WAITING) == 0 && self.exchange(word, word + 1)
            }
        }
    }

    /// Becomes the writer, if that is possible at once.
    #[inline]
    pub fn try_write(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        word & (WRITER | HOLDERS) == 0 && self.exchange(word, WRITER | thread_number() & HOLDERS)
    }

    /// Becomes a reader, spinning as long as needed. Returns the cost, to be booked after the
    /// release.
    #[inline]
    pub fn read(&self, class: SpinClass) -> Option<SpinCost> {
        if self.try_read() { None } else { Some(self.read_contended(class)) }
    }

    #[cold]
    fn read_contended(&self, class: SpinClass) -> SpinCost {
        let mut slow_path =
            SpinSlowPath::begin(class, self.owner(), std::ptr::from_ref(self).addr());
        loop {
            slow_path.pause();
            if self.try_read() {
                return slow_path.end();
            }
        }
    }

    /// Becomes the writer, spinning as long as needed. Returns the cost, to be booked after the
    /// release.
    #[inline]
    pub fn write(&self, class: SpinClass) -> Option<SpinCost> {
        if self.try_write() { None } else { Some(self.write_contended(class)) }
    }

    #[cold]
    fn write_contended(&self, class: SpinClass) -> SpinCost {
        let mut slow_path =
            SpinSlowPath::begin(class, self.owner(), std::ptr::from_ref(self).addr());
        loop {
            // Relaxed: a hint to readers; the writer that takes the lock clears it.
            self.word.fetch_or(WRITER_WAITING, Ordering::Relaxed);
            slow_path.pause();
            if self.try_write() {
                return slow_path.end();
            }
        }
    }

    /// The ledger number of the writer; 0 if there is none.
    pub fn owner(&self) -> u32 {
        let word = self.word.load(Ordering::Relaxed);
        if word & WRITER == 0 { 0 } else { word & HOLDERS }
    }

    /// Ends a reader's hold.
    #[inline]
    pub fn free_read(&self) {
        match self.mode {
            WordMode::Exclusive => self.free_write(),
            // Release: pairs with the Acquire of the next writer.
            WordMode::Shared => {
                self.word.fetch_sub(1, O::FREE);
            }
        }
    }

    /// Ends the writer's hold of the lock.
    #[inline]
    pub fn free_write(&self) {
        // Release: pairs with the Acquire of the next reader or writer. Keeps a waiting writer's
        // mark, so that readers do not overtake it forever.
        self.word.fetch_and(WRITER_WAITING, O::FREE);
    }
}

enum Raw {
    Word(RawRwSpin),
    Distributed(Box<RawDistributed>),
}

/// A value behind a reader/writer spinlock.
pub struct RwSpin<T> {
    raw: Raw,
    class: SpinClass,
    value: UnsafeCell<T>,
}

// SAFETY: the lock gives the value to one writer at a time, which may as well own it.
unsafe impl<T: Send> Send for RwSpin<T> {}
// SAFETY: readers share the value (Sync), writers have it to themselves (Send).
unsafe impl<T: Send + Sync> Sync for RwSpin<T> {}

impl<T> RwSpin<T> {
    /// Makes a free lock of the given mode.
    pub fn new(class: SpinClass, mode: RwMode, value: T) -> Self {
        let raw = match mode {
            RwMode::Exclusive => Raw::Word(RawRwSpin::new(WordMode::Exclusive)),
            RwMode::OneWord => Raw::Word(RawRwSpin::new(WordMode::Shared)),
            RwMode::Distributed => Raw::Distributed(Box::default()),
        };
        Self { raw, class, value: UnsafeCell::new(value) }
    }

    /// Takes the lock in shared mode, spinning as long as needed.
    #[inline]
    pub fn read(&self) -> ReadGuard<'_, T> {
        let (hold, booking) = match &self.raw {
            Raw::Word(raw) => (Hold::Counted, raw.read(self.class)),
            Raw::Distributed(raw) => raw.read(current_row(), self.class),
        };
        ReadGuard { lock: self, hold, booking, not_send: PhantomData }
    }

    /// Takes the lock in exclusive mode, spinning as long as needed.
    #[inline]
    pub fn write(&self) -> WriteGuard<'_, T> {
        let booking = match &self.raw {
            Raw::Word(raw) => raw.write(self.class),
            Raw::Distributed(raw) => raw.write(all_rows, self.class),
        };
        let panics_before = std::thread::panicking();
        WriteGuard { lock: self, panics_before, booking, not_send: PhantomData }
    }
}

#[cfg(not(any(loom, shuttle)))]
pub(super) use super::row::{all as all_rows, current as current_row};

/// Models make their own rows.
#[cfg(any(loom, shuttle))]
pub(super) fn current_row() -> Option<&'static super::Row> {
    None
}

#[cfg(any(loom, shuttle))]
pub(super) fn all_rows() -> &'static [super::Row] {
    &[]
}

impl<T> fmt::Debug for RwSpin<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwSpin").field("class", &self.class).finish_non_exhaustive()
    }
}

/// Proof that the thread holds the lock in shared mode; frees it when dropped.
#[derive(Debug)]
pub struct ReadGuard<'a, T> {
    lock: &'a RwSpin<T>,
    hold: Hold<'static>,
    booking: Option<SpinCost>,
    not_send: PhantomData<*const ()>,
}

/// Proof that the thread holds the lock in exclusive mode; frees it when dropped.
#[derive(Debug)]
pub struct WriteGuard<'a, T> {
    lock: &'a RwSpin<T>,
    panics_before: bool,
    booking: Option<SpinCost>,
    not_send: PhantomData<*const ()>,
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard proves that there is no writer.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard proves that this thread is the only holder.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard proves that this thread is the only holder.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for ReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        match &self.lock.raw {
            Raw::Word(raw) => raw.free_read(),
            Raw::Distributed(raw) => raw.free_read(self.hold),
        }
        spin_slow_path::book(self.booking.take());
    }
}

impl<T> Drop for WriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() && !self.panics_before {
            super::poisoned(self.lock.class.name());
        }
        match &self.lock.raw {
            Raw::Word(raw) => raw.free_write(),
            Raw::Distributed(raw) => raw.free_write(),
        }
        spin_slow_path::book(self.booking.take());
    }
}
