//! `Space`: whether the disk has room for another file of a log, as the last look found it.
//!
//! ```text
//!             a file of the usual size is made
//!          ┌───────────────────────────────────────┐
//!          ▼                                       │
//!       Enough ── only a smaller one, or none ──► Short ── the smaller one is used ──► Unknown
//!          ▲                                       ▲                                      │
//!          └───────────────────────────────────────┴───────── the keeper has looked ──────┘
//! ```
//!
//! Commits are refused with 9002 in [`Space::Short`] only. A look that is under way changes nothing: it
//! tries large files before small ones.

use sos::sync::{AtomicU64, Ordering};

/// Whether there is room for another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// For one of the usual size.
    Enough,
    /// For a smaller one at most, which is prepared then.
    Short,
    /// The smaller one is used, and the keeper has not looked for another one yet.
    Unknown,
}

/// A [`Space`] that one thread writes at a time.
#[derive(Debug)]
pub(crate) struct SpaceCell(AtomicU64);

impl SpaceCell {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(Space::Enough as u64))
    }

    pub(crate) fn get(&self) -> Space {
        // Acquire: pairs with the Release in `set`, so that the size of a file that was prepared
        // before is seen.
        match self.0.load(Ordering::Acquire) {
            0 => Space::Enough,
            1 => Space::Short,
            _ => Space::Unknown,
        }
    }

    pub(crate) fn set(&self, space: Space) {
        self.0.store(space as u64, Ordering::Release);
    }
}
