//! `Announced`: a commit between its announcement and its end.

use crate::durability::{CommitLog, EpochMark, Outcome, RowChange, note};
use crate::primitives::{Clock, Mutant, is_mutant};

/// An announced commit. Dropping it withdraws it.
pub(crate) struct Announced<'l> {
    log: &'l dyn CommitLog,
    epoch: u64,
    is_lazy: bool,
}

impl<'l> Announced<'l> {
    /// Announces a commit of this thread. Its timestamp will be greater than those of all commits
    /// before, because the timestamps of a row's changes tell replay their order.
    pub(crate) fn new(log: &'l dyn CommitLog, clock: &Clock, is_lazy: bool) -> Self {
        let epoch = log.begin();
        if !is_mutant(Mutant::EqualTimes) {
            clock.advance();
        }
        Self { log, epoch, is_lazy }
    }

    /// Returns what the versions of the commit keep of its epoch.
    pub(crate) const fn mark(&self) -> EpochMark {
        if self.is_lazy { EpochMark::NONE } else { EpochMark::of(self.epoch) }
    }

    pub(crate) fn write(&self, change: &RowChange<'_>) {
        self.log.write(change);
    }

    /// Ends the commit, and makes this thread's reply wait for it.
    pub(crate) fn finish(self, ts: u64) {
        let this = std::mem::ManuallyDrop::new(self);
        this.log.end(Outcome::Committed { ts, is_lazy: this.is_lazy });
        if !this.is_lazy {
            note(this.epoch);
        }
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.log.end(Outcome::Nothing);
    }
}
