//! What one thread has counted of one wait type, and the sum over threads as a view shows it.

use super::WaitType;
use crate::ledger::Counter;

/// One thread's books on one wait type. Times are in ticks of [`crate::clock`].
#[derive(Debug, Default)]
pub struct WaitCell {
    /// Completed waits.
    pub count: Counter,
    /// From the start of the wait until running again.
    pub ticks: Counter,
    /// The longest single wait.
    pub ticks_max: Counter,
    /// The part of `ticks` after the signal.
    pub signal_ticks: Counter,
}

impl WaitCell {
    /// Books one wait; called by the owning thread only.
    pub fn book(&self, ticks: u64, signal_ticks: u64) {
        self.count.add(1);
        self.ticks.add(ticks);
        self.signal_ticks.add(signal_ticks);
        self.ticks_max.raise_to(ticks);
    }

    /// Forgets everything; the owner only.
    pub(crate) fn clear(&self) {
        for sum in [&self.count, &self.ticks, &self.ticks_max, &self.signal_ticks] {
            sum.set(0);
        }
    }

    /// Adds another thread's books, which has ended, to these.
    pub(crate) fn absorb(&self, other: &Self) {
        self.count.add(other.count.get());
        self.ticks.add(other.ticks.get());
        self.signal_ticks.add(other.signal_ticks.get());
        self.ticks_max.raise_to(other.ticks_max.get());
    }
}

/// Folded books of one wait type, as `sys.dm_os_wait_stats` shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitRow {
    /// The wait type.
    pub wait_type: WaitType,
    /// Completed waits.
    pub count: u64,
    /// Total time, in nanoseconds.
    pub wait_ns: u64,
    /// The longest single wait, in nanoseconds.
    pub max_wait_ns: u64,
    /// The part after the signal, in nanoseconds.
    pub signal_ns: u64,
}
