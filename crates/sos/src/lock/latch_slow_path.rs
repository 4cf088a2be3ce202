//! `LatchSlowPath`: the slow path of a latch, and what the ledger counts of it.
//!
//! ```text
//!   a few looks ─► spin, pauses doubling, 2 us in all ─► park ── woken, and overtaken ─► park again,
//!                     └── more threads than CPUs ─────────┘                               in front
//! ```
//!
//! The first looks ([`Brief`]) read no clock and change no state, which would take longer than most
//! latches are held: their time is computed from the number of pauses. As with spinlocks, nothing
//! but the state is written to the ledger before the latch has been freed.

use super::LatchClass;
use super::latch_word::Wanted;

/// What to do after a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Try to take the latch.
    TryAgain,
    /// The latch has been handed to this thread.
    Taken,
}

/// What one slow path cost, to be booked after the latch has been freed.
#[derive(Debug)]
#[must_use = "contention that is not booked is lost"]
pub struct LatchCost {
    #[cfg(not(any(loom, shuttle)))]
    costs: real::Costs,
}

/// Books what a slow path cost, if there was one.
#[inline]
pub(super) fn book(booking: Option<LatchCost>) {
    if let Some(booking) = booking {
        booking.book();
    }
}

#[cfg(not(any(loom, shuttle)))]
pub(super) use real::{Brief, LatchSlowPath, away_max, now};

#[cfg(not(any(loom, shuttle)))]
mod real {
    use super::super::latch_queue::LatchWaiter;
    use super::super::row::{AnyClass, ShowsBlocked, show_blocked};
    use super::super::{SpinClass, pause};
    use super::{LatchClass, LatchCost, Wanted};
    use crate::clock;
    use crate::ledger::{self, State};
    use crate::sched::{self, Blocker, Unblocked};
    use crate::wait::WaitType;
    use crate::xe::machine_events;

    /// The length of the first round of pauses, and of all rounds together.
    const ROUND_NS_MIN: u32 = 30;
    const SPIN_NS_MAX: u32 = 2_000;
    /// How often a thread yields its CPU before it parks, if more threads than CPUs want to run.
    const OFFERS_MAX: u32 = 2;
    /// How often a writer that waits for readers in their rows yields before it sleeps.
    const YIELDS_BEFORE_SLEEP: u32 = 32;

    #[derive(Debug)]
    pub(super) struct Costs {
        class: LatchClass,
        /// The mode that was wanted; `None` if the first looks were enough.
        wanted: Option<Wanted>,
        spins: u64,
        spin_ticks: u64,
        parks: u64,
        park_ticks: u64,
    }

    /// How often a thread that has found the latch taken, or has lost a race for it, looks again
    /// before it enters the slow path.
    const LOOKS_MAX: u32 = 6;
    /// The time before the first look, at least one PAUSE; it doubles with each look. Pausing after
    /// a lost race lets the winner work on the cache line: two threads that never pause pass it to
    /// and fro.
    const LOOK_NS: u32 = 40;
    /// The favour of readers is suspended at most this long, or as long as revoking it took.
    const AWAY_NS_MAX: u64 = 100_000_000;

    pub(in super::super) fn now() -> u64 {
        clock::now_ticks()
    }

    /// The most ticks for which the favour of readers may be suspended.
    pub(in super::super) fn away_max() -> u64 {
        clock::ns_to_ticks(AWAY_NS_MAX)
    }

    /// The first looks at a latch that is taken.
    #[derive(Debug, Default)]
    pub(in super::super) struct Brief {
        looks: u32,
        pauses: u32,
    }

    impl Brief {
        /// Pauses for a moment; false when it is time for the slow path.
        pub(in super::super) fn goes_on(&mut self) -> bool {
            if self.looks >= LOOKS_MAX {
                return false;
            }
            self.pauses += pause::spin_for(LOOK_NS << self.looks);
            self.looks += 1;
            true
        }

        /// Ends the attempt: the latch is taken.
        pub(in super::super) fn end(self, class: LatchClass) -> Option<LatchCost> {
            let spins = u64::from(self.pauses);
            let spin_ticks = pause::ticks_of(self.pauses);
            let costs = Costs { class, wanted: None, spins, spin_ticks, parks: 0, park_ticks: 0 };
            (self.pauses > 0).then_some(LatchCost { costs })
        }
    }

    /// The slow path under way.
    #[derive(Debug)]
    pub(in super::super) struct LatchSlowPath {
        costs: Costs,
        wanted: Wanted,
        started: u64,
        before: State,
        crowded: bool,
        round_ns: u32,
        spun_ns: u32,
        yields: u32,
        offers: u32,
        _shown: ShowsBlocked,
    }

    impl LatchSlowPath {
        /// Begins after the first looks. `owner` is the ledger number of the writer, 0 if there is
        /// none.
        pub(in super::super) fn after(
            brief: Brief,
            class: LatchClass,
            wanted: Wanted,
            owner: u32,
        ) -> Self {
            let before = ledger::to(State::Spin(SpinClass::SosRw));
            let started = ledger::now_at_edge();
            let spins = u64::from(brief.pauses);
            let wait = Some(wanted);
            let costs =
                Costs { class, wanted: wait, spins, spin_ticks: 0, parks: 0, park_ticks: 0 };
            Self {
                costs,
                wanted,
                started,
                before,
                crowded: pause::is_crowded(started),
                round_ns: ROUND_NS_MIN,
                spun_ns: 0,
                yields: 0,
                offers: 0,
                _shown: show_blocked(AnyClass::Latch(class), owner),
            }
        }

        pub(in super::super) fn wanted(&self) -> Wanted {
            self.wanted
        }

        /// Spins for a while; false if the time to spin is used up, or spinning is useless.
        pub(in super::super) fn spin(&mut self) -> bool {
            if self.crowded {
                self.offers += 1;
                crate::sys::yield_cpu();
                return self.offers <= OFFERS_MAX;
            }
            if self.spun_ns >= SPIN_NS_MAX {
                return false;
            }
            self.costs.spins += u64::from(pause::spin_for(self.round_ns));
            self.spun_ns += self.round_ns;
            self.round_ns = (self.round_ns * 2).min(SPIN_NS_MAX / 4);
            true
        }

        /// Lets time pass when no thread would wake this one.
        pub(in super::super) fn pause(&mut self) {
            if self.spin() {
                return;
            }
            self.yields += 1;
            if self.yields < YIELDS_BEFORE_SLEEP {
                crate::sys::yield_cpu();
            } else {
                crate::sys::nap();
            }
        }

        pub(in super::super) fn has_slept(&self) -> bool {
            self.costs.parks > 0
        }

        /// The clock ticks when the slow path began.
        pub(in super::super) fn started(&self) -> u64 {
            self.started
        }

        /// Sleeps until there is a decision about the latch at `address`. `owner` is the number of
        /// its writer, 0 if there is none.
        pub(in super::super) fn sleep(
            &mut self,
            waiter: &LatchWaiter,
            address: usize,
            owner: u32,
        ) -> u32 {
            let wait_type = match self.wanted {
                Wanted::Read => WaitType::LatchShared,
                Wanted::Write => WaitType::LatchExclusive,
            };
            let is_writer = self.wanted == Wanted::Write;
            machine_events::latch_suspends(self.costs.class, is_writer, address);
            let started = clock::now_ticks();
            let mut decision = 0;
            let _at = sched::wait_at(address);
            let _blame = (owner != 0).then(|| sched::blame(Blocker::Thread(owner)));
            sched::blocking(wait_type, || {
                decision = waiter.word.wait(None);
                Unblocked::At(waiter.signalled_at())
            });
            self.costs.parks += 1;
            let ticks = clock::now_ticks().saturating_sub(started);
            self.costs.park_ticks += ticks;
            machine_events::latch_resumes(self.costs.class, is_writer, address, ticks);
            // It may spin again, because it may have been woken for a latch that is about to be
            // freed.
            (self.round_ns, self.spun_ns) = (ROUND_NS_MIN, 0);
            decision
        }

        /// Ends the attempt: the latch is taken.
        pub(in super::super) fn end(mut self) -> LatchCost {
            ledger::to(self.before);
            let ticks = ledger::now_at_edge().saturating_sub(self.started);
            self.costs.spin_ticks = ticks.saturating_sub(self.costs.park_ticks);
            LatchCost { costs: self.costs }
        }
    }

    impl LatchCost {
        /// Adds the costs to the calling thread's account.
        #[cold]
        pub(super) fn book(self) {
            let costs = self.costs;
            ledger::with_current(|account| {
                let cell = account.spin(SpinClass::SosRw);
                cell.collisions.add(1);
                cell.spins.add(costs.spins);
                cell.spin_ticks.add(costs.spin_ticks);
                cell.backoffs.add(costs.parks);
                if costs.parks > 0 {
                    account.book_latch(costs.class, costs.park_ticks);
                }
            });
            if let Some(wanted) = costs.wanted {
                let ticks = costs.spin_ticks + costs.park_ticks;
                machine_events::latch_acquired(costs.class, wanted == Wanted::Write, ticks);
            }
        }
    }
}

#[cfg(any(loom, shuttle))]
pub(super) use model::{Brief, LatchSlowPath, away_max, now};

/// Under a model checker no time passes: a thread that cannot have the latch lets another one run,
/// and under shuttle it parks at once.
#[cfg(any(loom, shuttle))]
mod model {
    use super::{LatchClass, LatchCost, Wanted};

    pub(in super::super) const fn now() -> u64 {
        0
    }

    pub(in super::super) const fn away_max() -> u64 {
        0
    }

    /// Under shuttle one look, under loom none: the attempts are those of the slow path.
    #[derive(Debug, Default)]
    pub(in super::super) struct Brief {
        looks: u32,
    }

    impl Brief {
        pub(in super::super) fn goes_on(&mut self) -> bool {
            self.looks += 1;
            cfg!(shuttle) && self.looks == 1
        }

        pub(in super::super) fn end(self, _class: LatchClass) -> Option<LatchCost> {
            None
        }
    }

    #[derive(Debug)]
    pub(in super::super) struct LatchSlowPath {
        wanted: Wanted,
        #[cfg(shuttle)]
        parks: u32,
    }

    impl LatchSlowPath {
        pub(in super::super) fn after(
            _brief: Brief,
            _class: LatchClass,
            wanted: Wanted,
            _owner: u32,
        ) -> Self {
            Self {
                wanted,
                #[cfg(shuttle)]
                parks: 0,
            }
        }

        pub(in super::super) fn spin(&mut self) -> bool {
            crate::sync::spin_hint();
            cfg!(loom)
        }

        pub(in super::super) fn pause(&mut self) {
            crate::sync::spin_hint();
        }

        pub(in super::super) fn end(self) -> LatchCost {
            let _ = self.wanted;
            LatchCost {}
        }
    }

    #[cfg(shuttle)]
    impl LatchSlowPath {
        pub(in super::super) fn wanted(&self) -> Wanted {
            self.wanted
        }

        pub(in super::super) fn has_slept(&self) -> bool {
            self.parks > 0
        }

        pub(in super::super) fn started(&self) -> u64 {
            0
        }

        pub(in super::super) fn sleep(
            &mut self,
            waiter: &super::super::latch_queue::LatchWaiter,
            _address: usize,
            _owner: u32,
        ) -> u32 {
            self.parks += 1;
            waiter.word.wait(None)
        }
    }

    impl LatchCost {
        pub(super) fn book(self) {}
    }
}
