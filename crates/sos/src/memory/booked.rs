//! `Booked`: a value whose small blocks go back to the clerk that they were taken from.
//!
//! A small block does not say whose it is (`allocator.rs`): it is given back on the clerk of the thread that
//! frees it. What one thread makes and any other may be the last to hold, such as a plan, says so by itself.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use super::clerk::current;
use super::{MemoryClerk, with_clerk};

/// A value that is dropped, and cloned, on the books of its clerk.
pub struct Booked<T> {
    clerk: MemoryClerk,
    value: ManuallyDrop<T>,
}

impl<T> Booked<T> {
    /// Makes it of a value that was made on the books of the thread's clerk.
    pub fn new(value: T) -> Self {
        Self { clerk: current(), value: ManuallyDrop::new(value) }
    }
}

impl<T> Deref for Booked<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Booked<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Clone> Clone for Booked<T> {
    fn clone(&self) -> Self {
        with_clerk(self.clerk, || Self::new(T::clone(self)))
    }
}

impl<T: fmt::Debug> fmt::Debug for Booked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}

impl<T> Drop for Booked<T> {
    fn drop(&mut self) {
        with_clerk(self.clerk, || {
            // SAFETY: nobody uses the value after this: it is being dropped, once.
            unsafe { ManuallyDrop::drop(&mut self.value) }
        });
    }
}
