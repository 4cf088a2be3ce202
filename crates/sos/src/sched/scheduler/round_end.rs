//! Work that is put off to the end of a scheduler's round: before it polls, hands itself to another
//! worker or ends a quantum. A round that serves many requests does it once.
//!
//! ```text
//! request   put_off: mark the scheduler          (the holder alone reads and writes the mark)
//! holder    end of the round: marked? ─► unmark ─► call the machine's function
//! ```
//! A scheduler that sleeps or that no worker holds has no mark, so nothing is put off for long.

use super::{Scheduler, Worker};
use crate::sync::Ordering;

/// Called at the end of a round, with the number of the scheduler. It must not wait.
pub type RoundEnd = Box<dyn Fn(u32) + Send + Sync>;

/// Asks for a call of the machine's function ([`crate::sched::Machine::at_round_end`]) at the end of
/// the calling worker's round, which is at most a quantum away. Returns false on any other thread, and
/// if the machine has no function.
#[inline]
#[must_use]
pub fn put_off_to_round_end() -> bool {
    Worker::with_current(|worker| {
        let Some(worker) = worker else { return false };
        let scheduler = &worker.scheduler;
        if scheduler.shared.round_end.get().is_none() {
            return false;
        }
        // Relaxed: only the holder of the scheduler uses it, and the baton orders its holders.
        scheduler.has_put_off.store(true, Ordering::Relaxed);
        true
    })
}

impl Scheduler {
    /// Does what was put off. Called by the holder.
    #[inline]
    pub(super) fn end_round(&self) {
        if self.has_put_off.load(Ordering::Relaxed) {
            self.has_put_off.store(false, Ordering::Relaxed);
            if let Some(call) = self.shared.round_end.get() {
                call(self.id);
            }
        }
    }
}
