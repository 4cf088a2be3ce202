//! `Bounds`: the addresses of a thread's own stack, which a walk may read.

use std::cell::Cell;

use crate::sys;

/// The range of addresses of a stack that may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// The lowest address that may be read.
    pub(super) low: usize,
    /// One more than the highest address that may be read.
    pub(super) high: usize,
}

impl Bounds {
    /// The part from `low` on; `None` if `low` is not on this stack.
    pub(super) fn above(self, low: usize) -> Option<Self> {
        (self.low..self.high).contains(&low).then_some(Self { low, ..self })
    }

    /// Whether `words` words can be read at an address.
    pub(super) fn have(self, address: usize, words: usize) -> bool {
        let bytes = words * size_of::<usize>();
        let fits = address >= self.low && address <= self.high.saturating_sub(bytes);
        fits && address.is_multiple_of(align_of::<usize>())
    }
}

thread_local! {
    /// It has no destructor, so that a signal handler reads it with one load at any time.
    static BOUNDS: Cell<Option<Bounds>> = const { Cell::new(None) };
}

/// Finds the bounds of the calling thread's stack. Called at the start of each thread, since the C
/// library may read a file to find them.
pub(crate) fn register() {
    if BOUNDS.get().is_none() {
        let bounds = sys::stack_bounds().map(|stack| Bounds { low: stack.low, high: stack.high });
        BOUNDS.set(bounds);
    }
}

/// The calling thread's bounds, from its innermost frame on; `None` if it was not registered.
#[inline(always)]
pub(super) fn own_bounds() -> Option<Bounds> {
    // What is below the innermost frame need not be mapped.
    BOUNDS.get().and_then(|bounds| bounds.above(super::here::frame_pointer()))
}
