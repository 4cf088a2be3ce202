//! `Snapshot`: a read-mostly value. Readers load one pointer; writers publish a new value and
//! retire the old one.

use std::ptr;

use super::{Pin, pin, retire_box};
use crate::sync::{AtomicPtr, Ordering};

/// An immutable value that is replaced as a whole.
///
/// A reader pays one load of a line that is written only by [`Self::replace`]. Writers must agree
/// among themselves, by a lock outside, which of them builds the next value from the current one.
#[derive(Debug)]
pub struct Snapshot<T: Send + Sync + 'static> {
    current: AtomicPtr<T>,
}

impl<T: Send + Sync + 'static> Snapshot<T> {
    /// Publishes the first value.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self { current: AtomicPtr::new(Box::into_raw(Box::new(value))) }
    }

    /// Returns the current value, valid as long as the pin.
    #[inline]
    #[must_use]
    pub fn load<'p>(&'p self, _pin: &'p Pin) -> &'p T {
        // Acquire: pairs with the Release half of the swap in `replace`.
        let current = self.current.load(Ordering::Acquire);
        // SAFETY: the pointer comes from a box, and is freed only after this pin's section has
        // ended.
        unsafe { &*current }
    }

    /// Publishes a value; the one before is freed when no thread reads it any more.
    pub fn replace(&self, value: T) {
        let pin = pin();
        let next = Box::into_raw(Box::new(value));
        // AcqRel: publishes `next`, and sees what the publisher of the old one wrote, to drop it.
        let before = self.current.swap(next, Ordering::AcqRel);
        // SAFETY: the swap took the only shared pointer to it, and it came from a box.
        unsafe { retire_box(&pin, before) };
    }
}

impl<T: Send + Sync + 'static> Drop for Snapshot<T> {
    fn drop(&mut self) {
        let current = self.current.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: exclusive access: no reader borrows the snapshot, and `load` borrows it with the
        // pin.
        drop(unsafe { Box::from_raw(current) });
    }
}
