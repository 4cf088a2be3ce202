//! `Grown`: rows that only grow. Once a second, and for each reader, the time that cells have
//! gained is added to rows, split by the shares of the requests timed since the last time. So a
//! change of the load does not rewrite the past, and the difference of two readings is what
//! happened between them.
//!
//! Readers and the housekeeper thread do this, not the threads that run requests.

use std::collections::BTreeMap;

use super::account::{Account, TURN_PARTS};
use super::fold::Category;
use super::rows::{Mix, Rows, Sums, Totals, UNWRAPPED};
use super::sample::Shares;
use super::state::{BACKGROUND, CELLS, Label, RUNNING, TURN};
use crate::clock;
use crate::sync::Arc;
use crate::sys;

/// The time that the cells of one thread, or of all, have gained in an interval.
#[derive(Debug)]
pub(super) struct Growth {
    pub(super) cells: [Sums; CELLS],
    pub(super) background: [u64; Label::COUNT],
    pub(super) long: [u64; Label::COUNT],
}

/// How an interval is split: by the shares of what all threads have timed.
#[derive(Debug, Default)]
struct Shared {
    labels: Shares<{ Label::COUNT }>,
    turns: Shares<TURN_PARTS>,
    /// The fractions of the interval's running time, and of its turns, that were not timed.
    untimed: [f64; 2],
}

/// The time of one thread, or of all, that has been added to rows.
#[derive(Debug)]
struct Grown {
    cells: [Sums; CELLS],
    background: [u64; Label::COUNT],
    long: [u64; Label::COUNT],
    /// Running time on a CPU before the first timed request, to be split when there is one.
    pending: u64,
    /// Time that was split by the shares of the latest units: running and turns.
    leaned: [f64; 2],
    rows: Rows,
}

impl Default for Grown {
    fn default() -> Self {
        Self {
            cells: [Sums::default(); CELLS],
            background: [0; Label::COUNT],
            long: [0; Label::COUNT],
            pending: 0,
            leaned: [0.0; 2],
            rows: Rows::default(),
        }
    }
}

impl Grown {
    /// Returns the gain since the last call, which counts as added to rows from now on.
    fn grow(&mut self, totals: &Totals) -> Growth {
        let mut cells = [Sums::default(); CELLS];
        // The end of a request moves its running time since the last send to the turn, without an
        // edge: what was added to rows as running before must not be added again as turn.
        let sum = |of: Sums| of.on_cpu + of.runnable + of.blocked;
        let put_early = sum(self.cells[RUNNING]).saturating_sub(sum(totals.cell(RUNNING)));
        for (at, grown) in self.cells.iter_mut().enumerate() {
            let early = if at == TURN { put_early } else { 0 };
            cells[at] = gain(grown, totals.cell(at), early);
        }
        let of = |cell: usize| cells[cell].on_cpu;
        let background = gain_known(&mut self.background, &totals.background, of(BACKGROUND));
        let long = gain_known(&mut self.long, &totals.long, of(RUNNING));
        Growth { cells, background, long }
    }

    /// The rows of an interval. Before the first timed request, running time is held back, unless
    /// the rows are about to be shown: then it stays without a label.
    fn interval(&mut self, growth: &Growth, shared: &Shared, is_shown: bool) -> Rows {
        let mut rows = Rows::default();
        let [of_running, of_turns] = &mut self.leaned;
        let turn = growth.cells[TURN].on_cpu as f64 * shared.untimed[1];
        let running = rows.add(growth, &shared.turns.split(turn, of_turns));
        self.pending += running;
        if shared.labels.are_known() || is_shown {
            let on_cpu = std::mem::take(&mut self.pending);
            let untimed = on_cpu as f64 * shared.untimed[0];
            rows.split_running(on_cpu, &shared.labels.split(untimed, of_running));
        }
        rows
    }
}

/// Moves a cell's parts towards the wanted values, by as much as its time has grown: a part that
/// was too large stays until the others have caught up. `early` is time of this cell that was
/// already added under another one. Returns the gain.
fn gain(grown: &mut Sums, wanted: Sums, early: u64) -> Sums {
    let sum = |of: &Sums| of.on_cpu + of.runnable + of.blocked;
    let time = sum(&wanted).saturating_sub(sum(grown)).saturating_sub(early);
    let lacks = Sums {
        on_cpu: wanted.on_cpu.saturating_sub(grown.on_cpu),
        runnable: wanted.runnable.saturating_sub(grown.runnable),
        blocked: wanted.blocked.saturating_sub(grown.blocked),
        count: wanted.count.saturating_sub(grown.count),
    };
    let lack = u128::from(sum(&lacks)).max(1);
    let part = |ticks: u64| {
        let part = u128::from(ticks) * u128::from(time) / lack;
        u64::try_from(part).unwrap_or(time)
    };
    let (runnable, blocked) = (part(lacks.runnable), part(lacks.blocked));
    let gain = Sums { on_cpu: time - runnable - blocked, runnable, blocked, count: lacks.count };
    grown.on_cpu += gain.on_cpu;
    grown.runnable += gain.runnable;
    grown.blocked += gain.blocked;
    grown.count += gain.count;
    gain
}

/// The gain of labels whose time is measured, at most `left` ticks, the growth of their cell.
fn gain_known(
    grown: &mut [u64; Label::COUNT],
    wanted: &[u64; Label::COUNT],
    mut left: u64,
) -> [u64; Label::COUNT] {
    let mut gained = [0; Label::COUNT];
    // Time without a label comes last.
    for label in (1..Label::COUNT).chain([0]) {
        gained[label] = wanted[label].saturating_sub(grown[label]).min(left);
        left -= gained[label];
        grown[label] += gained[label];
    }
    gained
}

/// The results of one pass over the accounts, besides those of single threads.
pub(super) struct Found<'a> {
    pub(super) totals: &'a Totals,
    pub(super) mix: &'a Mix,
    /// Time in the kernel as the kernel samples it, in ns; `None` if it cannot be compared.
    pub(super) kernel_ns: Option<u64>,
    /// The differences to schedstat, in ticks: on a CPU and ready.
    pub(super) residuals: [u64; 2],
}

/// The greatest difference to schedstat that two passes in a row have found: a single one may have
/// read a thread in the middle of an edge.
#[derive(Debug, Default)]
struct Residual {
    last: Option<u64>,
    largest: u64,
}

impl Residual {
    fn raise_to(&mut self, ticks: u64) {
        let both = ticks.min(self.last.replace(ticks).unwrap_or(ticks));
        self.largest = self.largest.max(both);
    }
}

/// All rows of a machine so far.
#[derive(Debug, Default)]
pub(super) struct AllGrown {
    shared: Shared,
    all: Grown,
    /// By thread number; boxed, because each node of the map has room for eleven.
    threads: BTreeMap<u32, Box<Grown>>,
    /// The ticks on a CPU up to which the variance of the unwrapped time is known, and the
    /// variance.
    sampled: (u64, f64),
    residuals: [Residual; 2],
    /// The living foreign threads, on a CPU and ready, in ns; and the sums of all so far.
    foreign: (BTreeMap<u32, (u64, u64)>, Sums),
}

impl AllGrown {
    /// Adds the time since the last call to the rows.
    pub(super) fn advance<'a>(
        &mut self,
        found: &Found<'_>,
        threads: impl Iterator<Item = (&'a Arc<Account>, &'a Totals)>,
        is_shown: bool,
    ) {
        let growth = self.all.grow(found.totals);
        let known: u64 = growth.long.iter().sum();
        let of_running = growth.cells[RUNNING].on_cpu - known + self.all.pending;
        let shared = &mut self.shared;
        shared.labels.advance(&found.mix.labels);
        shared.turns.advance(&found.mix.turns);
        shared.untimed = [
            shared.labels.untimed_part(of_running),
            shared.turns.untimed_part(growth.cells[TURN].on_cpu),
        ];
        let mut rows = self.all.interval(&growth, shared, is_shown);
        if let Some(kernel_ns) = found.kernel_ns {
            self.take_unwrapped(&mut rows, found.totals, clock::ns_to_ticks(kernel_ns));
        }
        self.all.rows.absorb(rows);
        for (residual, ticks) in self.residuals.iter_mut().zip(found.residuals) {
            residual.raise_to(ticks);
        }
        let mut earlier = std::mem::take(&mut self.threads);
        for (account, totals) in threads {
            let mut own = earlier.remove(&account.number()).unwrap_or_default();
            let growth = own.grow(totals);
            let rows = own.interval(&growth, &self.shared, is_shown);
            own.rows.absorb(rows);
            self.threads.insert(account.number(), own);
        }
    }

    /// Kernel time that no wrapper has named: the time that the kernel, which samples at each tick,
    /// counts for these threads, minus the time that the wrappers have booked. If it is more than
    /// twice its standard error, it is subtracted from the interval's user rows; what they lack is
    /// taken from the next interval.
    fn take_unwrapped(&mut self, interval: &mut Rows, totals: &Totals, counted: u64) {
        let tick = clock::ns_to_ticks(sys::tick_ns()) as f64;
        let (on_cpu, _) = totals.on_cpu_and_runnable();
        let share = (counted as f64 / (on_cpu as f64).max(1.0)).clamp(0.0, 1.0);
        let samples = on_cpu.saturating_sub(self.sampled.0) as f64 / tick;
        self.sampled.0 = self.sampled.0.max(on_cpu);
        self.sampled.1 += tick * tick * samples * share * (1.0 - share);
        let named = self.all.rows.named_kernel() + interval.named_kernel();
        let unnamed = counted.saturating_sub(named);
        if (unnamed as f64) < 2.0 * self.unwrapped_variance().sqrt() {
            return;
        }
        let before = self.all.rows.on_cpu(Category::Kernel, UNWRAPPED);
        let on_cpu = interval.take_from_user(unnamed.saturating_sub(before));
        interval.put(Category::Kernel, UNWRAPPED, Sums { on_cpu, ..Sums::default() }, None);
    }

    /// The variance of the unwrapped time, at least that of one kernel tick.
    fn unwrapped_variance(&self) -> f64 {
        let tick = clock::ns_to_ticks(sys::tick_ns()) as f64;
        self.sampled.1.max(tick * tick)
    }

    /// The rows of all threads, foreign ones included, and the greatest differences to schedstat so
    /// far.
    pub(super) fn rows(&mut self, foreign: &[sys::ForeignThread], has_unwrapped: bool) -> Rows {
        let mut rows = self.all.rows.clone();
        if has_unwrapped {
            let variance = Some(self.unwrapped_variance());
            // The only unwrapped kernel entries that can be counted: page faults.
            let sums = Sums { count: sys::faults().elsewhere, ..Sums::default() };
            rows.put(Category::Kernel, UNWRAPPED, sums, variance);
        }
        let names = ["on_cpu_difference", "runnable_difference"];
        for (name, residual) in names.into_iter().zip(&self.residuals) {
            let sums = Sums { on_cpu: residual.largest, ..Sums::default() };
            rows.put(Category::Dark, name, sums, None);
        }
        self.grow_foreign(foreign);
        rows.put(Category::Foreign, "threads", self.foreign.1, None);
        rows
    }

    /// Adds the time of foreign threads, so that it is kept when they end.
    fn grow_foreign(&mut self, foreign: &[sys::ForeignThread]) {
        let (known, sums) = &mut self.foreign;
        let earlier = std::mem::take(known);
        for thread in foreign {
            let now = (thread.times.on_cpu_ns, thread.times.runnable_ns);
            let then = earlier.get(&thread.thread_id);
            let (on_cpu, runnable) = then.copied().unwrap_or_default();
            sums.on_cpu += clock::ns_to_ticks(now.0.saturating_sub(on_cpu));
            sums.runnable += clock::ns_to_ticks(now.1.saturating_sub(runnable));
            sums.count += u64::from(then.is_none());
            known.insert(thread.thread_id, (now.0.max(on_cpu), now.1.max(runnable)));
        }
    }

    /// The rows of one thread.
    pub(super) fn thread_rows(&self, account: &Account) -> Rows {
        self.threads.get(&account.number()).map(|own| own.rows.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_cell_never_shrink_and_fill_its_time() {
        let sums = |on_cpu, runnable, blocked| Sums { on_cpu, runnable, blocked, count: 0 };
        let mut grown = Sums::default();
        let first = gain(&mut grown, sums(10, 0, 90), 0);
        assert_eq!((first.on_cpu, first.runnable, first.blocked), (10, 0, 90));
        // Part of what was added as blocked turns out to have been running.
        let second = gain(&mut grown, sums(60, 0, 60), 0);
        assert_eq!((second.on_cpu, second.runnable, second.blocked), (20, 0, 0));
        gain(&mut grown, sums(60, 0, 50), 0);
        assert_eq!((grown.on_cpu, grown.runnable, grown.blocked), (30, 0, 90));
        gain(&mut grown, sums(160, 0, 90), 0);
        assert_eq!((grown.on_cpu, grown.runnable, grown.blocked), (160, 0, 90));
        // Of forty more, ten are in another cell for now.
        let next = gain(&mut grown, sums(200, 0, 90), 10);
        assert_eq!((next.on_cpu, next.runnable, next.blocked), (30, 0, 0));
        gain(&mut grown, sums(200, 0, 90), 0);
        assert_eq!((grown.on_cpu, grown.runnable, grown.blocked), (200, 0, 90));
    }
}
