//! `Spent`: the time of a thread so far, by kind; the difference of two is the cost of a statement.

use super::state::{TOPS, Top};
use crate::clock;

/// The sums of a thread by kind so far. The difference of two readings is the time between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    ticks: [u64; TOPS],
}

impl Spent {
    #[inline]
    pub(super) const fn of(ticks: [u64; TOPS]) -> Self {
        Self { ticks }
    }

    #[inline]
    pub(super) const fn ticks(&self) -> &[u64; TOPS] {
        &self.ticks
    }

    /// What was spent since an earlier reading on the same thread.
    #[inline]
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        // A correction may have moved time between the two sums: differences are modulo 2^64, so
        // that sums over several differences are right.
        Self { ticks: std::array::from_fn(|i| self.ticks[i].wrapping_sub(earlier.ticks[i])) }
    }

    /// The sums of both, kind by kind.
    #[inline]
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self { ticks: std::array::from_fn(|i| self.ticks[i].wrapping_add(other.ticks[i])) }
    }

    /// The sums in ticks of [`crate::clock`]: user, kernel, spin, resource wait, signal wait,
    /// observing, runnable, blocked. Idle is left out, since a request is never idle.
    #[inline]
    #[must_use]
    pub const fn as_ticks(&self) -> [u64; 8] {
        [
            self.ticks[Top::User as usize],
            self.ticks[Top::Kernel as usize],
            self.ticks[Top::Spin as usize],
            self.ticks[Top::Wait as usize],
            self.ticks[Top::Signal as usize],
            self.ticks[Top::Observing as usize],
            self.ticks[Top::Runnable as usize],
            self.ticks[Top::Blocked as usize],
        ]
    }

    fn ns(&self, top: Top) -> u64 {
        shown_ns(self.ticks[top as usize])
    }

    /// Nanoseconds on a CPU in the engine's own code.
    #[must_use]
    pub fn user_ns(&self) -> u64 {
        self.ns(Top::User)
    }

    /// Nanoseconds in system calls, on a CPU or blocked.
    #[must_use]
    pub fn kernel_ns(&self) -> u64 {
        self.ns(Top::Kernel)
    }

    /// Nanoseconds spinning on locks.
    #[must_use]
    pub fn spin_ns(&self) -> u64 {
        self.ns(Top::Spin)
    }

    /// Nanoseconds waiting until signalled.
    #[must_use]
    pub fn resource_wait_ns(&self) -> u64 {
        self.ns(Top::Wait)
    }

    /// Nanoseconds after the signal, waiting for the scheduler.
    #[must_use]
    pub fn signal_wait_ns(&self) -> u64 {
        self.ns(Top::Signal)
    }

    /// Nanoseconds ready to run, without a CPU.
    #[must_use]
    pub fn runnable_ns(&self) -> u64 {
        self.ns(Top::Runnable)
    }

    /// Nanoseconds blocked in states in which the thread should have been running.
    #[must_use]
    pub fn blocked_ns(&self) -> u64 {
        self.ns(Top::Blocked)
    }

    /// Nanoseconds of observation: reading the ledger and sampling.
    #[must_use]
    pub fn observing_ns(&self) -> u64 {
        self.ns(Top::Observing)
    }

    /// Nanoseconds with nothing to do.
    #[must_use]
    pub fn idle_ns(&self) -> u64 {
        self.ns(Top::Idle)
    }

    /// Nanoseconds on a CPU, in any state.
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        let on_cpu = [Top::User, Top::Kernel, Top::Spin, Top::Observing];
        let sum = |sum: u64, &top: &Top| sum.wrapping_add(self.ticks[top as usize]);
        shown_ns(on_cpu.iter().fold(0, sum))
    }

    /// The sum of all kinds: the elapsed time in nanoseconds.
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        shown_ns(self.ticks.iter().fold(0, |sum: u64, ticks| sum.wrapping_add(*ticks)))
    }
}

/// A sum in nanoseconds; 0 if a correction has lowered it below zero.
fn shown_ns(ticks: u64) -> u64 {
    if ticks.cast_signed() < 0 { 0 } else { clock::ticks_to_ns(ticks) }
}
