//! `TryCell`: a value that whoever finds it free may use, and for which nobody ever waits.
//!
//! | word   | meaning                                 | next                                    |
//! |--------|-----------------------------------------|-----------------------------------------|
//! | 0      | free                                    | a thread's number, by one exchange      |
//! | number | that thread uses the value              | 0, by that thread                       |

use std::fmt;

#[cfg(loom)]
use loom::cell::UnsafeCell;
#[cfg(not(loom))]
use std::cell::UnsafeCell;

use super::Proven;
use super::spin::{RawSpin, SpinOrders};

/// A value that one thread at a time may use; others go elsewhere.
///
/// Sync if the value is Send, as a mutex is.
pub struct TryCell<T, O = Proven> {
    word: RawSpin<O>,
    value: UnsafeCell<T>,
}

// SAFETY: the word gives the value to one thread at a time, so sharing the cell only moves it.
unsafe impl<T: Send, O> Sync for TryCell<T, O> {}
// SAFETY: the owner of the cell owns the value.
unsafe impl<T: Send, O> Send for TryCell<T, O> {}

/// Frees the word, at the end of the use or when it panics.
struct Free<'a, O: SpinOrders>(&'a RawSpin<O>);

impl<O: SpinOrders> Drop for Free<'_, O> {
    #[inline]
    fn drop(&mut self) {
        self.0.free();
    }
}

impl<T, O: SpinOrders> TryCell<T, O> {
    /// Wraps a value.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self { word: RawSpin::new(), value: UnsafeCell::new(value) }
    }

    /// Uses the value if nobody else does. After a panic the value is as that left it.
    #[inline]
    pub fn try_with<R>(&self, run: impl FnOnce(&mut T) -> R) -> Option<R> {
        // Relaxed: decides only whether the exchange is worth trying.
        if self.word.owner() != 0 || !self.word.try_take() {
            return None;
        }
        let _free = Free(&self.word);
        #[cfg(loom)]
        // SAFETY: the word is this thread's until `_free` is dropped.
        return Some(self.value.with_mut(|value| run(unsafe { &mut *value })));
        #[cfg(not(loom))]
        // SAFETY: the word is this thread's until `_free` is dropped.
        Some(run(unsafe { &mut *self.value.get() }))
    }

    /// Uses the value, letting time pass by `rest` as long as others do: for readers in no hurry.
    pub fn with<R>(&self, mut rest: impl FnMut(), run: impl FnOnce(&mut T) -> R) -> R {
        let mut run = Some(run);
        loop {
            let done = self.try_with(|value| run.take().map(|run| run(value)));
            if let Some(Some(result)) = done {
                return result;
            }
            rest();
        }
    }
}

impl<T, O> fmt::Debug for TryCell<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TryCell").finish_non_exhaustive()
    }
}
