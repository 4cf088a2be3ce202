//! `SpinLock`: an exclusive spinlock whose word is the number of its owner.
//!
//! | word | meaning                                  | next                        |
//! |------|------------------------------------------|-----------------------------|
//! | 0    | free                                     | n, by one exchange          |
//! | n    | held by the thread of this ledger number | 0, by that thread           |

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::spin_slow_path::{SpinCost, SpinSlowPath};
use super::{Proven, SpinClass, thread_number};
use crate::sync::{AtomicU32, Ordering};

/// The orderings of a [`RawSpin`]; other than [`Proven`] only in tests that must fail.
pub trait SpinOrders {
    /// The ordering of the exchange that takes the lock.
    const TAKE: Ordering;
    /// The ordering of the store that frees it.
    const FREE: Ordering;
}

impl SpinOrders for Proven {
    // Acquire: pairs with the Release in `free`, so that the owner sees what the last one wrote.
    const TAKE: Ordering = Ordering::Acquire;
    // Release: pairs with the Acquire in `try_take`.
    const FREE: Ordering = Ordering::Release;
}

/// The word of a spinlock, without data.
#[derive(Debug)]
pub struct RawSpin<O = Proven> {
    word: AtomicU32,
    orders: PhantomData<O>,
}

impl<O: SpinOrders> RawSpin<O> {
    /// Makes a free lock.
    #[cfg(not(any(loom, shuttle)))]
    #[must_use]
    pub const fn new() -> Self {
        Self { word: AtomicU32::new(0), orders: PhantomData }
    }

    /// Makes a free lock.
    #[cfg(any(loom, shuttle))]
    #[must_use]
    pub fn new() -> Self {
        Self { word: AtomicU32::new(0), orders: PhantomData }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_take(&self) -> bool {
        // Relaxed on failure: nothing is read under a lock that was not taken.
        self.word.compare_exchange(0, thread_number(), O::TAKE, Ordering::Relaxed).is_ok()
    }

    /// Takes the lock, spinning until it is free. Returns the cost, to be booked after `free`.
    #[inline]
    pub fn take(&self, class: SpinClass) -> Option<SpinCost> {
        if self.try_take() { None } else { Some(self.take_contended(class)) }
    }

    #[cold]
    fn take_contended(&self, class: SpinClass) -> SpinCost {
        let mut slow_path =
            SpinSlowPath::begin(class, self.owner(), std::ptr::from_ref(self).addr());
        loop {
            slow_path.pause();
            // Relaxed: only decides whether the exchange is worth trying.
            if self.word.load(Ordering::Relaxed) == 0 && self.try_take() {
                return slow_path.end();
            }
        }
    }

    /// Frees the lock. Only the owner may call it.
    #[inline]
    pub fn free(&self) {
        self.word.store(0, O::FREE);
    }

    /// The ledger number of the owning thread; 0 if free.
    pub fn owner(&self) -> u32 {
        self.word.load(Ordering::Relaxed)
    }
}

impl<O: SpinOrders> Default for RawSpin<O> {
    fn default() -> Self {
        Self::new()
    }
}

/// A value that one thread at a time may use, for a few hundred nanoseconds.
///
/// Sync if the value is Send, as a mutex is. A thread that panics while it holds the lock stops the
/// process, since the data can no longer be trusted.
pub struct SpinLock<T> {
    raw: RawSpin,
    class: SpinClass,
    value: UnsafeCell<T>,
}

// SAFETY: the lock gives the value to one thread at a time, which may as well own it.
unsafe impl<T: Send> Send for SpinLock<T> {}
// SAFETY: as above; shared access to the lock is exclusive access to the value.
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    /// Makes a free lock.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new(class: SpinClass, value: T) -> Self {
        Self { raw: RawSpin::new(), class, value: UnsafeCell::new(value) }
    }

    /// Makes a free lock.
    #[cfg(any(loom, shuttle))]
    pub fn new(class: SpinClass, value: T) -> Self {
        Self { raw: RawSpin::new(), class, value: UnsafeCell::new(value) }
    }

    /// Takes the lock, spinning until it is free.
    #[inline]
    pub fn lock(&self) -> SpinGuard<'_, T> {
        let booking = self.raw.take(self.class);
        SpinGuard::new(self, booking)
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<SpinGuard<'_, T>> {
        self.raw.try_take().then(|| SpinGuard::new(self, None))
    }

    /// The value; `&mut self` proves that no thread holds the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Takes the value out of the lock.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T> fmt::Debug for SpinLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpinLock").field("class", &self.class).finish_non_exhaustive()
    }
}

/// Proof that this thread holds a [`SpinLock`]; frees it when dropped.
#[derive(Debug)]
pub struct SpinGuard<'a, T> {
    lock: &'a SpinLock<T>,
    panics_before: bool,
    booking: Option<SpinCost>,
    /// The word has the thread's number, so the guard must stay on the thread.
    not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value only.
unsafe impl<T: Sync> Sync for SpinGuard<'_, T> {}

impl<'a, T> SpinGuard<'a, T> {
    #[inline]
    fn new(lock: &'a SpinLock<T>, booking: Option<SpinCost>) -> Self {
        let panics_before = std::thread::panicking();
        Self { lock, panics_before, booking, not_send: PhantomData }
    }
}

impl<T> Deref for SpinGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard proves that this thread holds the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for SpinGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard proves that this thread holds the lock.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for SpinGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() && !self.panics_before {
            super::poisoned(self.lock.class.name());
        }
        self.lock.raw.free();
        super::spin_slow_path::book(self.booking.take());
    }
}
