//! `EpochMark`: the low bits of an epoch in a version, and noting it when the version is read.
//!
//! A commit that is not durable has one of the two epochs behind the durable one. So 31 bits tell
//! them apart. After 2^31 epochs an old version may be taken for a new one: then its reader waits
//! for the commits that are visible now, which does no harm.

use crate::durability::{CommitLog, note};
use crate::primitives::{Mutant, is_mutant};

/// The low bits of the epoch of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EpochMark(pub(crate) u32);

/// Set in the mark of every version that was logged.
const LOGGED: u32 = 1 << 31;

impl EpochMark {
    /// The version was not logged, was committed lazily, or was restored.
    pub(crate) const NONE: Self = Self(0);

    #[expect(clippy::cast_possible_truncation, reason = "the low bits are wanted")]
    pub(crate) const fn of(epoch: u64) -> Self {
        Self(epoch as u32 | LOGGED)
    }

    /// Returns whether the version has one of the two epochs behind `durable`.
    pub(crate) fn is_behind(self, durable: u64) -> bool {
        self.behind(durable).is_some()
    }

    /// Returns the epoch if it is one of the two behind `durable`.
    fn behind(self, durable: u64) -> Option<u64> {
        [durable + 1, durable + 2].into_iter().find(|epoch| Self::of(*epoch) == self)
    }
}

/// Notes the epoch of a version that was read, if it may not be durable.
#[inline(never)]
pub(crate) fn note_seen(log: &dyn CommitLog, mark: EpochMark) {
    if is_mutant(Mutant::SeenNotNoted) {
        return;
    }
    if let Some(epoch) = mark.behind(log.durable()) {
        // Not above the barrier: an old mark must not make the reader wait for a commit to come.
        note(epoch.min(log.barrier()));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn only_the_two_epochs_behind_the_durable_one_are_found() {
        for durable in [0, 7, (1 << 31) - 2, (1 << 31) - 1, (1 << 32) - 1, 1 << 40] {
            let found = |epoch: u64| EpochMark::of(epoch).behind(durable);
            assert_eq!(found(durable + 1), Some(durable + 1));
            assert_eq!(found(durable + 2), Some(durable + 2));
            assert_eq!(found(durable), None);
            assert_eq!(found(durable + 3), None);
            assert_eq!(EpochMark::NONE.behind(durable), None, "no epoch has the empty mark");
        }
    }
}
