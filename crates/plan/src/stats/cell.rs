//! `StatementCell`: what one worker has counted of one statement or procedure.
//!
//! One thread writes a cell; any thread may read it and tolerates being one execution behind. So
//! counting is a load and a store to a cache line that no other thread writes. Times are in ticks
//! of `sos::clock`.

use sos::sync::{AtomicU64, OnceLock, Ordering};

use super::failure::Failure;
use super::io::Io;
use super::spend::{Part, Spend};
use super::window::{Extremes, Windows};

/// A counter that one thread writes and any thread reads.
#[derive(Debug, Default)]
pub(super) struct Tally(AtomicU64);

impl Tally {
    // Relaxed, here and below: statistics with a single writer; readers order nothing by them.
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    pub(super) fn add(&self, n: u64) {
        self.set(self.get().wrapping_add(n));
    }

    /// Adds one, after everything that the thread has written before. Pairs with
    /// [`Tally::get_with_all_before`].
    fn add_one_after_all(&self) {
        self.0.store(self.get().wrapping_add(1), Ordering::Release);
    }

    /// Reads the counter; what was written before the last [`Tally::add_one_after_all`] is seen.
    fn get_with_all_before(&self) -> u64 {
        // Acquire: pairs with the Release there.
        self.0.load(Ordering::Acquire)
    }
}

/// Total and last of a value per execution, with the minimum and maximum since the current epoch
/// began: see `window.rs`.
#[derive(Debug, Default)]
pub(super) struct Summary {
    total: Tally,
    last: Tally,
    /// Stored as a distance from `u64::MAX`, so that a zeroed cell has seen nothing.
    least: Tally,
    most: Tally,
}

impl Summary {
    /// Adds the value of one execution.
    #[inline]
    pub(super) fn book(&self, n: u64) {
        self.total.add(n);
        self.see(n);
    }

    /// Returns the minimum and maximum of the current epoch.
    pub(super) fn extremes(&self) -> Extremes {
        Extremes { distance: self.least.get(), most: self.most.get() }
    }

    /// Begins an epoch: nothing has been seen in it.
    pub(super) fn forget_extremes(&self) {
        self.least.set(0);
        self.most.set(0);
    }

    /// Adds a value to last, minimum and maximum only: the total is counted elsewhere.
    fn see(&self, n: u64) {
        self.last.set(n);
        if u64::MAX - n > self.least.get() {
            self.least.set(u64::MAX - n);
        }
        if n > self.most.get() {
            self.most.set(n);
        }
    }

    pub(super) fn clear(&self) {
        for tally in [&self.total, &self.last, &self.least, &self.most] {
            tally.set(0);
        }
    }
}

/// What one worker has counted of one statement. It has its own cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct StatementCell {
    executions: Tally,
    /// Start of the last execution, in ticks.
    last_start: Tally,
    /// Executions that have ended. All their figures are counted before.
    ended: Tally,
    rows: Summary,
    reads: Summary,
    writes: Summary,
    /// The epoch that the minima and maxima are of.
    epoch: Tally,
    timed: Tally,
    /// Not 0 if any of `debts` is not.
    owes: Tally,
    worker: Summary,
    elapsed: Summary,
    totals: [Tally; Part::COUNT],
    lasts: [Tally; Part::COUNT],
    /// Ticks that corrections take back from `totals`: later ticks of the category pay them.
    debts: [Tally; Part::COUNT],
    /// CPU time of helper threads.
    helped: Tally,
    /// Executions on several schedulers, and their numbers of schedulers.
    parallel: Tally,
    degrees: Summary,
    /// What only a Query Store asks for; allocated once there is one.
    windows: OnceLock<Box<Windows>>,
}

/// Number of the figures that have a minimum and a maximum: rows, CPU time, elapsed time, schedulers,
/// logical reads and logical writes.
pub const SUMMARIES: usize = 6;
pub(super) const ROWS: usize = 0;
pub(super) const WORKER: usize = 1;
pub(super) const ELAPSED: usize = 2;
pub(super) const DEGREES: usize = 3;
pub(super) const READS: usize = 4;
pub(super) const WRITES: usize = 5;

impl StatementCell {
    /// Counts an execution and returns the number of executions before it on this worker.
    #[inline]
    pub fn count(&self, now: u64) -> u64 {
        let before = self.executions.get();
        self.executions.set(before + 1);
        self.last_start.set(now);
        before
    }

    /// Makes sure that what is counted next counts for an epoch.
    #[inline]
    pub(super) fn enter(&self, epoch: u64) {
        if self.epoch.get() != epoch {
            self.begin_epoch(epoch);
        }
    }

    #[cold]
    fn begin_epoch(&self, epoch: u64) {
        let windows = self.windows.get_or_init(Box::default);
        let summaries = self.summaries();
        windows.turn(self.epoch.get(), self.last_start.get(), summaries.map(Summary::extremes));
        summaries.into_iter().for_each(Summary::forget_extremes);
        self.epoch.set(epoch);
    }

    fn summaries(&self) -> [&Summary; SUMMARIES] {
        [&self.rows, &self.worker, &self.elapsed, &self.degrees, &self.reads, &self.writes]
    }

    /// Adds the row count of an execution.
    pub fn book_rows(&self, rows: u64) {
        self.rows.book(rows);
        // The usual execution has a row or none, which adds nothing to the sum of n * (n - 1).
        if rows > 1
            && let Some(windows) = self.windows.get()
        {
            windows.rows.add(rows);
        }
    }

    /// Adds the logical reads and writes of an execution, which ends. They are counted for each one,
    /// timed or not, and after its other figures.
    #[inline]
    pub fn book_io(&self, io: Io) {
        self.reads.book(io.reads);
        self.writes.book(io.writes);
        if io.reads > 1
            && let Some(windows) = self.windows.get()
        {
            windows.add_io(io);
        }
        self.ended.add_one_after_all();
    }

    /// Adds those of an execution that has failed: to the sums, to the lifetime's minimum and maximum,
    /// and to a cell of the failures.
    #[cold]
    pub(super) fn book_failed_io(&self, failure: Failure, io: Io) {
        let Some(windows) = self.windows.get() else { return self.book_io(io) };
        for (summary, which, n) in
            [(&self.reads, READS, io.reads), (&self.writes, WRITES, io.writes)]
        {
            summary.total.add(n);
            summary.last.set(n);
            windows.older[which].see(n);
        }
        windows.failure(failure).book_io(io);
        self.ended.add_one_after_all();
    }

    /// Adds the logical reads and writes of a further part of an execution that is already counted.
    #[cold]
    pub(super) fn book_rest_io(&self, io: Io) {
        self.reads.total.add(io.reads);
        self.writes.total.add(io.writes);
    }

    /// Counts the failure of an execution whose end is already counted.
    #[cold]
    pub(super) fn end_failure(&self, failure: Failure) {
        if let Some(windows) = self.windows.get() {
            windows.failure(failure).ended.add_one_after_all();
        }
    }

    /// Notes that an execution has failed with an error or an attention.
    #[cold]
    pub(super) fn count_failure(&self, failure: Failure, now: u64) {
        if let Some(windows) = self.windows.get() {
            let cell = windows.failure(failure);
            cell.enter(self.epoch.get());
            cell.count(now);
        }
    }

    /// Adds the waits of an execution by category, in ticks.
    #[cold]
    pub(super) fn book_waits(&self, ticks: &[u64; super::waits::CATEGORIES]) {
        if let Some(windows) = self.windows.get() {
            windows.waits().book(self.epoch.get(), ticks);
        }
    }

    /// Adds the time of a timed execution. It also represents `weight - 1` executions that are not
    /// timed, in running time only: waits, system calls and spinning are booked for each execution.
    /// The time of helpers is CPU time but not elapsed time.
    pub fn book_timed(&self, spend: &Spend, (weight, helped): (u64, &Spend)) {
        self.book_sums(spend, (weight, helped));
        let worker = spend.worker() + helped.worker();
        self.worker.see(worker);
        self.elapsed.see(spend.elapsed());
        if let Some(windows) = self.windows.get() {
            windows.worker.add(worker);
            windows.elapsed.add(spend.elapsed());
        }
    }

    /// As [`Self::book_timed`], of an execution that has failed. Its time is in the sums and in the
    /// lifetime's minimum and maximum, and in a cell of the failures.
    #[cold]
    pub(super) fn book_failed(&self, failure: Failure, spend: &Spend, rest: (u64, &Spend)) {
        let Some(windows) = self.windows.get() else { return self.book_timed(spend, rest) };
        self.book_sums(spend, rest);
        let worker = spend.worker() + rest.1.worker();
        windows.older[WORKER].see(worker);
        windows.older[ELAPSED].see(spend.elapsed());
        windows.failure(failure).book_timed(spend, rest);
    }

    #[inline]
    fn book_sums(&self, spend: &Spend, (weight, helped): (u64, &Spend)) {
        self.timed.add(1);
        self.add_ticks(&spend.weighted(weight));
        for (last, (_, ticks)) in self.lasts.iter().zip(spend.parts()) {
            last.set(ticks);
        }
        let helped = helped.worker();
        if helped > 0 {
            self.helped.add(helped);
        }
    }

    /// Adds the number of schedulers that a timed execution ran on.
    pub fn book_degree(&self, schedulers: u32) {
        if schedulers > 1 {
            self.parallel.add(1);
            self.degrees.book(u64::from(schedulers));
        } else if self.degrees.last.get() > 1 {
            self.degrees.last.set(1);
        }
    }

    /// Adds the waits, system calls and spinning of an execution that is not timed.
    #[cold]
    pub fn book_untimed(&self, spend: &Spend) {
        self.add_ticks(&spend.weighted(0));
    }

    /// Adds a further part of an execution that is already counted.
    #[cold]
    pub fn book_rest(&self, spend: &Spend) {
        self.add_ticks(spend);
    }

    /// Adds ticks to the sums of their categories.
    #[inline]
    fn add_ticks(&self, spend: &Spend) {
        if self.owes.get() != 0 || spend.has_negative() {
            return self.correct(spend);
        }
        for (total, (_, ticks)) in self.totals.iter().zip(spend.parts()) {
            total.add(ticks);
        }
    }

    /// As [`Self::add_ticks`], where some are negative or were: they correct what was counted before,
    /// because the ledger has learned of a context switch. The sum does not decrease then, so that the
    /// difference of two readings is never negative: it stays as it is until it is right again.
    #[cold]
    fn correct(&self, spend: &Spend) {
        let mut owes = 0;
        for ((total, debt), (_, ticks)) in self.totals.iter().zip(&self.debts).zip(spend.parts()) {
            if ticks.cast_signed() < 0 {
                debt.add(ticks.wrapping_neg());
            } else {
                let paid = debt.get().min(ticks);
                debt.set(debt.get() - paid);
                total.add(ticks - paid);
            }
            owes |= debt.get();
        }
        self.owes.set(owes);
    }

    /// Zeroes the cell; only when no thread counts in it any more.
    pub fn clear(&self) {
        let counts = [&self.executions, &self.ended, &self.last_start, &self.timed, &self.epoch];
        for tally in counts.into_iter().chain([&self.owes, &self.helped, &self.parallel]) {
            tally.set(0);
        }
        self.summaries().into_iter().for_each(Summary::clear);
        if let Some(windows) = self.windows.get() {
            windows.clear();
        }
        for tally in self.totals.iter().chain(&self.lasts).chain(&self.debts) {
            tally.set(0);
        }
    }
}

impl StatementCell {
    /// Returns the minima and maxima since an epoch began, and when its first execution began; `None`
    /// if nothing was counted. A collector ends the epoch before it reads the counts: executions that
    /// end in between are in the counts that it reads, so their extremes belong to them.
    pub(super) fn since_epoch(&self, epoch: u64) -> Option<(u64, [Extremes; SUMMARIES])> {
        let windows = self.windows.get()?;
        if epoch == 0 || self.epoch.get() < epoch {
            return None;
        }
        let (first, now) = (windows.first.get(), self.summaries().map(Summary::extremes));
        let Some((before, earlier)) = windows.before(epoch) else { return Some((first, now)) };
        Some((before.min(first), std::array::from_fn(|which| now[which].and(earlier[which]))))
    }

    /// Returns what only a Query Store asks for.
    pub(super) fn windows(&self) -> Option<&Windows> {
        self.windows.get().map(|windows| &**windows)
    }
}

/// The sum over all workers for one statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Number of executions begun.
    pub executions: u64,
    /// Number of executions that have ended: all their figures are in the sums.
    pub ended: u64,
    /// Ticks at which the last one began.
    pub last_start: u64,
    /// Executions that were timed.
    pub timed: u64,
    /// Rows returned, assigned or changed.
    pub rows: Folded,
    /// Logical reads: row versions that storage has returned, and those that were written.
    pub reads: Folded,
    /// Logical writes: row versions that were written.
    pub writes: Folded,
    /// Time on a CPU, in ticks.
    pub worker: Folded,
    /// Time from begin to end, in ticks.
    pub elapsed: Folded,
    /// Time by part, for all executions.
    pub spend: Spend,
    /// Time by part, for the last timed execution.
    pub last: Spend,
    /// CPU ticks of helper threads.
    pub helped: u64,
    /// Executions on several schedulers.
    pub parallel: u64,
    /// Numbers of schedulers of those.
    pub degrees: Folded,
    /// Sums for a standard deviation, from when there is a Query Store.
    pub spread: Spread,
}

/// Sums for standard deviations: of rows for all executions, of times for the timed ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Sum of n * (n - 1) for each execution of n rows.
    pub rows: f64,
    /// The same of logical reads.
    pub reads: f64,
    /// The same of logical writes.
    pub writes: f64,
    /// Number, sum and sum of squares of CPU times, in ticks.
    pub worker: Deviation,
    /// Number, sum and sum of squares of elapsed times, in ticks.
    pub elapsed: Deviation,
}

/// Number, sum and sum of squares of values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deviation {
    /// How many values there were.
    pub count: f64,
    /// The sum of the values.
    pub sum: f64,
    /// The sum of their squares.
    pub squares: f64,
}

/// A `Summary` over all workers. `least` is 0 where there was no execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// The sum over all executions.
    pub total: u64,
    /// The value of the last execution.
    pub last: u64,
    /// The smallest value of an execution.
    pub least: u64,
    /// The largest value of an execution.
    pub most: u64,
}

impl Folded {
    fn add(&mut self, summary: &Summary, older: Extremes, seen: Seen) {
        self.total += summary.total.get();
        let all = summary.extremes().and(older);
        let (least, most) = (u64::MAX - all.distance, all.most);
        match seen {
            Seen::Nothing => return,
            Seen::First => (self.least, self.last) = (least, summary.last.get()),
            Seen::Latest => self.last = summary.last.get(),
            Seen::Earlier => {}
        }
        self.least = self.least.min(least);
        self.most = self.most.max(most);
    }
}

/// How a worker's cell compares with those folded before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// The cell is empty.
    Nothing,
    /// It is the first cell with an execution.
    First,
    /// It has the latest execution so far.
    Latest,
    /// Its executions are older.
    Earlier,
}

impl Totals {
    /// Returns the numbers of schedulers of the executions: total, last, minimum and maximum.
    pub fn degree(&self) -> Folded {
        let serial = self.executions.saturating_sub(self.parallel);
        Folded {
            total: self.degrees.total + serial,
            last: self.degrees.last.max(1),
            least: if serial > 0 { 1 } else { self.degrees.least.max(1) },
            most: self.degrees.most.max(1),
        }
    }

    /// Returns the threads of the last execution as SQL Server counts them: 0 for a serial one.
    pub fn last_threads(&self) -> u64 {
        if self.degrees.last > 1 { self.degrees.last } else { 0 }
    }

    /// Returns the fewest threads of an execution.
    pub fn least_threads(&self) -> u64 {
        if self.executions > self.parallel { 0 } else { self.degrees.least }
    }

    /// Adds a worker's cell.
    pub fn add(&mut self, cell: &StatementCell) {
        // First: the figures below are those of these executions at least.
        self.ended += cell.ended.get_with_all_before();
        let (executions, timed) = (cell.executions.get(), cell.timed.get());
        let latest = cell.last_start.get() >= self.last_start;
        let seen = |now: u64, before: u64| match (now, before) {
            (0, _) => Seen::Nothing,
            (_, 0) => Seen::First,
            _ if latest => Seen::Latest,
            _ => Seen::Earlier,
        };
        let windows = cell.windows.get();
        let older = |which: usize| windows.map_or(Extremes::default(), |w| w.older[which].get());
        self.rows.add(&cell.rows, older(ROWS), seen(executions, self.executions));
        self.reads.add(&cell.reads, older(READS), seen(executions, self.executions));
        self.writes.add(&cell.writes, older(WRITES), seen(executions, self.executions));
        let seen = seen(timed, self.timed);
        self.worker.add(&cell.worker, older(WORKER), seen);
        self.elapsed.add(&cell.elapsed, older(ELAPSED), seen);
        if let Some(windows) = windows {
            windows.add_spread(&mut self.spread);
        }
        if matches!(seen, Seen::First | Seen::Latest) {
            self.last = Spend::of(|part| cell.lasts[part.index()].get());
        }
        self.spend += Spend::of(|part| cell.totals[part.index()].get());
        self.helped += cell.helped.get();
        let worker = self.spend.worker() + self.helped;
        (self.worker.total, self.elapsed.total) = (worker, self.spend.elapsed());
        let parallel = cell.parallel.get();
        let seen_parallel = match (parallel, self.parallel) {
            (0, _) => Seen::Nothing,
            (_, 0) => Seen::First,
            _ if latest => Seen::Latest,
            _ => Seen::Earlier,
        };
        self.degrees.add(&cell.degrees, older(DEGREES), seen_parallel);
        self.parallel += parallel;
        if latest && parallel == 0 && timed > 0 {
            self.degrees.last = 1;
        }
        self.executions += executions;
        self.timed += timed;
        self.last_start = self.last_start.max(cell.last_start.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spend(user: u64, waited: u64) -> Spend {
        Spend::of(|part| match part {
            Part::User => user,
            Part::ResourceWait => waited,
            _ => 0,
        })
    }

    #[test]
    fn a_sampled_execution_stands_for_the_running_time_of_others_and_not_for_their_waits() {
        let cell = StatementCell::default();
        assert_eq!(cell.count(5), 0);
        cell.book_timed(&spend(10, 1_000), (64, &Spend::default()));
        let mut totals = Totals::default();
        totals.add(&cell);
        assert_eq!(totals.worker.total, 640);
        assert_eq!(totals.elapsed.total, 1_640);
        assert_eq!((totals.elapsed.least, totals.elapsed.most), (1_010, 1_010));
    }

    #[test]
    fn a_correction_lowers_no_sum_and_is_made_up_for_by_what_comes_later() {
        let cell = StatementCell::default();
        let timed = |user: u64, weight| {
            cell.book_timed(&spend(user, 0), (weight, &Spend::default()));
            let mut totals = Totals::default();
            totals.add(&cell);
            totals.spend.shown(Part::User)
        };
        assert_eq!(timed(100, 1), 100);
        assert_eq!(timed(3_u64.wrapping_neg(), 64), 100, "192 ticks were too many");
        assert_eq!(timed(150, 1), 100);
        assert_eq!(timed(50, 1), 108);
        cell.clear();
        assert_eq!(timed(5, 1), 5);
    }

    #[test]
    fn the_last_execution_is_that_of_the_worker_that_began_last() {
        let (early, late, idle) =
            (StatementCell::default(), StatementCell::default(), StatementCell::default());
        early.count(5);
        early.book_rows(3);
        early.book_timed(&spend(10, 0), (1, &Spend::default()));
        late.count(9);
        late.book_rows(1);
        late.book_timed(&spend(7, 2), (1, &Spend::default()));
        let mut totals = Totals::default();
        for cell in [&late, &idle, &early] {
            totals.add(cell);
        }
        assert_eq!(totals.rows, Folded { total: 4, last: 1, least: 1, most: 3 });
        assert_eq!(totals.worker, Folded { total: 17, last: 7, least: 7, most: 10 });
        assert_eq!(totals.last, spend(7, 2));
        assert_eq!((totals.executions, totals.last_start), (2, 9));
        late.clear();
        let mut cleared = Totals::default();
        cleared.add(&late);
        assert_eq!(cleared, Totals::default());
    }
}
