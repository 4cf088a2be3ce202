//! `Whole`: a consistent copy of one account's cells, which a reader takes without the owner's
//! help; and the splitting of the time of threads without a sentinel.

use super::Counter;
use super::account::Account;
use super::state::{CELLS, RUNNING, State, TURN};
use super::watch::Source;
use crate::clock;
use crate::sync::{Ordering, fence};
use crate::sys::{self, KernelCounts, RunTimes};

/// How often a reader tries to get a consistent copy.
const READ_TRIES: u32 = 64;
/// How often a reader tries to read schedstat at a moment without an edge.
const BESIDE_TRIES: u32 = 8;
/// A reader that takes longer to read schedstat was preempted, so that the reading is of an earlier
/// moment.
const BESIDE_NS_MAX: u64 = 100_000;
/// How long a running thread may appear to have been off its CPU between two readings.
const BEHIND_NS: u64 = 200_000;

/// A copy of an account's cells, in ticks, including the stay in progress.
#[derive(Clone, Debug)]
pub(super) struct Whole {
    is_whole: bool,
    /// Whether the cells and [`times`](Self::times) are from the same moment.
    pub(super) is_beside: bool,
    /// Whether the cells have the time off the CPU; if not, waits count as blocked entirely.
    pub(super) is_split: bool,
    pub(super) at: usize,
    since: u64,
    last: [u64; 3],
    /// The cell of short waits since the last look, and their time, which the cell has as blocked.
    deferred: (usize, u64),
    pub(super) wall: [u64; CELLS],
    pub(super) runnable: [u64; CELLS],
    pub(super) blocked: [u64; CELLS],
    pub(super) count: [u64; CELLS],
    /// The time on a CPU of the stay in progress.
    pub(super) stay_on_cpu: u64,
    /// Schedstat since the account was opened, if it can be read.
    pub(super) times: Option<RunTimes>,
    /// Time in the kernel since the account was opened, as the kernel samples it, and page faults
    /// since the thread started.
    pub(super) kernel: KernelCounts,
}

impl Account {
    /// Reads the sums of threads that have ended.
    pub(super) fn read_past(&self) -> Whole {
        let [on_cpu_ns, runnable_ns, kernel_ns] = [0, 1, 2].map(|i: usize| self.past[i].get());
        let times = Some(RunTimes { on_cpu_ns, runnable_ns, timeslices: 0 });
        let kernel = KernelCounts { kernel_ns, ..KernelCounts::default() };
        Whole { is_split: true, is_beside: true, times, kernel, ..self.read_once() }
    }

    /// Reads the account together with the kernel's counters, including the stay in progress.
    pub(super) fn read(&self) -> Whole {
        let (mut whole, times, now) = self.read_beside();
        whole.is_split = self.watch.source() != Source::WallOnly;
        whole.times = times.map(|times| RunTimes {
            on_cpu_ns: times.on_cpu_ns.saturating_sub(self.base[0].get()),
            runnable_ns: times.runnable_ns.saturating_sub(self.base[1].get()),
            timeslices: 0,
        });
        if times.is_some() {
            whole.kernel = sys::kernel_counts(self.thread_id()).unwrap_or_default();
            let before = self.watch.base_kernel_ns();
            whole.kernel.kernel_ns = whole.kernel.kernel_ns.saturating_sub(before);
        }
        // During an edge the stay is booked already.
        if whole.is_whole {
            whole.add_stay(now);
            if matches!(self.watch.source(), Source::Rseq | Source::SwitchRecords) {
                match times {
                    Some(times) if whole.is_beside => whole.split_stay(times, now),
                    Some(_) | None => whole.guess_stay(),
                }
            }
        }
        if self.watch.source() == Source::Schedstat {
            self.spread_over(&mut whole);
        }
        whole
    }

    /// The cells, schedstat and the time, if possible without an edge in between.
    fn read_beside(&self) -> (Whole, Option<RunTimes>, u64) {
        let mut tries = BESIDE_TRIES;
        loop {
            let mut whole = self.read_cells();
            let begin = clock::now_ticks();
            let (times, now) = (self.times(), clock::now_ticks());
            tries -= 1;
            let took_ns = clock::ticks_to_ns(now.saturating_sub(begin));
            // An owner that was preempted in the middle of an edge may not have booked its stay.
            whole.is_beside = whole.is_whole
                && self.since.get() == whole.since
                && (took_ns < BESIDE_NS_MAX || times.is_none());
            if tries == 0 || whole.is_beside {
                return (whole, times, now);
            }
        }
    }

    /// Schedstat, with the time on a CPU up to now even if the thread is running.
    fn times(&self) -> Option<RunTimes> {
        let times = self.watch.times()?;
        let on_cpu_ns = sys::cpu_ns_of(self.thread_id()).unwrap_or(times.on_cpu_ns);
        Some(RunTimes { on_cpu_ns, ..times })
    }

    fn read_cells(&self) -> Whole {
        let mut whole = self.read_once();
        for _ in 1..READ_TRIES {
            if whole.is_whole {
                break;
            }
            std::hint::spin_loop();
            whole = self.read_once();
        }
        whole
    }

    fn read_once(&self) -> Whole {
        let since = self.since.get_acquire();
        let read = |of: fn(&super::account::StateCell) -> &Counter| {
            std::array::from_fn(|at| of(&self.cells[at]).get())
        };
        let mut whole = Whole {
            is_whole: false,
            is_beside: false,
            is_split: false,
            at: self.at(),
            since,
            last: std::array::from_fn(|i| self.last[i].get()),
            deferred: self.deferred.pending(),
            wall: read(|cell| &cell.wall),
            runnable: read(|cell| &cell.runnable),
            blocked: read(|cell| &cell.blocked),
            count: read(|cell| &cell.count),
            stay_on_cpu: 0,
            times: None,
            kernel: KernelCounts::default(),
        };
        // Acquire: pairs with the Release fence in `Account::settle`.
        fence(Ordering::Acquire);
        whole.is_whole = since != 0 && since == self.since.get();
        whole
    }

    /// Splits the time of a thread without a sentinel up to now.
    pub(super) fn spread(&self) {
        if self.watch.source() == Source::Schedstat {
            self.read();
        }
    }

    /// Divides the time off the CPU of a thread without a sentinel over its states since the last
    /// call, by their share of the time, so that the sums agree with schedstat at this moment.
    fn spread_over(&self, whole: &mut Whole) {
        let mut slot = self.spread.lock();
        if let Some(times) = whole.times {
            let before = slot.take().unwrap_or_default();
            before.continue_running(&mut whole.wall);
            let sum = |of: fn(&super::account::StateCell) -> &Counter| -> u64 {
                self.cells.iter().map(|cell| of(cell).get()).sum()
            };
            let spread = [sum(|cell| &cell.runnable), sum(|cell| &cell.blocked)];
            for (cell, (runnable, blocked)) in
                self.cells.iter().zip(before.share(&whole.wall, times, spread))
            {
                // The owner does not write these, because it has no sentinel.
                cell.runnable.add(runnable);
                cell.blocked.add(blocked);
            }
            let spread = before.up_to(&whole.wall);
            // The parts below are from this moment; if another reader was ahead, the cells are not.
            whole.is_beside &= spread.wall == whole.wall;
            whole.wall = spread.wall;
            *slot = Some(Box::new(spread));
        }
        whole.runnable = std::array::from_fn(|at| self.cells[at].runnable.get());
        whole.blocked = std::array::from_fn(|at| self.cells[at].blocked.get());
    }
}

impl Whole {
    /// Adds the stay in progress as if all of it were on a CPU.
    fn add_stay(&mut self, now: u64) {
        let stay = now.saturating_sub(self.since);
        self.wall[self.at] += stay;
        self.stay_on_cpu = stay;
    }

    /// If schedstat is from another moment, the stay in progress counts as its state suggests: a
    /// sleep of a second must not look like work because it has just ended.
    fn guess_stay(&mut self) {
        if State::of_index(self.at).waits() {
            let stay = std::mem::take(&mut self.stay_on_cpu);
            self.blocked[self.at] = self.blocked[self.at].wrapping_add(stay);
        }
    }

    /// Splits the stay in progress by the change of schedstat since the last look.
    fn split_stay(&mut self, times: RunTimes, now: u64) {
        let [on_cpu_ns, runnable_ns, ticks] = self.last;
        let on_cpu = clock::ns_to_ticks(times.on_cpu_ns.saturating_sub(on_cpu_ns));
        let runnable = clock::ns_to_ticks(times.runnable_ns.saturating_sub(runnable_ns));
        let off = now.saturating_sub(ticks).saturating_sub(on_cpu).saturating_sub(runnable);
        let (waits, waited) = self.deferred;
        let off = off.saturating_sub(waited);
        let stay = now.saturating_sub(self.since);
        let of_waits = runnable.saturating_sub(stay).min(waited);
        self.runnable[waits] = self.runnable[waits].wrapping_add(of_waits);
        self.blocked[waits] = self.blocked[waits].wrapping_sub(of_waits);
        let runnable = runnable.min(stay);
        let behind = clock::ns_to_ticks(BEHIND_NS);
        // A thread that should be running probably is, and its schedstat is a little behind.
        let is_running = !State::of_index(self.at).waits() && off < behind;
        let blocked = if is_running { 0 } else { off.min(stay - runnable) };
        self.runnable[self.at] = self.runnable[self.at].wrapping_add(runnable);
        self.blocked[self.at] = self.blocked[self.at].wrapping_add(blocked);
        self.stay_on_cpu = stay - runnable - blocked;
    }
}

/// The time of a thread without a sentinel that has been split so far.
#[derive(Debug)]
pub(super) struct Spread {
    wall: [u64; CELLS],
}

impl Default for Spread {
    fn default() -> Self {
        Self { wall: [0; CELLS] }
    }
}

impl Spread {
    /// The end of a request moves its running time since the last send to the turn, without an edge
    /// (`Account::leave_running`). What was already split as running stays there.
    fn continue_running(&self, wall: &mut [u64; CELLS]) {
        let taken_back = self.wall[RUNNING].saturating_sub(wall[RUNNING]);
        let of_turn = taken_back.min(wall[TURN].saturating_sub(self.wall[TURN]));
        wall[RUNNING] += of_turn;
        wall[TURN] -= of_turn;
    }

    /// The state after splitting up to `wall`. Another reader may have been ahead, and the stay in
    /// progress may be missing: neither may cause time to be split twice.
    fn up_to(&self, wall: &[u64; CELLS]) -> Self {
        Self { wall: std::array::from_fn(|at| self.wall[at].max(wall[at])) }
    }

    /// The runnable and the blocked part of each cell's growth, such that the sums over all cells
    /// are those of schedstat; `spread` are the sums so far. Time off the CPU in running states is
    /// first runnable, as far as schedstat has time waiting for a CPU, and then blocked; the rest
    /// of the time waiting for a CPU counts as the end of waits.
    fn share(&self, wall: &[u64; CELLS], times: RunTimes, spread: [u64; 2]) -> [(u64, u64); CELLS] {
        let grown: [u64; CELLS] = std::array::from_fn(|at| wall[at].saturating_sub(self.wall[at]));
        let waits = |at: usize| State::of_index(at).waits();
        let running: u64 = (0..CELLS).filter(|&at| !waits(at)).map(|at| grown[at]).sum();
        let waiting: u64 = (0..CELLS).filter(|&at| waits(at)).map(|at| grown[at]).sum();
        let before: u64 = self.wall.iter().sum();
        let was_on_cpu = before.saturating_sub(spread[0] + spread[1]);
        let on_cpu = clock::ns_to_ticks(times.on_cpu_ns).saturating_sub(was_on_cpu);
        let runnable = clock::ns_to_ticks(times.runnable_ns).saturating_sub(spread[0]);
        let off = running.saturating_sub(on_cpu);
        let of_running = (runnable.min(off), off - runnable.min(off));
        let left = (runnable - of_running.0).min(waiting);
        let awake = on_cpu.saturating_sub(running).min(waiting - left);
        let of_waiting = (left, waiting - left - awake);
        std::array::from_fn(|at| {
            let ((runnable, blocked), total) =
                if waits(at) { (of_waiting, waiting) } else { (of_running, running) };
            (part(runnable, grown[at], total), part(blocked, grown[at], total))
        })
    }
}

/// `whole * numerator / denominator`, without overflow.
fn part(whole: u64, numerator: u64, denominator: u64) -> u64 {
    let product = u128::from(whole) * u128::from(numerator);
    u64::try_from(product / u128::from(denominator.max(1))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
