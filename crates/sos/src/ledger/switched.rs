//! Splits the stay of a thread that was off its CPU into time on a CPU, ready, and blocked.
//!
//! ```text
//!   edge: the sentinel has tripped ─┬─ a short wait: blocked, until the next look corrects it
//!                                   └─ else look: read the kernel's schedstat; split the stay, and
//!                                      the waits since the last look
//! ```
//!
//! A look costs two system calls, 2 to 8 us. A worker under load sleeps for microseconds in many of
//! its polls, and the monitor for a millisecond at a time: so waits of one kind share a look. It
//! shows exactly how long those waits and the stay after them were off the CPU together; only the
//! division between the two is estimated, from the CPU time of such waits before.

use super::Counter;
use super::account::Account;
use super::state::{CELLS, OBSERVING, RUNNING, State, TOP_OF, Top};
use super::watch::Source;
use crate::clock;
use crate::sync::{AtomicU64, Ordering};
use crate::sys;

/// How often a thread reads schedstat until no switch falls into its look.
const LOOKS_MAX: u32 = 8;
/// A look takes less than this, unless the thread is switched in it.
const LOOK_NS_MAX: u64 = 20_000;
/// The number of waits that share a look.
const DEFERRED_MAX: u64 = 16;
/// A longer wait gets its own look: the cost does not matter then, and readers see it split.
const DEFERRED_NS_MAX: u64 = 2_000_000;

/// A shorter stay in which the sampler's signal came gets no look: it was probably not switched as
/// well. If it was, the next look finds the time off the CPU.
const SAMPLED_NS_MAX: u64 = 100_000;

/// The short waits of one kind since the last look, in which the thread was off its CPU. The
/// account has their time as blocked. In ticks.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    /// The cell of the waits.
    at: Counter,
    waits: Counter,
    wall: Counter,
    /// The mean time that one such wait ran on a CPU, from an earlier look.
    each_on_cpu: Counter,
}

/// Schedstat at a moment: on a CPU and ready, in ns, and the moment in ticks.
type Look = (u64, u64, u64);

/// The time of one cell, and its parts off the CPU. Two's complements.
#[derive(Clone, Copy)]
struct Split {
    wall: u64,
    runnable: u64,
    blocked: u64,
}

impl Deferred {
    /// Makes the next wait look at schedstat instead of being deferred.
    pub(super) fn end(&self) {
        self.waits.set(DEFERRED_MAX);
    }

    /// Whether a wait in a cell may be deferred with the others.
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

    /// The cell of the waits, and their time in ticks.
    pub(super) fn pending(&self) -> (usize, u64) {
        (self.cell(), self.wall.get())
    }

    /// Takes the waits out: their cell, number and time.
    fn take(&self) -> (usize, u64, u64) {
        let taken = (self.cell(), self.waits.get(), self.wall.get());
        self.waits.set(0);
        self.wall.set(0);
        taken
    }
}

impl Account {
    /// Whether the sentinel's word has not changed, so that the thread was not switched. Only the
    /// owner may call it.
    #[inline]
    pub(super) fn is_armed(&self) -> bool {
        self.own_word().load(Ordering::Relaxed) == self.armed.get()
    }

    #[inline]
    fn own_word(&self) -> &AtomicU64 {
        // SAFETY: the word lives as long as its thread, which is the calling one.
        unsafe { &*self.word.load(Ordering::Relaxed) }
    }

    /// Books the present stay, in which the thread was off its CPU, unless the sampler only made it
    /// appear so. Returns the ticks of the stay on a CPU, and the time now.
    ///
    /// The edge begins after the look, which takes long: a reader must not see a sleep whose time
    /// is booked but not yet as blocked, if the thread is preempted in the look.
    #[cold]
    pub(super) fn hit(&self, at: usize, wall: u64, now: u64) -> (u64, u64) {
        if matches!(self.watch.source(), Source::Schedstat | Source::WallOnly) {
            // The sampler caused it, not a switch: readers split threads without a sentinel.
            self.armed.set(0);
            self.book(at, wall);
            return (wall - self.move_observed(at, wall), now);
        }
        let is_deferred = match self.observed.get() {
            // The waits of a request must be split within it, not in the next one.
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

    /// Arms the sentinel and reads the clock; `None` if a switch falls in between.
    fn rearm(&self) -> Option<u64> {
        self.armed.set(self.watch.arm(self.own_word()));
        let end = clock::now_ticks();
        self.is_armed().then_some(end)
    }

    /// Defers a stay to the next look; until then a wait counts as blocked and other states as
    /// running. `more` is the time since the stay's end was read. Returns the ticks that count as
    /// running.
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

    /// Splits the stay, and the deferred waits, by what the look has found.
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
        // The look itself is booked as observation; if it took longer, there was another switch.
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
        // The readings are of moments that differ a little. A stay that was on its CPU throughout may
        // seem to be longer than it was, or one that was not to have less than nothing.
        (positive(rest).min(wall), end)
    }

    /// Splits the waits since the last look; `off` is the time off the CPU of them and the present
    /// stay. Returns the present stay's part.
    fn split_deferred(&self, at: usize, off: Split) -> Split {
        let (cell, waits, waited) = self.deferred.take();
        if State::of_index(at).waits() && (waits == 0 || cell == at) {
            let off_cpu = off.runnable.wrapping_add(off.blocked);
            let on_cpu = positive((off.wall + waited).wrapping_sub(off_cpu));
            self.deferred.each_on_cpu.set(on_cpu / (waits + 1));
            // The cell has the time of the waits as blocked already.
            return Split { blocked: off.blocked.wrapping_sub(waited), ..off };
        }
        if waits == 0 {
            return self.split_sampled(off);
        }
        let all = positive(off.runnable.wrapping_add(off.blocked));
        let on_cpu = (waits * self.deferred.each_on_cpu.get()).min(waited);
        // Time off the CPU beyond the present stay's length belongs to the waits.
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

    /// Time off the CPU beyond the stay's length belongs to an earlier running stay, which got no
    /// look because of the sampler.
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

    /// Reads schedstat and the clock with no switch in between; `None` if that fails repeatedly. A
    /// later switch trips the sentinel again.
    pub(super) fn look(&self) -> Option<Look> {
        for _ in 0..LOOKS_MAX {
            self.armed.set(self.watch.arm(self.own_word()));
            // For a running thread, schedstat has the time on a CPU only up to its last tick.
            let runnable_ns = self.watch.times()?.runnable_ns;
            let on_cpu_ns = sys::thread_cpu_ns();
            let end = clock::now_ticks();
            if self.is_armed() {
                return Some((on_cpu_ns, runnable_ns, end));
            }
        }
        None
    }

    /// Moves time off the CPU, and time on a CPU in a waiting state, to its kind in
    /// [`Spent`](super::Spent).
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

/// The difference of two readings in ns, in ticks; if negative, as its two's complement.
fn signed_ticks(now_ns: u64, last_ns: u64) -> u64 {
    if now_ns >= last_ns {
        clock::ns_to_ticks(now_ns - last_ns)
    } else {
        0_u64.wrapping_sub(clock::ns_to_ticks(last_ns - now_ns))
    }
}

/// The value of a two's complement, or zero if it is negative.
const fn positive(ticks: u64) -> u64 {
    if ticks.cast_signed() < 0 { 0 } else { ticks }
}

#[cfg(test)]
mod tests {
    use super::super::state::BACKGROUND;
    use super::super::watch::Watch;
    use super::*;
    use crate::xe::Emitter;

    /// The ticks that a stay of a hundred microseconds counts under its label. Of them it was ready
    /// but had no CPU for `ready_us`, and schedstat's time on a CPU is `error_ns` off.
    fn kept(ready_us: u64, error_ns: i64) -> (u64, u64) {
        let account = Account::with(7, "splits", Watch::blind(), None, Emitter::new(None, 7));
        let (wall, now) = (clock::ns_to_ticks(100_000), clock::ns_to_ticks(1_000_000));
        account.last[2].set(now - wall);
        let on_cpu_ns = (100_000 - ready_us * 1_000).saturating_add_signed(error_ns);
        let looked = (on_cpu_ns, ready_us * 1_000, now);
        let (on_cpu, end) = account.split(BACKGROUND, wall, now, looked);
        assert_eq!(end, now);
        (clock::ticks_to_ns(on_cpu), clock::ticks_to_ns(wall))
    }

    #[test]
    fn a_stay_keeps_the_time_on_its_cpu_whatever_the_error_of_a_reading() {
        for error_ns in [-300, 0, 300] {
            let (kept_ns, wall_ns) = kept(0, error_ns);
            assert!(kept_ns <= wall_ns && wall_ns - kept_ns < 400, "{kept_ns} at {error_ns}");
            let (kept_ns, _) = kept(60, error_ns);
            assert!(kept_ns.abs_diff(40_000) < 400, "{kept_ns} at {error_ns}");
        }
        assert_eq!(kept(100, -300).0, 0);
    }
}
