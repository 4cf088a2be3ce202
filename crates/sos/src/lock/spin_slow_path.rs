//! `SpinSlowPath`: the slow path of a spinlock, and what the ledger counts of it.
//!
//! ```text
//!   spin, pauses doubling up to 1 us ── 4 us in all ─► yield ── 32 times ─► sleep, 50 us each
//!                └── more threads than CPUs ────────────┘
//! ```
//!
//! The time is booked as [`State::Spin`]. Nothing else is written to the ledger while the lock is
//! held: the slow path returns a [`SpinCost`], which the guard books after it has freed the lock.

use super::SpinClass;
#[cfg(not(any(loom, shuttle)))]
use crate::ledger::{self, State};
#[cfg(not(any(loom, shuttle)))]
use crate::xe::machine_events;

/// What one slow path cost, to be booked after the lock has been freed.
#[derive(Debug)]
#[must_use = "contention that is not booked is lost"]
pub struct SpinCost {
    #[cfg(not(any(loom, shuttle)))]
    costs: Costs,
}

/// Books what a slow path cost, if there was one.
#[inline]
pub(super) fn book(booking: Option<SpinCost>) {
    if let Some(booking) = booking {
        booking.book();
    }
}

/// The slow path under way.
#[derive(Debug)]
pub(super) struct SpinSlowPath {
    #[cfg(not(any(loom, shuttle)))]
    progress: Progress,
}

#[cfg(any(loom, shuttle))]
impl SpinSlowPath {
    pub(super) fn begin(_class: SpinClass, _owner: u32, _address: usize) -> Self {
        Self {}
    }

    pub(super) fn pause(&mut self) {
        crate::sync::spin_hint();
    }

    pub(super) fn end(self) -> SpinCost {
        SpinCost {}
    }
}

#[cfg(any(loom, shuttle))]
impl SpinCost {
    fn book(self) {}
}

#[cfg(not(any(loom, shuttle)))]
#[derive(Debug)]
struct Costs {
    class: SpinClass,
    spins: u64,
    spin_ticks: u64,
    backoffs: u64,
    sleep_ticks: u64,
}

#[cfg(not(any(loom, shuttle)))]
#[derive(Debug)]
struct Progress {
    costs: Costs,
    address: usize,
    started: u64,
    /// Ticks of the last warning event about a long wait.
    warned: u64,
    before: State,
    crowded: bool,
    round_ns: u32,
    spun_ns: u32,
    _shown: super::row::ShowsBlocked,
}

/// The first round of pauses, and the longest.
#[cfg(not(any(loom, shuttle)))]
const ROUND_NS_MIN: u32 = 30;
#[cfg(not(any(loom, shuttle)))]
const ROUND_NS_MAX: u32 = 1_000;
/// How long the thread spins before it yields its CPU: the owner may have been preempted on it.
#[cfg(not(any(loom, shuttle)))]
const SPIN_NS_MAX: u32 = 4_000;
/// A wait of this length fires a warning event.
#[cfg(not(any(loom, shuttle)))]
const WARNING_NS: u64 = 5_000_000_000;
/// The number of yields before the thread sleeps.
#[cfg(not(any(loom, shuttle)))]
const YIELDS_BEFORE_SLEEP: u64 = 32;

#[cfg(not(any(loom, shuttle)))]
impl SpinSlowPath {
    /// Begins after a first attempt has failed. `owner` is the ledger number of the thread that has
    /// the lock, 0 if it is not known; `address` is the lock's.
    pub(super) fn begin(class: SpinClass, owner: u32, address: usize) -> Self {
        let before = ledger::to(State::Spin(class));
        let started = ledger::now_at_edge();
        let costs = Costs { class, spins: 0, spin_ticks: 0, backoffs: 0, sleep_ticks: 0 };
        Self {
            progress: Progress {
                costs,
                address,
                started,
                warned: started,
                before,
                crowded: super::pause::is_crowded(started),
                round_ns: ROUND_NS_MIN,
                spun_ns: 0,
                _shown: super::row::show_blocked(super::row::AnyClass::Spin(class), owner),
            },
        }
    }

    /// Lets some time pass before the next attempt.
    pub(super) fn pause(&mut self) {
        let progress = &mut self.progress;
        if progress.spun_ns < SPIN_NS_MAX && !progress.crowded {
            progress.costs.spins += u64::from(super::pause::spin_for(progress.round_ns));
            progress.spun_ns += progress.round_ns;
            progress.round_ns = (progress.round_ns * 2).min(ROUND_NS_MAX);
            return;
        }
        progress.costs.spins += 1;
        progress.costs.backoffs += 1;
        (progress.round_ns, progress.spun_ns) = (ROUND_NS_MIN, 0);
        // A clock read costs little compared with the system call below.
        let before = crate::clock::now_ticks();
        progress.fire_events(before);
        if progress.costs.backoffs < YIELDS_BEFORE_SLEEP {
            crate::sys::yield_cpu();
            return;
        }
        crate::sys::nap();
        progress.costs.sleep_ticks += crate::clock::now_ticks().saturating_sub(before);
    }

    /// Ends the slow path: the lock is taken.
    pub(super) fn end(self) -> SpinCost {
        let Progress { mut costs, started, before, .. } = self.progress;
        crate::inject::pass(crate::inject::Point::Spin(costs.class));
        ledger::to(before);
        let ticks = ledger::now_at_edge().saturating_sub(started);
        costs.spin_ticks = ticks.saturating_sub(costs.sleep_ticks);
        SpinCost { costs }
    }
}

#[cfg(not(any(loom, shuttle)))]
impl Progress {
    /// Fires the event that the waiter yields its CPU or sleeps, and every 5 s the one that it has
    /// waited for long.
    fn fire_events(&mut self, now: u64) {
        let event = machine_events::Backoff {
            address: self.address,
            class: self.costs.class,
            spins: self.costs.spins,
            backoffs: self.costs.backoffs,
            ticks: now.saturating_sub(self.started),
        };
        event.backoff();
        if crate::clock::ticks_to_ns(now.saturating_sub(self.warned)) >= WARNING_NS {
            self.warned = now;
            event.warning();
        }
    }
}

#[cfg(not(any(loom, shuttle)))]
impl SpinCost {
    /// Adds the costs to the calling thread's account.
    #[cold]
    fn book(self) {
        let costs = self.costs;
        ledger::with_current(|account| {
            let cell = account.spin(costs.class);
            cell.collisions.add(1);
            cell.spins.add(costs.spins);
            cell.spin_ticks.add(costs.spin_ticks);
            cell.backoffs.add(costs.backoffs);
            cell.sleep_ticks.add(costs.sleep_ticks);
        });
    }
}
