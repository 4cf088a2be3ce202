//! `RwLatch`: a value behind a reader/writer latch that spins for about 2 us and then parks. The
//! algorithm is in [`super::RawRwLatch`].

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use super::distributed::Hold;
use super::latch_slow_path::{self, LatchCost};
use super::rw_spin::{all_rows, current_row};
use super::{LatchClass, RawRwLatch};

/// A value behind a [`RawRwLatch`]. May be held for microseconds, but not across a wait for a
/// client.
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

    /// Takes the latch in shared mode, waiting as long as needed.
    #[inline]
    pub fn read(&self) -> ReadLatchGuard<'_, T> {
        let (hold, booking) = self.raw.read(current_row(), self.class);
        ReadLatchGuard { latch: self, hold, booking, not_send: PhantomData }
    }

    /// Takes the latch in exclusive mode, waiting as long as needed.
    #[inline]
    pub fn write(&self) -> WriteLatchGuard<'_, T> {
        let booking = self.raw.write(all_rows, self.class);
        let panics_before = std::thread::panicking();
        WriteLatchGuard { latch: self, panics_before, booking, not_send: PhantomData }
    }

    /// Copies the value without writing to the latch: optimistically, or as a reader if there is a
    /// writer in between.
    #[inline]
    pub fn copy(&self) -> T
    where
        T: Copy,
    {
        if let Some(version) = self.raw.optimistic() {
            // SAFETY: the pointer is valid and aligned. A writer may change the value during the
            // copy, which may then be torn: it is no value yet and is thrown away below. Volatile,
            // so that the compiler reads once, here.
            let copy = unsafe { self.value.get().cast::<MaybeUninit<T>>().read_volatile() };
            if self.raw.validate(version) {
                // SAFETY: no thread wrote during the copy, so it is what the last writer left.
                return unsafe { copy.assume_init() };
            }
        }
        *self.read()
    }

    /// The ledger number of the thread that writes; 0 if there is none.
    pub fn owner(&self) -> u32 {
        self.raw.owner()
    }

    /// The value; `&mut self` proves that no thread holds the latch.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T> fmt::Debug for RwLatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLatch").field("class", &self.class).finish_non_exhaustive()
    }
}

/// Proof that the thread holds the latch in shared mode; frees it when dropped.
#[derive(Debug)]
pub struct ReadLatchGuard<'a, T> {
    latch: &'a RwLatch<T>,
    hold: Hold<'static>,
    booking: Option<LatchCost>,
    not_send: PhantomData<*const ()>,
}

/// Proof that the thread holds the latch in exclusive mode; frees it when dropped.
#[derive(Debug)]
pub struct WriteLatchGuard<'a, T> {
    latch: &'a RwLatch<T>,
    panics_before: bool,
    booking: Option<LatchCost>,
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
        self.latch.raw.free_read(self.hold);
        latch_slow_path::book(self.booking.take());
    }
}

impl<T> Drop for WriteLatchGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() && !self.panics_before {
            super::poisoned(self.latch.class.name());
        }
        self.latch.raw.free_write();
        latch_slow_path::book(self.booking.take());
    }
}
