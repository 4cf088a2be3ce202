//! Planted bugs: deliberate mistakes of a database that is opened, which the crash tests must catch.
//!
//! They exist in debug builds only: in a release build [`Planted`] has no content, and each look at
//! it is the constant `false`. The crate `log` has its own, `log::mutant`.

/// A deliberate mistake in commits, checkpoints or replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A reply does not wait for the flush of its commit.
    AcknowledgedBeforeFlush,
    /// A checkpoint is published though what its scan has seen is not durable in the log.
    CheckpointBeforeLog,
    /// A reader of a version that is not durable does not wait.
    ReaderDoesNotWait,
    /// Values of identity columns and sequences are given out before the log has them.
    ValueReused,
    /// A definition gets into the log after the rows of its transaction, in another commit.
    DefinitionAfterRows,
    /// A checkpoint leaves out ranges of rows that have changed.
    RangeMissed,
    /// A replay orders transactions by their time alone and not by their epochs.
    OrderedByTime,
}

/// The planted bug of a database, if it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Planted(#[cfg(debug_assertions)] Option<Bug>);

impl Planted {
    /// Makes the mark of a database that has this bug.
    #[cfg(debug_assertions)]
    #[must_use]
    pub const fn new(bug: Bug) -> Self {
        Self(Some(bug))
    }

    /// Returns whether the database has this bug.
    #[cfg(debug_assertions)]
    pub(crate) fn has(self, bug: Bug) -> bool {
        self.0 == Some(bug)
    }

    /// Returns false: a release build has no planted bugs.
    #[cfg(not(debug_assertions))]
    #[expect(clippy::unused_self, reason = "the same call in both builds")]
    pub(crate) const fn has(self, _bug: Bug) -> bool {
        false
    }
}
