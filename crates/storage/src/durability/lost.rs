//! `Lost`: which versions no reader sees after the log has failed.
//!
//! The commits of the two epochs behind the durable one will never be durable, or nothing is known
//! of them. A reader passes over their versions to the ones below, so it sees what is durable. The
//! garbage collector has kept these (`store/durable_horizon.rs`).

use crate::durability::EpochMark;

/// What the failure of the log has left undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost(
    /// The first epoch that is not durable; 0 while the log works.
    u64,
);

impl Lost {
    /// Nothing is lost, because the log works.
    pub(crate) const NOTHING: Self = Self(0);

    /// Reads the word that [`Self::word_after`] has made; 0 is [`Self::NOTHING`].
    pub(crate) const fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// Returns the word for a log that has failed when this epoch was the last durable one.
    pub(crate) const fn word_after(durable: u64) -> u64 {
        durable + 1
    }

    /// Returns whether the log works.
    #[inline]
    pub(crate) const fn is_nothing(self) -> bool {
        self.0 == 0
    }

    /// Returns whether readers pass over a version with this mark.
    #[inline]
    pub(crate) fn hides(self, mark: EpochMark) -> bool {
        !self.is_nothing() && mark.is_behind(self.0 - 1)
    }
}
