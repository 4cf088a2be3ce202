//! `TryCell`: a value that a thread may use if no other thread does; there is no waiting.
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

/// A value that one thread at a time may use; other threads get `None`.
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

/// Frees the word when dropped, also after a panic.
struct Free<'a, O: SpinOrders>(&'a RawSpin<O>);

impl<O: SpinOrders> Drop for Free<'_, O> {
    #[inline]
    fn drop(&mut self) {
        self.0.free();
    }
}

impl<T, O: SpinOrders> TryCell<T, O> {
    /// Makes a free cell with a value.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self { word: RawSpin::new(), value: UnsafeCell::new(value) }
    }

    /// Runs `run` on the value if no other thread uses it. A panic leaves the value as it is.
    #[inline]
    pub fn try_with<R>(&self, run: impl FnOnce(&mut T) -> R) -> Option<R> {
        // Relaxed: decides only whether the exchange is worth trying.
        if self.word.owner() != 0 || !self.word.try_take() {
            return None;
        }
        let _free = Free(&self.word);
        #[cfg(loom)]
        // SAFETY: this thread holds the word until `_free` is dropped.
        return Some(self.value.with_mut(|value| run(unsafe { &mut *value })));
        #[cfg(not(loom))]
        // SAFETY: this thread holds the word until `_free` is dropped.
        Some(run(unsafe { &mut *self.value.get() }))
    }

    /// Runs `run` on the value, calling `rest` as long as another thread uses it: for readers that
    /// can wait.
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
