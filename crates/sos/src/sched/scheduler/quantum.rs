//! The scheduler quantum: how long a request may run before it offers its scheduler to other ready
//! tasks, and the yield itself (wait type `SOS_SCHEDULER_YIELD`).
//!
//! Scheduling is cooperative. Running code calls [`yield_if_quantum_due`] every few rows; it counts
//! down in the thread's own memory and reads the clock once in 16 calls.

use std::cell::Cell;
use std::time::Duration;

use super::Worker;
use crate::clock;
use crate::ledger::{self, State};
use crate::sampler;
use crate::sched::activity::{self, Standing};
use crate::wait::WaitType;
use crate::xe::machine_events;

/// How long a request may run before it offers its scheduler to others.
pub const QUANTUM: Duration = Duration::from_millis(4);
/// Quantum checks between two readings of the clock.
const CHECKS_PER_CLOCK_READ: u32 = 16;

/// The quantum of the request that a worker runs.
pub(super) struct Quantum {
    /// Clock ticks when it began; 0 until its first check has read the clock.
    began: Cell<u64>,
    checks_left: Cell<u32>,
}

impl Quantum {
    pub(super) fn new() -> Self {
        Self { began: Cell::new(0), checks_left: Cell::new(CHECKS_PER_CLOCK_READ) }
    }

    /// A new request begins; its quantum starts with its first reading of the clock.
    #[inline]
    pub(super) fn begin(&self) {
        self.began.set(0);
        self.checks_left.set(CHECKS_PER_CLOCK_READ);
    }

    /// Gives the request a whole quantum again.
    pub(super) fn renew(&self) {
        self.began.set(clock::now_ticks());
    }

    /// Counts a check down; true if the quantum, of this many ticks, is over.
    #[inline]
    fn is_over(&self, quantum_ticks: impl FnOnce() -> u64) -> bool {
        let left = self.checks_left.get() - 1;
        if left != 0 {
            self.checks_left.set(left);
            return false;
        }
        self.read_clock(quantum_ticks())
    }

    #[cold]
    fn read_clock(&self, quantum_ticks: u64) -> bool {
        self.checks_left.set(CHECKS_PER_CLOCK_READ);
        ledger::next_part();
        let now = clock::now_ticks();
        let began = self.began.get();
        if began == 0 {
            self.began.set(now);
            return false;
        }
        now.saturating_sub(began) >= quantum_ticks
    }
}

/// Yields the scheduler if this request has held it for its quantum of 4 ms and another task is
/// ready. Also delivers attentions that have arrived since. Cheap enough for every few rows: a
/// thread-local countdown, and one clock read in 16 calls.
#[inline]
pub fn yield_if_quantum_due() {
    Worker::with_current(|worker| {
        if let Some(worker) = worker
            && worker.quantum.is_over(|| worker.scheduler.shared.quantum_ticks)
        {
            quantum_over(worker);
        }
    });
}

/// Paces a loop that passes no rows, such as a sort or a parser: its ticks are cheap enough for each
/// comparison or character.
#[derive(Debug)]
pub struct Pace(u32);

impl Pace {
    const TICKS: u32 = 256;

    /// Begins to count: the first yield is due after 256 ticks.
    #[must_use]
    pub const fn new() -> Self {
        Self(Self::TICKS)
    }

    /// Counts a step of the loop. Every so often yields as [`yield_if_quantum_due`] does.
    #[inline]
    pub fn tick(&mut self) {
        self.0 -= 1;
        if self.0 == 0 {
            self.0 = Self::TICKS;
            yield_if_quantum_due();
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self::new()
    }
}

/// Paces a loop over values of any length by the bytes that it works on: counting a value is a subtraction, and the
/// clock is read after each 64 KB.
#[derive(Debug)]
pub struct BytePace(usize);

impl BytePace {
    /// Bytes between two readings of the clock. The slowest loops take some 40 ns for each.
    const BYTES: usize = 64 << 10;

    /// Begins to count: the first reading is due after 64 KB.
    #[must_use]
    pub const fn new() -> Self {
        Self(Self::BYTES)
    }

    /// Counts a value of this many bytes. Every so often yields as [`yield_if_quantum_due`] does, and returns true:
    /// the caller then looks whether its statement was cancelled.
    #[inline]
    pub fn passed(&mut self, bytes: usize) -> bool {
        if bytes < self.0 {
            self.0 -= bytes;
            return false;
        }
        self.due();
        true
    }

    #[cold]
    fn due(&mut self) {
        self.0 = Self::BYTES;
        check_quantum_soon();
        yield_if_quantum_due();
    }
}

impl Default for BytePace {
    fn default() -> Self {
        Self::new()
    }
}

/// The next call of [`yield_if_quantum_due`] reads the clock: for work that took much longer than
/// a few rows do.
pub fn check_quantum_soon() {
    Worker::with_current(|worker| {
        if let Some(worker) = worker {
            worker.quantum.checks_left.set(1);
        }
    });
}

#[cold]
fn quantum_over(worker: &Worker) {
    let before = ledger::to(State::Signal(WaitType::SchedulerYield));
    let started = ledger::now_at_edge();
    activity::signalled();
    let yielded = worker.scheduler.end_quantum(worker);
    ledger::to(before);
    worker.activity.stand(Standing::Running);
    worker.quantum.renew();
    let ticks = ledger::now_at_edge().saturating_sub(started);
    machine_events::quantum_exceeded(yielded, ticks);
    if yielded {
        // All of it is signal time: there was nothing to wait for but the scheduler.
        ledger::with_current(|account| {
            account.book_wait(WaitType::SchedulerYield, ticks, ticks);
            sampler::waited(account, WaitType::SchedulerYield, ticks);
        });
        machine_events::wait_ends(WaitType::SchedulerYield, 0, ticks, ticks);
    }
}
