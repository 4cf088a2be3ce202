//! `Pause`: lets others run in the middle of long work. The crate has no threads and no memory limit, so the caller passes
//! the functions that do it.

use std::cell::Cell;

use crate::text::PIECE_BYTES;
use crate::{Bytes, Result};

/// What a caller with threads and a memory limit lends to long work.
#[derive(Clone, Copy, Debug)]
pub struct Lent {
    /// Lets other requests run on the scheduler. Returns whether the result is still wanted.
    pub pause: fn() -> bool,
    /// Requests this number of bytes; fails with 701 if there is not enough memory.
    pub ask: fn(usize) -> Result<()>,
    /// Concatenates parts into one shared value, with pauses.
    pub join: fn(&[&[u8]]) -> Bytes,
}

/// What long work calls now and then: nothing by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pause(pub Option<Lent>);

impl Pause {
    /// Lets others run, if there is a function for it. Returns whether the result is still wanted: if not, a loop may end
    /// with any result.
    #[inline]
    pub fn call(self) -> bool {
        self.0.is_none_or(|lent| (lent.pause)())
    }

    /// Requests memory for long work, if there is a limit.
    ///
    /// # Errors
    /// 701 if there is not enough.
    pub fn ask(self, bytes: usize) -> Result<()> {
        self.0.map_or(Ok(()), |lent| (lent.ask)(bytes))
    }

    /// Concatenates the parts of a value. Others run while a long one is copied.
    pub fn join(self, parts: &[&[u8]]) -> Bytes {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        match self.0 {
            Some(lent) if total > PIECE_BYTES => (lent.join)(parts),
            _ => Bytes::from(parts.concat()),
        }
    }
}

/// Counts the steps of a long loop, and pauses now and then.
#[derive(Debug)]
pub struct Steps {
    pause: Pause,
    left: Cell<u32>,
}

impl Steps {
    /// Steps between two pauses.
    const MANY: u32 = 256;

    /// Makes a count whose first pause is due after 256 steps.
    #[must_use]
    pub const fn new(pause: Pause) -> Self {
        Self { pause, left: Cell::new(Self::MANY) }
    }

    /// Counts a step of the loop, which pauses every 256 steps.
    #[inline]
    pub fn step(&self) {
        let left = self.left.get() - 1;
        self.left.set(left);
        if left == 0 {
            self.left.set(Self::MANY);
            self.pause.call();
        }
    }

    /// Returns what the count calls, for a step that is a piece of a long value.
    pub const fn pause(&self) -> Pause {
        self.pause
    }
}

/// Counts the steps of a long loop, pauses now and then, and ends the loop when its result is no longer wanted.
pub struct Watched<'w> {
    /// Pauses, and returns whether to go on.
    go_on: &'w dyn Fn() -> bool,
    left: Cell<u32>,
    is_over: Cell<bool>,
}

impl<'w> Watched<'w> {
    /// Makes a count whose first pause is due after as many steps as with [`Steps`].
    #[must_use]
    pub const fn new(go_on: &'w dyn Fn() -> bool) -> Self {
        Self { go_on, left: Cell::new(Steps::MANY), is_over: Cell::new(false) }
    }

    /// Counts a step, and returns whether to go on. A loop that ends for it has no result.
    #[inline]
    pub fn step(&self) -> bool {
        let left = self.left.get() - 1;
        self.left.set(left);
        left != 0 || self.piece()
    }

    /// Counts a piece of a long value, and returns whether to go on.
    pub fn piece(&self) -> bool {
        self.left.set(Steps::MANY);
        if !self.is_over() && !(self.go_on)() {
            self.is_over.set(true);
        }
        !self.is_over()
    }

    /// Returns whether the result is no longer wanted: what the loop returned is not one.
    pub const fn is_over(&self) -> bool {
        self.is_over.get()
    }
}

/// No result depends on it: all are equal.
impl PartialEq for Pause {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Pause {}

impl std::hash::Hash for Pause {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}
