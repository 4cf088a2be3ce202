//! Clears statistics for `DBCC SQLPERF(.., CLEAR)` without writing to any thread's account: sums
//! are shown minus their value at the clearing, and each clearing begins an era, in which a thread
//! starts new maxima when it notices.

use super::Counter;
use crate::registry::registry;
use crate::sync::{AtomicU32, Ordering};
use crate::wait::WaitRow;

use super::accounts::{LatchRow, SpinRow};

registry! {
    /// The statistics that [`super::Accounts::clear`] can reset.
    pub enum Statistics {
        /// Waits, shown by `sys.dm_os_wait_stats`.
        Waits => "sys.dm_os_wait_stats",
        /// Latches, shown by `sys.dm_os_latch_stats`.
        Latches => "sys.dm_os_latch_stats",
        /// Spinlocks, shown by `sys.dm_os_spinlock_stats`.
        Spinlocks => "sys.dm_os_spinlock_stats",
    }
}

/// How often each kind of statistics has been cleared.
#[derive(Debug, Default)]
pub(super) struct Eras([AtomicU32; Statistics::COUNT]);

impl Eras {
    pub(super) fn now(&self, of: Statistics) -> u32 {
        self.0[of.index()].load(Ordering::Relaxed)
    }

    pub(super) fn advance(&self, of: Statistics) {
        self.0[of.index()].fetch_add(1, Ordering::Relaxed);
    }
}

/// The era in which one account's maxima were measured.
#[derive(Debug, Default)]
pub(super) struct Seen([Counter; Statistics::COUNT]);

impl Seen {
    pub(super) fn is(&self, of: Statistics, era: u32) -> bool {
        self.0[of.index()].get() == u64::from(era)
    }

    /// Enters an era; true if it is a new one, so that the maxima must be reset. Only the owner may
    /// call it.
    pub(super) fn enter(&self, of: Statistics, era: u32) -> bool {
        let is_new = !self.is(of, era);
        self.0[of.index()].set(u64::from(era));
        is_new
    }
}

/// The sums at the last clearing.
#[derive(Debug, Default)]
pub(super) struct Cleared {
    pub(super) waits: Vec<WaitRow>,
    pub(super) latches: Vec<LatchRow>,
    pub(super) spins: Vec<SpinRow>,
}

impl Cleared {
    pub(super) fn waits_since(&self, rows: &mut [WaitRow]) {
        for (row, then) in rows.iter_mut().zip(&self.waits) {
            row.count -= then.count.min(row.count);
            row.wait_ns -= then.wait_ns.min(row.wait_ns);
            row.signal_ns -= then.signal_ns.min(row.signal_ns);
        }
    }

    pub(super) fn latches_since(&self, rows: &mut [LatchRow]) {
        for (row, then) in rows.iter_mut().zip(&self.latches) {
            row.count -= then.count.min(row.count);
            row.wait_ns -= then.wait_ns.min(row.wait_ns);
        }
    }

    pub(super) fn spins_since(&self, rows: &mut [SpinRow]) {
        for (row, then) in rows.iter_mut().zip(&self.spins) {
            row.collisions -= then.collisions.min(row.collisions);
            row.spins -= then.spins.min(row.spins);
            row.spin_ns -= then.spin_ns.min(row.spin_ns);
            row.backoffs -= then.backoffs.min(row.backoffs);
            row.sleep_ns -= then.sleep_ns.min(row.sleep_ns);
        }
    }
}
