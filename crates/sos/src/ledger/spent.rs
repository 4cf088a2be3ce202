//! `Spent`: what a thread has spent so far, by kind; two of them make the costs of a statement.

use super::state::{TOPS, Top};
use crate::clock;

/// Running sums of a thread by kind. The difference of two is what lies between them.
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
        // A correction may have lowered one sum and raised another: modulo 2^64, so that what is
        // added up later is right again.
        Self { ticks: std::array::from_fn(|i| self.ticks[i].wrapping_sub(earlier.ticks[i])) }
    }

    /// The sum of both.
    #[inline]
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self { ticks: std::array::from_fn(|i| self.ticks[i].wrapping_add(other.ticks[i])) }
    }

    /// The sums in ticks of [`crate::clock`]: user, kernel, spin, resource wait, signal wait,
    /// observing, runnable, blocked. Idle is left out: no request is.
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

    /// On a CPU in the engine's own code.
    #[must_use]
    pub fn user_ns(&self) -> u64 {
        self.ns(Top::User)
    }

    /// On a CPU in system calls, or blocked in them.
    #[must_use]
    pub fn kernel_ns(&self) -> u64 {
        self.ns(Top::Kernel)
    }

    /// Spinning on locks.
    #[must_use]
    pub fn spin_ns(&self) -> u64 {
        self.ns(Top::Spin)
    }

    /// Waiting until signalled.
    #[must_use]
    pub fn resource_wait_ns(&self) -> u64 {
        self.ns(Top::Wait)
    }

    /// Signalled, waiting for the scheduler.
    #[must_use]
    pub fn signal_wait_ns(&self) -> u64 {
        self.ns(Top::Signal)
    }

    /// Ready to run, without a CPU.
    #[must_use]
    pub fn runnable_ns(&self) -> u64 {
        self.ns(Top::Runnable)
    }

    /// Blocked while it should have been running.
    #[must_use]
    pub fn blocked_ns(&self) -> u64 {
        self.ns(Top::Blocked)
    }

    /// Reading books.
    #[must_use]
    pub fn observing_ns(&self) -> u64 {
        self.ns(Top::Observing)
    }

    /// Idle.
    #[must_use]
    pub fn idle_ns(&self) -> u64 {
        self.ns(Top::Idle)
    }

    /// On a CPU, whatever for.
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        let on_cpu = [Top::User, Top::Kernel, Top::Spin, Top::Observing];
        let sum = |sum: u64, &top: &Top| sum.wrapping_add(self.ticks[top as usize]);
        shown_ns(on_cpu.iter().fold(0, sum))
    }

    /// All of it: the time that has passed.
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        shown_ns(self.ticks.iter().fold(0, |sum: u64, ticks| sum.wrapping_add(*ticks)))
    }
}

/// A sum that a correction has lowered below zero is nothing.
fn shown_ns(ticks: u64) -> u64 {
    if ticks.cast_signed() < 0 { 0 } else { clock::ticks_to_ns(ticks) }
}
