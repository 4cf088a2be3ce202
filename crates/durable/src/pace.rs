//! `Pace`: how fast a checkpoint works beside requests.
//!
//! | when | the thread of the checkpoint |
//! |---|---|
//! | schedulers have work | computes for a quarter of the time, in bursts of a quarter of a millisecond |
//! | all schedulers are idle for 10 ms | does not rest |
//! | the log grows faster than the checkpoint gets on | does not rest |
//! | the server stops | does not rest |
//!
//! Time in which it waits for the disk is not computing. Its writes are short and go to the disk at once, so
//! that no sync of the log waits behind many of them: `log::checkpoint`.

use std::time::Duration;

use sos::clock;
use sos::park;
use sos::sched::Machine;
use sos::sync::{AtomicBool, Ordering};
use sos::sys;
use sos::wait::WaitType;

/// The share of one CPU that a checkpoint takes while schedulers have work: one part of this many.
const SHARE: u64 = 4;
/// How long it computes before it rests.
const BURST_NS: u64 = 250_000;
/// How long schedulers count as busy after one had work.
const BUSY_NS: u64 = 10_000_000;
/// Growth of the log during a checkpoint that does not make it hurry.
const GROWTH_FREE_BYTES: u64 = 16 << 20;
/// The longest rest between two bursts.
const REST_MAX: Duration = Duration::from_millis(20);

/// How far a checkpoint is, beside the growth of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advance {
    /// Ranges that are written, and all that will be.
    pub(crate) done: u64,
    pub(crate) total: u64,
    /// How much the log has grown since the checkpoint began, and growth that makes the next one due.
    pub(crate) grown_bytes: u64,
    pub(crate) due_bytes: u64,
}

impl Advance {
    /// Returns whether the next checkpoint would be due before this one ends.
    fn is_late(self) -> bool {
        let grown = u128::from(self.grown_bytes.saturating_sub(GROWTH_FREE_BYTES));
        grown * u128::from(self.total.max(1)) > u128::from(self.due_bytes) * u128::from(self.done)
    }
}

/// Rests between the bursts of one checkpoint.
#[derive(Debug)]
pub(crate) struct Pace<'m> {
    machine: &'m Machine,
    /// Set when the server stops.
    hurry: &'m AtomicBool,
    /// CPU time of the thread at the end of the last rest.
    rested_at_cpu_ns: u64,
    busy_until_ns: u64,
}

impl<'m> Pace<'m> {
    pub(crate) fn new(machine: &'m Machine, hurry: &'m AtomicBool) -> Self {
        let rested_at_cpu_ns = sys::thread_cpu_ns();
        Self { machine, hurry, rested_at_cpu_ns, busy_until_ns: 0 }
    }

    /// Rests if a burst has ended. To be called after each small piece of work, outside pins and locks.
    pub(crate) fn rest(&mut self, advance: impl FnOnce() -> Advance) {
        let computed_ns = sys::thread_cpu_ns().saturating_sub(self.rested_at_cpu_ns);
        if computed_ns < BURST_NS {
            return;
        }
        let is_hurried = self.hurry.load(Ordering::Relaxed);
        if !is_hurried && self.is_busy(clock::monotonic_ns()) && !advance().is_late() {
            let rest = Duration::from_nanos(computed_ns * (SHARE - 1)).min(REST_MAX);
            park::sleep(rest, WaitType::SleepTask, None);
        }
        self.rested_at_cpu_ns = sys::thread_cpu_ns();
    }

    fn is_busy(&mut self, now_ns: u64) -> bool {
        if self.machine.idle_schedulers() < self.machine.scheduler_count() {
            self.busy_until_ns = now_ns + BUSY_NS;
        }
        now_ns < self.busy_until_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_late_if_the_log_is_further() {
        let free = GROWTH_FREE_BYTES;
        let is_late = |done, grown_bytes| {
            Advance { done, total: 10, grown_bytes, due_bytes: 1_000 }.is_late()
        };
        assert!(!is_late(0, free) && is_late(0, free + 1));
        assert!(!is_late(3, free + 300) && is_late(3, free + 301));
        assert!(!is_late(10, free + 1_000) && is_late(10, free + 1_001));
        let empty = Advance { done: 0, total: 0, grown_bytes: 0, due_bytes: 1_000 };
        assert!(!empty.is_late());
    }
}
