//! `Pickers`: how many transactions pick among the rows of a table now, and how many have done so
//! (`transaction/picks.rs`).
//!
//! ```text
//! word    ended (32 bits) │ active (32 bits)
//! enter                     + 1
//! leave   + 1               - 1
//! ```

use crate::primitives::{AtomicU64, Ordering};

const ACTIVE: u64 = 1;
const ENDED: u64 = 1 << 32;

/// The transactions that pick among the rows of a table.
#[derive(Default)]
pub(crate) struct Pickers {
    word: AtomicU64,
}

/// A state of [`Pickers`]; two that are equal have none between them that entered or left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PickersState(u64);

impl PickersState {
    /// How many pick among the rows.
    pub(crate) fn active(self) -> u64 {
        self.0 % ENDED
    }
}

impl Pickers {
    /// Counts a transaction; returns the state with it.
    pub(crate) fn enter(&self) -> PickersState {
        // Acquire: pairs with `leave`.
        PickersState(self.word.fetch_add(ACTIVE, Ordering::Acquire).wrapping_add(ACTIVE))
    }

    /// Counts the end of a transaction, whose changes are visible or undone.
    pub(crate) fn leave(&self) {
        // Release: who enters after this sees what the transaction has committed.
        self.word.fetch_add(ENDED - ACTIVE, Ordering::Release);
    }

    /// Returns the state now.
    pub(crate) fn now(&self) -> PickersState {
        // Acquire: as in `enter`.
        PickersState(self.word.load(Ordering::Acquire))
    }
}
