//! The monitor: a thread that wakes every millisecond and finds what has stood still, itself included.
//!
//! It looks at each scheduler's progress counter: one that is not asleep and has not moved for 10 ms
//! is not yielding. It looks at its own lateness too: if it is woken 10 ms late, so was everybody. When
//! all schedulers sleep it looks ten times a second only, so that an idle server costs nothing; a
//! stall at the very end of such a pause is found late, and with the time from then on.
//!
//! It also tends the schedulers that nobody holds, because all the workers there may be are waiting:
//! attentions must reach them all the same, and the requests that wait for a worker are counted.

use super::stall::{Stall, StallKind, Stalls};
use crate::clock;
use crate::ledger::{self, State};
use crate::memory;
use crate::sched::activity::Activity;
use crate::sched::scheduler::{Scheduler, Shared};
use crate::sync::Arc;
use crate::sys;
use crate::wait::WaitType;
use crate::xe::told;

/// How often it looks while something runs.
const TICK_NS: u64 = 1_000_000;
/// How often it looks while nothing does.
const PAUSE_NS: u64 = 100_000_000;
/// Looks without anything running before it pauses.
const QUIET_TICKS: u32 = 8;
/// Looks without anything running, pauses most of them, after which it tidies up its memory.
const TIDY_TICKS: u32 = 18;
/// What stands still for less is no stall.
const STALL_NS: u64 = 10_000_000;

/// The monitor's own memory.
pub(in crate::sched) struct Monitor {
    shared: Arc<Shared>,
    stalls: Arc<Stalls>,
    watched: Vec<Watched>,
    quiet: u32,
    /// Number of the next stall.
    next: u64,
    late: Option<Episode>,
}

/// What it remembers of a scheduler.
struct Watched {
    scheduler: Arc<Scheduler>,
    progress: u64,
    since_ns: u64,
    stall: Option<Episode>,
}

/// A stall that may still go on.
struct Episode {
    number: u64,
    stall: Stall,
}

/// A scheduler as one look found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Asleep,
    Moving,
    Unattended,
}

impl Monitor {
    pub(in crate::sched) fn new(
        shared: &Arc<Shared>,
        schedulers: &[Arc<Scheduler>],
        stalls: &Arc<Stalls>,
    ) -> Self {
        let watched = |scheduler: &Arc<Scheduler>| Watched {
            scheduler: Arc::clone(scheduler),
            progress: 0,
            since_ns: clock::monotonic_ns(),
            stall: None,
        };
        let watched = schedulers.iter().map(watched).collect();
        let (shared, stalls) = (Arc::clone(shared), Arc::clone(stalls));
        Self { shared, stalls, watched, quiet: 0, next: 0, late: None }
    }

    /// Watches until the machine stops.
    pub(in crate::sched) fn run(mut self) {
        let bell = &Arc::clone(&self.shared).monitor;
        while !bell.is_stopped() {
            let period = if self.quiet < QUIET_TICKS { TICK_NS } else { PAUSE_NS };
            let due_ns = clock::monotonic_ns() + period;
            self.sleep(due_ns);
            let now_ns = clock::monotonic_ns();
            self.note_lateness(now_ns.saturating_sub(due_ns));
            let awake = self.look(now_ns);
            self.quiet = if awake { 0 } else { self.quiet.saturating_add(1) };
            if self.quiet == TIDY_TICKS {
                memory::tidy();
            }
        }
    }

    fn sleep(&self, due_ns: u64) {
        ledger::to(State::Wait(WaitType::SleepTask));
        let started = ledger::now_at_edge();
        self.shared.monitor.sleep_until(due_ns);
        // What the looks cost is the price of being observed.
        ledger::to(State::Observing);
        let ticks = ledger::now_at_edge().saturating_sub(started);
        ledger::with_current(|account| account.book_wait(WaitType::SleepTask, ticks, 0));
    }

    fn note_lateness(&mut self, late_ns: u64) {
        if late_ns < STALL_NS {
            self.late = None;
            return;
        }
        let again = self.late.take();
        let episode = again.unwrap_or_else(|| {
            let stall = Stall {
                began_100ns: clock::utc_100ns().saturating_sub(late_ns / 100),
                duration_ns: 0,
                kind: StallKind::Machine,
                scheduler: None,
                thread_id: Some(sys::thread_id()),
                work: None,
                state: State::Wait(WaitType::SleepTask).name(),
                label: "",
                looks: 0,
            };
            self.new_episode(stall)
        });
        self.late = Some(self.prolong(episode, |stall| stall.duration_ns += late_ns));
    }

    fn new_episode(&mut self, stall: Stall) -> Episode {
        self.next += 1;
        Episode { number: self.next, stall }
    }

    fn prolong(&self, mut episode: Episode, change: impl FnOnce(&mut Stall)) -> Episode {
        change(&mut episode.stall);
        episode.stall.looks += 1;
        if episode.stall.looks.is_power_of_two() {
            told::stall(&episode.stall);
        }
        self.stalls.put(episode.number, episode.stall.clone());
        episode
    }

    /// Looks at every scheduler; true if one of them is not asleep.
    fn look(&mut self, now_ns: u64) -> bool {
        let mut awake = false;
        for index in 0..self.watched.len() {
            let found = self.watched[index].look(now_ns);
            awake |= found != Found::Asleep;
            let watched = &self.watched[index];
            let still_ns = now_ns.saturating_sub(watched.since_ns);
            if found == Found::Moving && still_ns >= STALL_NS {
                self.note_stall(index, still_ns);
            }
            if found != Found::Unattended {
                self.watched[index].book_queued();
            } else {
                self.watched[index].tend();
            }
        }
        awake
    }

    #[cold]
    fn note_stall(&mut self, index: usize, still_ns: u64) {
        let watched = &mut self.watched[index];
        let (id, holder) = (watched.scheduler.id, watched.scheduler.counters.holder());
        let known = watched.stall.take();
        let episode = known.or_else(|| {
            let holder = self.shared.roster.find(holder)?;
            Some(self.new_episode(describe(&self.shared, id, &holder, still_ns)))
        });
        let longer = |stall: &mut Stall| stall.duration_ns = still_ns;
        self.watched[index].stall = episode.map(|episode| self.prolong(episode, longer));
    }
}

fn describe(shared: &Shared, scheduler: u32, holder: &Arc<Activity>, still_ns: u64) -> Stall {
    let thread_id = holder.thread_id();
    let accounts = shared.accounts.threads();
    let account = accounts.iter().find(|account| account.number() == holder.number());
    let sleeps = sys::thread_times(thread_id).is_some_and(|times| times.sleeps);
    Stall {
        began_100ns: clock::utc_100ns().saturating_sub(still_ns / 100),
        duration_ns: still_ns,
        kind: if sleeps { StallKind::Blocked } else { StallKind::NonYielding },
        scheduler: Some(scheduler),
        thread_id: Some(thread_id),
        work: holder.work(),
        state: account.map_or("", |account| account.state().name()),
        label: account.map_or("", |account| account.label().name()),
        looks: 0,
    }
}

impl Watched {
    fn look(&mut self, now_ns: u64) -> Found {
        let progress = self.scheduler.counters.progress();
        let found = if self.scheduler.baton.is_polling() || self.scheduler.has_ended() {
            Found::Asleep
        } else if self.scheduler.baton.is_unattended() {
            Found::Unattended
        } else {
            Found::Moving
        };
        if found != Found::Moving || progress != self.progress {
            (self.progress, self.since_ns, self.stall) = (progress, now_ns, None);
        }
        found
    }

    /// Does for a scheduler that nobody holds what cannot wait.
    #[cold]
    fn tend(&mut self) {
        let Some(queued) = self.scheduler.tend() else { return };
        let now = clock::now_ticks();
        let mut waiting = self.scheduler.queued.lock();
        let count = waiting.len().max(queued);
        waiting.resize(count, now);
    }

    /// The scheduler is served again: what waited for a worker has waited from when it was first seen
    /// until now, give or take a millisecond.
    fn book_queued(&mut self) {
        let waited = std::mem::take(&mut *self.scheduler.queued.lock());
        let now = clock::now_ticks();
        for since in waited {
            let ticks = now.saturating_sub(since);
            ledger::with_current(|account| account.book_wait(WaitType::ThreadPool, ticks, 0));
        }
    }
}
