//! A reader/writer spinlock in three forms that can be told apart only by their cost.
//!
//! The exclusive and the one-word form stay for comparison: they are what a metadata cache looked
//! like before and after it was first repaired. The distributed form has a file of its own. One word:
//!
//! | bit 31 (writer) | bit 30 (writer waits) | readers | meaning                          |
//! |-----------------|-----------------------|---------|----------------------------------|
//! | 0               | 0                     | 0       | free                             |
//! | 0               | 0                     | n       | n readers                        |
//! | 0               | 1                     | n       | n readers, new ones hold back    |
//! | 1               | x                     | 0       | one writer                       |

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::class::Contention;
use super::{LatchOrders, Proven, RawDistributed, SpinClass};
use crate::sync::{AtomicU32, Ordering};

const WRITER: u32 = 1 << 31;
const WRITER_WAITING: u32 = 1 << 30;
const READERS: u32 = WRITER_WAITING - 1;

/// The form of an [`RwSpin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RwMode {
    /// Readers exclude each other as well.
    Exclusive,
    /// Readers share one word, which each of them writes.
    OneWord,
    /// Each reader writes a line of its own; writers pay for it.
    Distributed,
}

/// Whether readers share a [`RawRwSpin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordMode {
    /// They exclude each other as well.
    Exclusive,
    /// They share it.
    Shared,
}

/// The word of the exclusive and of the one-word form, without data.
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

    /// Becomes a reader, if that is possible now.
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

    /// Becomes the writer, if that is possible now.
    #[inline]
    pub fn try_write(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        word & (WRITER | READERS) == 0 && self.exchange(word, WRITER)
    }

    /// Becomes a reader, spinning as long as it takes.
    #[inline]
    pub fn read(&self, class: SpinClass) {
        if self.try_read() {
            return;
        }
        self.read_contended(class);
    }

    #[cold]
    fn read_contended(&self, class: SpinClass) {
        let mut contention = Contention::begin(class);
        while !self.try_read() {
            contention.pause();
        }
    }

    /// Becomes the writer, spinning as long as it takes.
    #[inline]
    pub fn write(&self, class: SpinClass) {
        if self.try_write() {
            return;
        }
        self.write_contended(class);
    }

    #[cold]
    fn write_contended(&self, class: SpinClass) {
        let mut contention = Contention::begin(class);
        while !self.try_write() {
            // Relaxed: a hint to readers; the writer that gets in clears it.
            self.word.fetch_or(WRITER_WAITING, Ordering::Relaxed);
            contention.pause();
        }
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

    /// Ends the writer's hold.
    #[inline]
    pub fn free_write(&self) {
        // Release: pairs with the Acquire of the next reader or writer. Keeps a waiting writer's
        // mark, so that readers do not overtake it for ever.
        self.word.fetch_and(!WRITER, O::FREE);
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
    /// Makes a free lock of the given form.
    pub fn new(class: SpinClass, mode: RwMode, value: T) -> Self {
        let raw = match mode {
            RwMode::Exclusive => Raw::Word(RawRwSpin::new(WordMode::Exclusive)),
            RwMode::OneWord => Raw::Word(RawRwSpin::new(WordMode::Shared)),
            RwMode::Distributed => Raw::Distributed(Box::default()),
        };
        Self { raw, class, value: UnsafeCell::new(value) }
    }

    /// Shares the value with other readers.
    #[inline]
    pub fn read(&self) -> ReadGuard<'_, T> {
        match &self.raw {
            Raw::Word(raw) => raw.read(self.class),
            Raw::Distributed(raw) => raw.read(self.class),
        }
        ReadGuard { lock: self, not_send: PhantomData }
    }

    /// Has the value alone.
    #[inline]
    pub fn write(&self) -> WriteGuard<'_, T> {
        match &self.raw {
            Raw::Word(raw) => raw.write(self.class),
            Raw::Distributed(raw) => raw.write(self.class),
        }
        let panics_before = std::thread::panicking();
        WriteGuard { lock: self, panics_before, not_send: PhantomData }
    }
}

impl<T> fmt::Debug for RwSpin<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwSpin").field("class", &self.class).finish_non_exhaustive()
    }
}

/// Proof of a shared hold.
#[derive(Debug)]
pub struct ReadGuard<'a, T> {
    lock: &'a RwSpin<T>,
    not_send: PhantomData<*const ()>,
}

/// Proof of the exclusive hold.
#[derive(Debug)]
pub struct WriteGuard<'a, T> {
    lock: &'a RwSpin<T>,
    panics_before: bool,
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
            Raw::Distributed(raw) => raw.free_read(),
        }
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
    }
}
