//! The kernel's accounting of a server, read from outside, so that the server cannot influence it.

use std::collections::BTreeMap;

use load::Result;
use sos::sys::{self, TaskTimes};

/// Observes a process at intervals, and remembers threads that have ended since.
pub(crate) struct Watcher {
    process_id: u32,
    /// Every thread as it was when last seen.
    seen: BTreeMap<u32, TaskTimes>,
    /// When the last observation was, and how many threads there were.
    last: (u64, usize),
    threads_ns: u64,
}

/// The kernel's accounting at one moment, or the difference of two readings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outside {
    /// When it was read, in monotonic nanoseconds.
    pub(crate) at_ns: u64,
    /// The process CPU clock.
    pub(crate) clock_ns: u64,
    /// All threads' time on a CPU by schedstat.
    pub(crate) on_cpu_ns: u64,
    /// All threads' time ready to run without a CPU, by schedstat.
    pub(crate) runnable_ns: u64,
    /// CPU time in user mode, sampled by the kernel at its ticks.
    pub(crate) user_ns: u64,
    /// CPU time in kernel mode, likewise.
    pub(crate) kernel_ns: u64,
    /// Time of all threads, idle or not: number of threads times time.
    pub(crate) threads_ns: u64,
    /// Number of live threads.
    pub(crate) threads: usize,
}

impl Watcher {
    pub(crate) fn new(process_id: u32) -> Self {
        Self { process_id, seen: BTreeMap::new(), last: (0, 0), threads_ns: 0 }
    }

    /// Reads the accounting. A thread's time between the last reading and its end is only on the
    /// process clock, so readings must be frequent while threads end.
    pub(crate) fn look(&mut self) -> Result<Outside> {
        let gone = |error| format!("the server has gone: {error}");
        let at_ns = sos::clock::monotonic_ns();
        let tasks = sys::process_tasks(self.process_id).map_err(gone)?;
        let clock_ns = sys::process_clock_ns(self.process_id).map_err(gone)?;
        let threads = tasks.len();
        let (last_ns, last_threads) = std::mem::replace(&mut self.last, (at_ns, threads));
        // Twice the time times the mean of both counts. A thread that started and ended in between
        // appears on the process clock only.
        let twice = u64::try_from(threads + last_threads).unwrap_or(0);
        self.threads_ns += (at_ns - last_ns) * twice / 2;
        self.seen.extend(tasks.into_iter().map(|task| (task.thread_id, task)));
        let tick_ns = 1_000_000_000 / sys::kernel_ticks_per_second().max(1);
        let sum = |of: fn(&TaskTimes) -> u64| self.seen.values().map(of).sum::<u64>();
        Ok(Outside {
            at_ns,
            clock_ns,
            on_cpu_ns: sum(|task| task.run.on_cpu_ns),
            runnable_ns: sum(|task| task.run.runnable_ns),
            user_ns: sum(|task| task.user_ticks) * tick_ns,
            kernel_ns: sum(|task| task.kernel_ticks) * tick_ns,
            threads_ns: self.threads_ns,
            threads,
        })
    }
}

impl Outside {
    /// Returns the moment between two readings.
    pub(crate) fn midpoint(self, later: Self) -> Self {
        let middle = |a: u64, b: u64| a.midpoint(b);
        Self {
            at_ns: middle(self.at_ns, later.at_ns),
            clock_ns: middle(self.clock_ns, later.clock_ns),
            on_cpu_ns: middle(self.on_cpu_ns, later.on_cpu_ns),
            runnable_ns: middle(self.runnable_ns, later.runnable_ns),
            user_ns: middle(self.user_ns, later.user_ns),
            kernel_ns: middle(self.kernel_ns, later.kernel_ns),
            threads_ns: middle(self.threads_ns, later.threads_ns),
            threads: later.threads,
        }
    }

    /// Returns the difference to an earlier reading.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            at_ns: self.at_ns - earlier.at_ns,
            clock_ns: self.clock_ns - earlier.clock_ns,
            on_cpu_ns: self.on_cpu_ns - earlier.on_cpu_ns,
            runnable_ns: self.runnable_ns - earlier.runnable_ns,
            user_ns: self.user_ns - earlier.user_ns,
            kernel_ns: self.kernel_ns - earlier.kernel_ns,
            threads_ns: self.threads_ns - earlier.threads_ns,
            threads: self.threads,
        }
    }
}

/// The difference between two kernel readings around one of the ledger: half of it is the allowed
/// distance of the ledger from the middle.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Edge {
    pub(crate) clock_ns: u64,
    pub(crate) runnable_ns: u64,
    pub(crate) threads_ns: u64,
}

impl Edge {
    pub(crate) fn between(earlier: Outside, later: Outside) -> Self {
        let added = later.since(earlier);
        Self {
            clock_ns: added.clock_ns / 2,
            runnable_ns: added.runnable_ns / 2,
            threads_ns: added.threads_ns / 2,
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            clock_ns: self.clock_ns + other.clock_ns,
            runnable_ns: self.runnable_ns + other.runnable_ns,
            threads_ns: self.threads_ns + other.threads_ns,
        }
    }
}
