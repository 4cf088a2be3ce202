//! Turns cells (time per state) into rows (time per category and name).
//!
//! | cell's state             | on a CPU          | ready, without a CPU | blocked                |
//! |--------------------------|-------------------|----------------------|------------------------|
//! | running, background      | user, by label    | runnable             | unexpected blocking    |
//! | scheduling               | user              | runnable             | unexpected blocking    |
//! | spin                     | spin, by class    | runnable             | unexpected blocking    |
//! | observing                | observation       | runnable             | observation            |
//! | system call              | kernel, by cause  | runnable             | kernel, by cause       |
//! | poll                     | kernel: poll      | runnable             | idle                   |
//! | idle                     | kernel: sched     | runnable             | idle                   |
//! | wait                     | kernel: sched     | runnable             | wait, by type          |
//! | signal                   | kernel: sched     | signal, by type      | signal, by type        |

use std::collections::BTreeMap;

use super::account::{Account, TURN_PARTS, TURN_RECEIVE, TURN_SCHEDULING, TURN_TAIL};
use super::fold::{Category, LedgerRow};
use super::growth::Growth;
use super::sample::{RatioSums, Split};
use super::state::{BACKGROUND, CELLS, Label, RUNNING, State, TURN};
use super::whole::Whole;
use crate::clock;

/// The sums of one cell over threads, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) on_cpu: u64,
    pub(super) runnable: u64,
    pub(super) blocked: u64,
    pub(super) count: u64,
}

/// The sums of all cells over threads.
#[derive(Clone, Debug)]
pub(super) struct Totals {
    wall: [u64; CELLS],
    runnable: [u64; CELLS],
    blocked: [u64; CELLS],
    count: [u64; CELLS],
    /// Measured time by label: of background work, and of long requests.
    pub(super) background: [u64; Label::COUNT],
    pub(super) long: [u64; Label::COUNT],
}

impl Default for Totals {
    fn default() -> Self {
        let zeros = [0; CELLS];
        Self {
            wall: zeros,
            runnable: zeros,
            blocked: zeros,
            count: zeros,
            background: [0; Label::COUNT],
            long: [0; Label::COUNT],
        }
    }
}

impl Totals {
    /// Adds a thread's cells and its background labels.
    pub(super) fn add(&mut self, whole: &Whole, account: &Account) {
        for at in 0..CELLS {
            self.wall[at] += whole.wall[at];
            // Parts may be a little below zero, as two's complements.
            self.runnable[at] = self.runnable[at].wrapping_add(whole.runnable[at]);
            let waits = !whole.is_split && State::of_index(at).waits();
            let blocked = if waits { whole.wall[at] } else { whole.blocked[at] };
            self.blocked[at] = self.blocked[at].wrapping_add(blocked);
            self.count[at] += whole.count[at];
        }
        for (sum, label) in self.background.iter_mut().zip(&account.samples.background) {
            *sum += label.get();
        }
        for (sum, label) in self.long.iter_mut().zip(&account.samples.long) {
            *sum += label.get();
        }
        // Labels are booked at their end: the present one gets the stay in progress.
        if whole.at == BACKGROUND {
            self.background[account.label().index()] += whole.stay_on_cpu;
        }
    }

    pub(super) fn cell(&self, at: usize) -> Sums {
        let positive = |ticks: u64| if ticks > u64::MAX / 2 { 0 } else { ticks };
        let runnable = positive(self.runnable[at]).min(self.wall[at]);
        let blocked = positive(self.blocked[at]).min(self.wall[at] - runnable);
        let on_cpu = self.wall[at] - runnable - blocked;
        Sums { on_cpu, runnable, blocked, count: self.count[at] }
    }

    /// The ticks on a CPU, and ready for one, over all cells.
    pub(super) fn on_cpu_and_runnable(&self) -> (u64, u64) {
        let cells = (0..CELLS).map(|at| self.cell(at));
        cells.fold((0, 0), |(on, ready), cell| (on + cell.on_cpu, ready + cell.runnable))
    }
}

/// The sums of timed requests over all threads.
#[derive(Clone, Debug, Default)]
pub(super) struct Mix {
    pub(super) labels: RatioSums<{ Label::COUNT }>,
    pub(super) turns: RatioSums<TURN_PARTS>,
}

impl Mix {
    pub(super) fn add(&mut self, account: &Account) {
        self.labels.add(&account.samples.labels.sums());
        self.turns.add(&account.samples.turns.sums());
    }
}

/// `share` of `ticks`, rounded.
pub(super) fn portion(ticks: u64, share: f64) -> u64 {
    rounded(ticks as f64 * share).min(ticks)
}

/// The nearest whole number, at least zero.
fn rounded(value: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float becomes the nearest number that fits"
    )]
    let rounded = value.round() as u64;
    rounded
}

/// Rows while they are added up, in ticks, with the variance of sampled times.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows(BTreeMap<(Category, &'static str), (Sums, Option<f64>)>);

impl Rows {
    /// Adds every cell's parts to rows, as the table at the top says. Returns the running time of
    /// requests on a CPU, which is not added yet.
    pub(super) fn add(&mut self, growth: &Growth, turn: &Split<'_, TURN_PARTS>) -> u64 {
        let mut running = growth.cells[RUNNING].on_cpu;
        running -= self.put_known(&growth.long) + growth.long[0];
        let unlabelled = Sums { on_cpu: growth.long[0], ..Sums::default() };
        self.put(Category::Dark, UNLABELLED, unlabelled, None);
        for (at, cell) in growth.cells.iter().enumerate() {
            let mut cell = *cell;
            match at {
                RUNNING => cell.on_cpu = 0,
                TURN => running += self.split_turn(&mut cell, turn),
                BACKGROUND => self.split_background(&mut cell, growth),
                _ => {}
            }
            self.split(State::of_index(at), cell);
        }
        running
    }

    /// Splits the turn's time on a CPU into the receive, the running time after the last send,
    /// which is returned, and the rest, which is scheduling.
    fn split_turn(&mut self, cell: &mut Sums, turn: &Split<'_, TURN_PARTS>) -> u64 {
        let whole = cell.on_cpu;
        let part = |i| portion(whole, turn.share(i).unwrap_or(0.0));
        let (receive, tail) = (part(TURN_RECEIVE), part(TURN_TAIL));
        let receive = receive.min(whole - tail);
        cell.on_cpu -= receive + tail;
        let sums = Sums { on_cpu: receive, ..Sums::default() };
        let name = State::Kernel(crate::sys::SysCause::Recv).name();
        self.put(Category::Kernel, name, sums, turn.variance(TURN_RECEIVE));
        let name = State::Scheduling.name();
        self.put(Category::User, name, Sums::default(), turn.variance(TURN_SCHEDULING));
        tail
    }

    /// Adds background work by its labels, which are exact; time without one is named "background".
    fn split_background(&mut self, cell: &mut Sums, growth: &Growth) {
        cell.on_cpu -= self.put_known(&growth.background);
    }

    /// Adds time whose label is measured; returns the number of ticks.
    fn put_known(&mut self, known: &[u64; Label::COUNT]) -> u64 {
        for (label, &on_cpu) in Label::ALL.iter().zip(known).skip(1) {
            self.put(Category::User, label.name(), Sums { on_cpu, ..Sums::default() }, None);
        }
        known.iter().skip(1).sum()
    }

    /// Splits the running time of requests by the shares of the timed ones.
    pub(super) fn split_running(&mut self, on_cpu: u64, split: &Split<'_, { Label::COUNT }>) {
        let mut left = on_cpu;
        for label in Label::ALL.iter().skip(1) {
            let i = label.index();
            let Some(share) = split.share(i) else { continue };
            let part = portion(on_cpu, share).min(left);
            left -= part;
            let sums = Sums { on_cpu: part, ..Sums::default() };
            self.put(Category::User, label.name(), sums, split.variance(i));
        }
        let sums = Sums { on_cpu: left, ..Sums::default() };
        self.put(Category::Dark, UNLABELLED, sums, split.variance(0));
    }

    /// The ticks on a CPU in system calls with a named cause.
    pub(super) fn named_kernel(&self) -> u64 {
        let is_kernel = |&(category, name): &(Category, &str)| match category {
            Category::Kernel => name != UNWRAPPED,
            category => category == Category::Observation,
        };
        self.0.iter().filter(|(key, _)| is_kernel(key)).map(|(_, (sums, _))| sums.on_cpu).sum()
    }

    /// The ticks on a CPU of one row.
    pub(super) fn on_cpu(&self, category: Category, name: &'static str) -> u64 {
        self.0.get(&(category, name)).map_or(0, |(sums, _)| sums.on_cpu)
    }

    /// Adds the rows of an interval.
    pub(super) fn absorb(&mut self, interval: Self) {
        for ((category, name), (sums, variance)) in interval.0 {
            self.put(category, name, sums, variance);
        }
    }

    fn split(&mut self, state: State, sums: Sums) {
        let name = state.name();
        let (on_cpu, ready, blocked) = match state {
            State::Running | State::Background | State::Scheduling => {
                (Category::User, Category::Runnable, Category::UnexpectedBlocking)
            }
            // Between two tries the slow path sleeps: that is a cost of the lock too.
            State::Spin(_) => (Category::Spin, Category::Runnable, Category::Spin),
            State::Observing => (Category::Observation, Category::Runnable, Category::Observation),
            State::Kernel(_) => (Category::Kernel, Category::Runnable, Category::Kernel),
            State::Polling | State::Idle => (Category::Kernel, Category::Runnable, Category::Idle),
            // A background task between two periods is idle, although it has a wait type.
            State::Wait(wait_type) if wait_type.is_idle() => {
                (Category::Kernel, Category::Runnable, Category::Idle)
            }
            State::Wait(_) => (Category::Kernel, Category::Runnable, Category::Wait),
            State::Signal(_) => (Category::Kernel, Category::Signal, Category::Signal),
        };
        let on_cpu_name = match state {
            State::Idle | State::Wait(_) | State::Signal(_) => "sched",
            State::Running
            | State::Scheduling
            | State::Polling
            | State::Background
            | State::Observing
            | State::Kernel(_)
            | State::Spin(_) => name,
        };
        // The count of entries is shown in the row where most of the state's time belongs.
        let (count_on, count_off) = if state.waits() { (0, sums.count) } else { (sums.count, 0) };
        let none = Sums::default();
        self.put(on_cpu, on_cpu_name, Sums { on_cpu: sums.on_cpu, count: count_on, ..none }, None);
        self.put(ready, name, Sums { runnable: sums.runnable, ..none }, None);
        self.put(blocked, name, Sums { blocked: sums.blocked, count: count_off, ..none }, None);
    }

    /// Adds to a row, which is made only if it is not zero.
    pub(super) fn put(
        &mut self,
        category: Category,
        name: &'static str,
        sums: Sums,
        variance: Option<f64>,
    ) {
        let is_zero =
            sums.on_cpu == 0 && sums.runnable == 0 && sums.blocked == 0 && sums.count == 0;
        if is_zero && variance.unwrap_or(0.0) == 0.0 {
            return;
        }
        let row = self.0.entry((category, name)).or_default();
        row.0.on_cpu += sums.on_cpu;
        row.0.runnable += sums.runnable;
        row.0.blocked += sums.blocked;
        row.0.count += sums.count;
        row.1 = add_variance(row.1, variance);
    }

    /// Subtracts `ticks` on a CPU from the rows of user code, in proportion. Returns how many ticks
    /// were subtracted.
    pub(super) fn take_from_user(&mut self, ticks: u64) -> u64 {
        let of_user = |category: &Category| matches!(category, Category::User | Category::Dark);
        let rows = self.0.iter_mut().filter(|((category, _), _)| of_user(category));
        let total: u64 = rows.map(|(_, (sums, _))| sums.on_cpu).sum();
        let share = ticks as f64 / (total as f64).max(1.0);
        let rows = self.0.iter_mut().filter(|((category, _), _)| of_user(category));
        let mut taken = 0;
        for (_, (sums, _)) in rows {
            let part = portion(sums.on_cpu, share);
            sums.on_cpu -= part;
            taken += part;
        }
        taken
    }

    pub(super) fn finish(self) -> Vec<LedgerRow> {
        let row = |((category, name), (sums, variance)): ((Category, &'static str), (Sums, _))| {
            LedgerRow {
                category,
                name,
                wall_ns: clock::ticks_to_ns(sums.on_cpu + sums.runnable + sums.blocked),
                on_cpu_ns: clock::ticks_to_ns(sums.on_cpu),
                runnable_ns: clock::ticks_to_ns(sums.runnable),
                blocked_ns: clock::ticks_to_ns(sums.blocked),
                count: sums.count,
                error_ns: Option::map(variance, |v: f64| clock::ticks_to_ns(rounded(v.sqrt()))),
            }
        };
        self.0.into_iter().map(row).collect()
    }
}

/// Running time for which no label was set.
pub(super) const UNLABELLED: &str = "unlabelled";
/// Kernel time that no wrapper has named.
pub(super) const UNWRAPPED: &str = "unwrapped";

fn add_variance(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}
