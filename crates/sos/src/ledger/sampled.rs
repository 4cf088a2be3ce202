//! The part of an account that the sampler reads and writes.

use super::account::Account;
use super::state::{OBSERVING, TOP_OF, Top};
use crate::sampler::Recorder;
use crate::sync::Ordering;

impl Account {
    /// The cell number of the thread's state.
    pub(crate) fn cell_number(&self) -> u8 {
        u8::try_from(self.at()).unwrap_or(0)
    }

    /// The statement that the thread runs; 0 for none.
    #[must_use]
    pub fn statement(&self) -> u64 {
        self.statement.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set_statement(&self, statement: u64) {
        self.statement.store(statement, Ordering::Relaxed);
    }

    /// The thread's sampling state; `None` if it is not sampled.
    #[inline]
    pub(crate) fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_deref()
    }

    /// Books the time that the sampler took of a stay as observation; returns its ticks. A sample
    /// between the two accesses, a microsecond, is not booked.
    pub(super) fn move_observed(&self, at: usize, wall: u64) -> u64 {
        let observed = self.observed.get().min(wall);
        self.observed.set(0);
        if observed == 0 || at == OBSERVING {
            return 0;
        }
        let taken_off = 0_u64.wrapping_sub(observed);
        self.cells[at].wall.add(taken_off);
        self.tops[usize::from(TOP_OF[at])].add(taken_off);
        self.cells[OBSERVING].wall.add(observed);
        self.cells[OBSERVING].count.add(1);
        self.tops[Top::Observing as usize].add(observed);
        observed
    }
}
