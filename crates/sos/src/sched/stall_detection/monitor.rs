//! The monitor: a thread that wakes every millisecond and finds schedulers that make no progress.
//!
//! It reads each scheduler's progress counter: a scheduler that is not asleep and whose counter has
//! not changed for 10 ms is not yielding. It also checks its own lateness: if it wakes 10 ms late,
//! the whole machine was stalled. When all schedulers sleep it looks only ten times a second, so
//! that an idle server costs nothing; a stall that begins in such a pause is found late, and its
//! duration counts from then.
//!
//! It also serves the schedulers that no worker holds, because every worker that the limit allows
//! is waiting: it delivers their attentions and counts the requests that wait for a worker.

use super::stall::{Stall, StallKind, Stalls};
use crate::clock;
use crate::ledger::{self, State};
use crate::memory;
use crate::sched::activity::Activity;
use crate::sched::scheduler::{Scheduler, Shared};
use crate::sync::Arc;
use crate::sys;
use crate::wait::WaitType;
use crate::xe::machine_events;

/// How often it looks while something runs.
const TICK_NS: u64 = 1_000_000;
/// How often it looks while nothing does.
const PAUSE_NS: u64 = 100_000_000;
/// The number of looks at sleeping schedulers after which it looks less often.
const QUIET_TICKS: u32 = 8;
/// The number of looks at sleeping schedulers after which it returns its free memory.
const TIDY_TICKS: u32 = 18;
/// The least time without progress that counts as a stall.
const STALL_NS: u64 = 10_000_000;

/// The state of the monitor between two looks.
pub(in crate::sched) struct Monitor {
    shared: Arc<Shared>,
    stalls: Arc<Stalls>,
    watched: Vec<Watched>,
    quiet: u32,
    /// The number of the latest stall.
    next: u64,
    late: Option<Episode>,
}

/// The state of one scheduler at the monitor's last look.
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
        // The monitor's own work is booked as the cost of observation.
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
            machine_events::stall(&episode.stall);
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
            match found {
                Found::Unattended => self.watched[index].tend(),
                // What waits for a worker still does.
                Found::Moving if self.watched[index].scheduler.is_held_by_relief() => {}
                Found::Asleep | Found::Moving => self.watched[index].book_queued(),
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

    /// Serves a scheduler that no worker holds, and records the tasks that wait for a worker.
    #[cold]
    fn tend(&mut self) {
        let Some(queued) = self.scheduler.tend() else { return };
        let now = clock::now_ticks();
        let mut waiting = self.scheduler.queued.lock();
        let count = waiting.len().max(queued);
        waiting.resize(count, now);
    }

    /// A worker holds the scheduler again: books `THREADPOOL` waits for the tasks that waited for
    /// it, from when they were first seen until now, to the millisecond.
    fn book_queued(&mut self) {
        let waited = std::mem::take(&mut *self.scheduler.queued.lock());
        let now = clock::now_ticks();
        for since in waited {
            let ticks = now.saturating_sub(since);
            ledger::with_current(|account| account.book_wait(WaitType::ThreadPool, ticks, 0));
        }
    }
}
