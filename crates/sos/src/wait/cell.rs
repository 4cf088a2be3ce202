//! `WaitCell`: one thread's counters of one wait type. `WaitRow`: their sum, as a view shows it.

use super::WaitType;
use crate::counter::Counter;

/// One thread's counters of one wait type. Times are in ticks of [`crate::clock`].
#[derive(Debug, Default)]
pub struct WaitCell {
    /// The number of completed waits.
    pub count: Counter,
    /// Time from the start of each wait until the thread ran again.
    pub ticks: Counter,
    /// The time of the longest single wait.
    pub ticks_max: Counter,
    /// The part of `ticks` after the signal that ended the wait.
    pub signal_ticks: Counter,
}

impl WaitCell {
    /// Counts one wait. Only the owning thread may call it.
    pub fn book(&self, ticks: u64, signal_ticks: u64) {
        self.count.add(1);
        self.ticks.add(ticks);
        self.signal_ticks.add(signal_ticks);
        self.ticks_max.raise_to(ticks);
    }

    /// Sets all counters to zero. Only the owning thread may call it.
    pub(crate) fn clear(&self) {
        for sum in [&self.count, &self.ticks, &self.ticks_max, &self.signal_ticks] {
            sum.set(0);
        }
    }

    /// Adds the counters of another thread, which has ended.
    pub(crate) fn absorb(&self, other: &Self) {
        self.count.add(other.count.get());
        self.ticks.add(other.ticks.get());
        self.signal_ticks.add(other.signal_ticks.get());
        self.ticks_max.raise_to(other.ticks_max.get());
    }
}

/// The sum over threads for one wait type, as `sys.dm_os_wait_stats` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitRow {
    /// The wait type that the row is about.
    pub wait_type: WaitType,
    /// The number of completed waits.
    pub count: u64,
    /// Total time, in nanoseconds.
    pub wait_ns: u64,
    /// The longest single wait, in nanoseconds.
    pub max_wait_ns: u64,
    /// The part of `wait_ns` after the signal, in nanoseconds.
    pub signal_ns: u64,
}
