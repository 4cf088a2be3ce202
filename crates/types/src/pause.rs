//! `Pause`: lets others run in the middle of long work. The crate has no threads, so the caller passes the function that
//! does it.

use std::cell::Cell;

/// What long work calls now and then: nothing by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pause(pub Option<fn()>);

impl Pause {
    /// Calls the function, if there is one.
    #[inline]
    pub fn call(self) {
        if let Some(pause) = self.0 {
            pause();
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
