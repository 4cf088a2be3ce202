//! Answers that are held until something outside is done, such as a write of the log.
//!
//! ```text
//! scheduler        queue the task ─ count it ─ fence ─ released already? then run it now
//! who releases     raise `released` ─ fence ─ is one counted? then nudge the scheduler
//! ```
//! Either the scheduler sees the released number, or the other thread sees the count: no task is
//! left behind. A release costs a nudge for each scheduler that holds answers, however many.

use std::cmp::Reverse;

use super::connections::{Core, Token};
use super::{Ready, Scheduler};
use crate::sync::{Ordering, fence};

impl Scheduler {
    /// Holds a task that is at rest until `number` is released.
    pub(super) fn hold(&self, core: &mut Core, token: Token, number: u64) {
        core.held.push(Reverse((number, token)));
        // Relaxed: only the holder of the scheduler writes it, and the fence orders it.
        self.held.store(count(core), Ordering::Relaxed);
        // SeqCst: pairs with the one in `release`.
        fence(Ordering::SeqCst);
        self.run_released(core);
    }

    /// Makes the tasks due whose numbers are released.
    pub(super) fn run_released(&self, core: &mut Core) {
        if core.held.is_empty() {
            return;
        }
        // Acquire: pairs with the Release in `release`, so that what was waited for is visible.
        let released = self.shared.released.load(Ordering::Acquire);
        while let Some(&Reverse((number, token))) = core.held.peek()
            && number <= released
        {
            core.held.pop();
            let Some(slot) = core.slot(token) else { continue };
            // It stays held until it runs, so that a stop does not close it before.
            let reasons = std::mem::take(&mut slot.pending).and(Ready::RELEASED);
            core.again.push_back((token, reasons));
        }
        self.held.store(count(core), Ordering::Relaxed);
    }

    /// Wakes the holder if answers are held. Called after `released` was raised.
    pub(in crate::sched) fn released(&self) {
        // Relaxed: ordered by the caller's fence.
        if self.held.load(Ordering::Relaxed) > 0 {
            self.nudge();
        }
    }
}

impl super::Shared {
    /// Raises the number up to which answers may leave. The caller then wakes the schedulers.
    pub(in crate::sched) fn release(&self, number: u64) {
        // Release: pairs with the Acquire in `run_released`.
        self.released.store(number, Ordering::Release);
        // SeqCst: pairs with the one in `hold`.
        fence(Ordering::SeqCst);
    }
}

fn count(core: &Core) -> u64 {
    u64::try_from(core.held.len()).expect("a length fits into 64 bits")
}
