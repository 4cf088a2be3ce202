//! `Machine::crew`: chooses idle schedulers as helpers of a request and sends them work items.
//!
//! Only schedulers whose holder sleeps in its poller are asked: one with requests to run keeps to
//! those. A helper runs as a request does: at the end of its quantum it offers its scheduler to
//! another ready task. An item that no helper has begun when the leader has no more work is
//! revoked, so that a leader waits only for items that run.

use super::Machine;
use crate::sched::crew::{Bell, Crew};
use crate::sched::scheduler::{Mail, Scheduler};
use crate::sync::Arc;

impl Machine {
    /// Returns how many schedulers have nothing to do.
    #[must_use]
    pub fn idle_schedulers(&self) -> usize {
        self.schedulers.iter().filter(|scheduler| scheduler.baton.is_polling()).count()
    }

    /// Asks up to `helpers_max` idle schedulers to call `help`, each with a different number from 0
    /// on, and calls `lead` on this thread. Returns when `lead` has returned and no helper
    /// is in `help` any more; a helper that has not begun by then is not called.
    ///
    /// # Panics
    /// If a helper panicked.
    pub fn crew<R>(
        &self,
        helpers_max: usize,
        help: &(dyn Fn(usize, &Bell) + Sync),
        lead: impl FnOnce(&Crew<'_>) -> R,
    ) -> R {
        let idle = self.schedulers.iter().filter(|scheduler| scheduler.baton.is_polling());
        let idle: Vec<&Arc<Scheduler>> = idle.take(helpers_max).collect();
        let mut receivers = idle.iter();
        Crew::run(
            idle.len(),
            help,
            |sent| {
                let scheduler = receivers.next().expect("there is an item per idle scheduler");
                scheduler.send(Mail::WorkItem(Arc::clone(sent)));
            },
            lead,
        )
    }
}
