//! What a thread books that was off its CPU: how much of its stay it ran, stood ready, or was
//! blocked.
//!
//! ```text
//!   edge: the sentinel has tripped ─┬─ a short wait: blocked, until the next look says better
//!                                   └─ else look into the scheduler's books; split the stay, and the
//!                                      waits since the last look
//! ```
//!
//! A look is two system calls, 2 to 8 us. A worker under load sleeps for microseconds in many of
//! its polls, and the monitor for a millisecond at a time: waits of one kind share a look. All that
//! they and a stay after them were off the CPU is known exactly then; only how it divides between
//! the two is reckoned, from what such waits ran on a CPU before.

use super::Counter;
use super::account::Account;
use super::state::{CELLS, OBSERVING, RUNNING, State, TOP_OF, Top};
use super::watch::Source;
use crate::clock;
use crate::sync::{AtomicU64, Ordering};
use crate::sys;

/// How often a thread looks into the scheduler's books until no switch falls into its look.
const LOOKS_MAX: u32 = 8;
/// A look takes less, unless the thread is switched meanwhile.
const LOOK_NS_MAX: u64 = 20_000;
/// So many waits share a look.
const DEFERRED_MAX: u64 = 16;
/// A longer wait has a look of its own: its cost does not matter, and readers see it split.
const DEFERRED_NS_MAX: u64 = 2_000_000;

/// A shorter stay that was sampled is not looked into: it was hardly switched as well. What it was
/// off the CPU nevertheless, the next look finds.
const SAMPLED_NS_MAX: u64 = 100_000;

/// Waits of one kind in which a thread was off its CPU, since it last looked into the scheduler's
/// books. Their time stands in the account as blocked. In ticks.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    /// Their cell.
    at: Counter,
    waits: Counter,
    wall: Counter,
    /// What one of them ran on a CPU, on average of those of an earlier look.
    each_on_cpu: Counter,
}

/// The scheduler's books at a moment: on a CPU and ready, in ns, and when, in ticks.
type Look = (u64, u64, u64);

/// Time of one cell, and that of it which was not on a CPU. Two's complements.
#[derive(Clone, Copy)]
struct Split {
    wall: u64,
    runnable: u64,
    blocked: u64,
}

impl Deferred {
    /// The next wait is not deferred.
    pub(super) fn end(&self) {
        self.waits.set(DEFERRED_MAX);
    }

    /// Whether a wait in a cell may be one of them.
    fn takes(&self, at: usize, wall: u64) -> bool {
        let waits = self.waits.get();
        State::of_index(at).waits()
            && waits < DEFERRED_MAX
            && (waits == 0 || self.cell() == at)
            && clock::ticks_to_ns(wall) <= DEFERRED_NS_MAX
    }

    fn add(&self, at: usize, wall: u64) {
        self.at.set(at as u64);
        self.wall.add(wall);
        self.waits.add(1);
    }

    fn cell(&self) -> usize {
        usize::try_from(self.at.get()).unwrap_or(0) % CELLS
    }

    /// The cell of the waits, and their time.
    pub(super) fn pending(&self) -> (usize, u64) {
        (self.cell(), self.wall.get())
    }

    /// Takes the waits: their cell, how many, and their time.
    fn take(&self) -> (usize, u64, u64) {
        let taken = (self.cell(), self.waits.get(), self.wall.get());
        self.waits.set(0);
        self.wall.set(0);
        taken
    }
}

impl Account {
    /// The sentinel's word is still as it was left; the owner only.
    #[inline]
    pub(super) fn is_armed(&self) -> bool {
        self.own_word().load(Ordering::Relaxed) == self.armed.get()
    }

    #[inline]
    fn own_word(&self) -> &AtomicU64 {
        // SAFETY: the owner's word lives as long as its thread, and the owner is who asks.
        unsafe { &*self.word.load(Ordering::Relaxed) }
    }

    /// Books the present stay, during which the thread was off its CPU, unless the sampler made it
    /// look so. Returns what of the stay was on a CPU, and the time.
    ///
    /// The books are opened after the look: it takes long, and who is preempted in it must not
    /// leave a sleep that has its time already but not yet as blocked.
    #[cold]
    pub(super) fn hit(&self, at: usize, wall: u64, now: u64) -> (u64, u64) {
        if matches!(self.watch.source(), Source::Schedstat | Source::WallOnly) {
            // It was no switch but the sampler: a thread without a sentinel is split by who reads.
            self.armed.set(0);
            self.book(at, wall);
            return (wall - self.move_observed(at, wall), now);
        }
        let is_deferred = match self.observed.get() {
            // A request shall have its own waits split, not the next one.
            0 => self.serves_nobody() && self.deferred.takes(at, wall),
            _ => !State::of_index(at).waits() && clock::ticks_to_ns(wall) < SAMPLED_NS_MAX,
        };
        if is_deferred && let Some(end) = self.rearm() {
            self.book(at, wall);
            let wall = wall - self.move_observed(at, wall);
            return (self.defer(at, wall, end.saturating_sub(now)), end);
        }
        let looked = self.look();
        self.book(at, wall);
        let wall = wall - self.move_observed(at, wall);
        match looked {
            Some(looked) => self.split(at, wall, now, looked),
            None => (wall, now),
        }
    }

    /// Makes the sentinel ready again, and reads the clock, unless a switch falls in between.
    fn rearm(&self) -> Option<u64> {
        self.armed.set(self.watch.arm(self.own_word()));
        let end = clock::now_ticks();
        self.is_armed().then_some(end)
    }

    /// Leaves a stay to the next look, until when a wait counts as blocked and all else as running;
    /// `more` is what has passed since its end was read. Returns what counts as running.
    fn defer(&self, at: usize, wall: u64, more: u64) -> u64 {
        self.cells[at].wall.add(more);
        self.tops[usize::from(TOP_OF[at])].add(more);
        let wall = wall + more;
        if !State::of_index(at).waits() {
            return wall;
        }
        self.cells[at].blocked.add(wall);
        self.deferred.add(at, wall);
        0
    }

    /// Takes from the scheduler's books, which it has looked into, for how long it was off its CPU.
    fn split(&self, at: usize, wall: u64, now: u64, looked: Look) -> (u64, u64) {
        let (on_cpu_ns, runnable_ns, end) = looked;
        let on_cpu = signed_ticks(on_cpu_ns, self.last[0].get());
        let runnable = signed_ticks(runnable_ns, self.last[1].get());
        let blocked =
            end.wrapping_sub(self.last[2].get()).wrapping_sub(on_cpu).wrapping_sub(runnable);
        for (last, value) in self.last.iter().zip([on_cpu_ns, runnable_ns, end]) {
            last.set(value);
        }
        let looked = end.saturating_sub(now);
        // Looking into the books is itself on the books; more than that was one more switch.
        let (books, top) = if clock::ticks_to_ns(looked) < LOOK_NS_MAX {
            (OBSERVING, Top::Observing as usize)
        } else {
            (at, usize::from(TOP_OF[at]))
        };
        self.cells[books].wall.add(looked);
        self.tops[top].add(looked);
        let wall = if books == at { wall + looked } else { wall };
        let Split { runnable, blocked, .. } =
            self.split_deferred(at, Split { wall, runnable, blocked });
        self.cells[at].runnable.add(runnable);
        self.cells[at].blocked.add(blocked);
        let rest = wall.wrapping_sub(runnable).wrapping_sub(blocked);
        self.correct_tops(at, runnable, blocked, rest);
        (if rest > wall { 0 } else { rest }, end)
    }

    /// Splits the waits since the last look; `off` has what they and the present stay were off the
    /// CPU. Returns the present stay's part.
    fn split_deferred(&self, at: usize, off: Split) -> Split {
        let (cell, waits, waited) = self.deferred.take();
        if State::of_index(at).waits() && (waits == 0 || cell == at) {
            let off_cpu = off.runnable.wrapping_add(off.blocked);
            let on_cpu = positive((off.wall + waited).wrapping_sub(off_cpu));
            self.deferred.each_on_cpu.set(on_cpu / (waits + 1));
            // It has theirs as blocked already.
            return Split { blocked: off.blocked.wrapping_sub(waited), ..off };
        }
        if waits == 0 {
            return self.split_sampled(off);
        }
        let all = positive(off.runnable.wrapping_add(off.blocked));
        let on_cpu = (waits * self.deferred.each_on_cpu.get()).min(waited);
        // What cannot have been the present stay's is theirs.
        let theirs = (waited - on_cpu).min(all).max(all.saturating_sub(off.wall));
        let own = all - theirs;
        let runnable = positive(off.runnable).min(own);
        let split = Split { runnable, blocked: own - runnable, ..off };
        let runnable = off.runnable.wrapping_sub(split.runnable);
        let blocked = off.blocked.wrapping_sub(split.blocked);
        self.cells[cell].runnable.add(runnable);
        self.cells[cell].blocked.add(blocked.wrapping_sub(waited));
        let on_cpu = waited.wrapping_sub(runnable).wrapping_sub(blocked);
        self.correct_tops(cell, runnable, blocked.wrapping_sub(waited), on_cpu);
        split
    }

    /// What a stay cannot have been off the CPU was one that was sampled before it: a running one.
    fn split_sampled(&self, off: Split) -> Split {
        let excess = positive(off.runnable.wrapping_add(off.blocked)).saturating_sub(off.wall);
        if excess == 0 {
            return off;
        }
        let runnable = positive(off.runnable).min(excess);
        let blocked = excess - runnable;
        self.cells[RUNNING].runnable.add(runnable);
        self.cells[RUNNING].blocked.add(blocked);
        self.correct_tops(RUNNING, runnable, blocked, 0);
        let runnable = off.runnable.wrapping_sub(runnable);
        Split { runnable, blocked: off.blocked.wrapping_sub(blocked), ..off }
    }

    /// Reads the scheduler's books and the clock with no switch in between. Whatever happens after
    /// that is another hit.
    pub(super) fn look(&self) -> Option<Look> {
        for _ in 0..LOOKS_MAX {
            self.armed.set(self.watch.arm(self.own_word()));
            // Of a thread that runs, the books have the time on a CPU of its last tick only.
            let runnable_ns = self.watch.times()?.runnable_ns;
            let on_cpu_ns = sys::thread_cpu_ns();
            let end = clock::now_ticks();
            if self.is_armed() {
                return Some((on_cpu_ns, runnable_ns, end));
            }
        }
        None
    }

    /// Moves what was not on a CPU, or was in spite of waiting, to where [`Spent`](super::Spent)
    /// shows it.
    fn correct_tops(&self, at: usize, runnable: u64, blocked: u64, on_cpu: u64) {
        let top = &self.tops[usize::from(TOP_OF[at])];
        let runnable_top = &self.tops[Top::Runnable as usize];
        match State::of_index(at) {
            State::Polling | State::Idle | State::Wait(_) => {
                top.add(0_u64.wrapping_sub(on_cpu).wrapping_sub(runnable));
                self.tops[Top::Kernel as usize].add(on_cpu);
                runnable_top.add(runnable);
            }
            State::Signal(_) => {
                top.add(0_u64.wrapping_sub(on_cpu));
                self.tops[Top::Kernel as usize].add(on_cpu);
            }
            State::Running
            | State::Scheduling
            | State::Background
            | State::Observing
            | State::Kernel(_)
            | State::Spin(_) => {
                top.add(0_u64.wrapping_sub(blocked).wrapping_sub(runnable));
                runnable_top.add(runnable);
                self.tops[Top::Blocked as usize].add(blocked);
            }
        }
    }
}

/// The growth of a reading in ns, in ticks; below zero as its two's complement.
fn signed_ticks(now_ns: u64, last_ns: u64) -> u64 {
    if now_ns >= last_ns {
        clock::ns_to_ticks(now_ns - last_ns)
    } else {
        0_u64.wrapping_sub(clock::ns_to_ticks(last_ns - now_ns))
    }
}

/// A two's complement, or zero if it is below.
const fn positive(ticks: u64) -> u64 {
    if ticks.cast_signed() < 0 { 0 } else { ticks }
}
