//! `HolderCell`: data without a lock that only the thread which holds the scheduler may access.

use std::cell::UnsafeCell;

/// A cell that only the holder of the scheduler may open.
pub(super) struct HolderCell<T>(UnsafeCell<T>);

// SAFETY: at most one thread holds the scheduler, and the baton's lock orders one holder's accesses
// before the next one's.
unsafe impl<T: Send> Sync for HolderCell<T> {}

impl<T> HolderCell<T> {
    pub(super) fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Opens the cell for the length of `use_it`.
    ///
    /// # Safety
    /// The calling thread holds the scheduler, and `use_it` neither gives it up nor opens the cell.
    #[inline]
    pub(super) unsafe fn with<R>(&self, use_it: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the caller's promise makes this the only reference.
        use_it(unsafe { &mut *self.0.get() })
    }
}
