//! The counters of one scheduler, for `sys.dm_os_schedulers` and the monitor.
//!
//! Only the holder writes them, and the baton's lock orders one holder's stores before the next
//! one's. So each counter is a plain store, without a read-modify-write.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// A scheduler's counters, as its holder writes them.
#[derive(Debug, Default)]
pub(in crate::sched) struct SchedulerCounters {
    /// Ledger number of the worker that holds it; 0 if none does.
    holder: AtomicU32,
    progress: AtomicU64,
    switches: AtomicU64,
    idle_switches: AtomicU64,
    preemptive_switches: AtomicU64,
    refused_hires: AtomicU64,
    timer_ticks: AtomicU64,
}

/// A scheduler's counters as a reader saw them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerCounts {
    /// Ledger number of the worker that holds it; 0 if none does.
    pub holder: u32,
    /// Steps of its loop: tasks, polls, quanta given up. Does not change while a task runs.
    pub progress: u64,
    /// Times it went from one worker to another.
    pub switches: u64,
    /// Times its worker slept because there was nothing to do.
    pub idle_switches: u64,
    /// Times a worker left it to call the operating system.
    pub preemptive_switches: u64,
    /// Times it could not be handed over: no worker was queued and none could be started.
    pub refused_hires: u64,
    /// Clock ticks when its timers were last checked.
    pub timer_ticks: u64,
}

fn bump(counter: &AtomicU64) {
    // Relaxed, no read-modify-write: see the top of the file.
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

impl SchedulerCounters {
    /// Counts a step of the loop.
    #[inline]
    pub(in crate::sched) fn step(&self) {
        bump(&self.progress);
    }

    /// Sets the ledger number of its holder.
    pub(in crate::sched) fn held_by(&self, number: u32) {
        bump(&self.progress);
        bump(&self.switches);
        self.holder.store(number, Ordering::Relaxed);
    }

    /// Records that no worker holds it.
    pub(in crate::sched) fn held_by_nobody(&self) {
        self.holder.store(0, Ordering::Relaxed);
    }

    pub(in crate::sched) fn count_idle(&self) {
        bump(&self.idle_switches);
    }

    pub(in crate::sched) fn count_preemptive(&self) {
        bump(&self.preemptive_switches);
    }

    pub(in crate::sched) fn count_refused_hire(&self) {
        bump(&self.refused_hires);
    }

    pub(in crate::sched) fn note_timers(&self, ticks: u64) {
        self.timer_ticks.store(ticks, Ordering::Relaxed);
    }

    pub(in crate::sched) fn progress(&self) -> u64 {
        self.progress.load(Ordering::Relaxed)
    }

    pub(in crate::sched) fn holder(&self) -> u32 {
        self.holder.load(Ordering::Relaxed)
    }

    pub(in crate::sched) fn read(&self) -> SchedulerCounts {
        SchedulerCounts {
            holder: self.holder(),
            progress: self.progress(),
            switches: self.switches.load(Ordering::Relaxed),
            idle_switches: self.idle_switches.load(Ordering::Relaxed),
            preemptive_switches: self.preemptive_switches.load(Ordering::Relaxed),
            refused_hires: self.refused_hires.load(Ordering::Relaxed),
            timer_ticks: self.timer_ticks.load(Ordering::Relaxed),
        }
    }
}
