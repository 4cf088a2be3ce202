//! `Windows`: what a Query Store asks of a cell beyond the sums since a program was compiled: minima
//! and maxima of an interval, sums of squares, failures, and waits by category.
//!
//! ```text
//!   collector   epoch 6 ─► 7,  then reads what each cell has of 6
//!   worker      at its next execution finds 7: the extremes of 6 become `previous`, and part of `older`
//! ```
//!
//! Sums only grow, so that a collector takes differences. Extremes can't be subtracted: those of a
//! cell are of its current epoch. The epoch is a word that all workers read and only the collector
//! writes, once a minute. It is 0 while no database has a Query Store, and then a cell has no windows.

use sos::sync::OnceLock;

use super::cell::{Deviation, SUMMARIES, Spread, StatementCell, Tally};
use super::failure::Failure;
use super::io::Io;
use super::waits::WaitCells;

/// The minimum and maximum of a value, if there was one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extremes {
    /// The minimum, as its distance from `u64::MAX`: 0 if there was no value.
    pub(super) distance: u64,
    /// The maximum; 0 if there was no value.
    pub(super) most: u64,
}

impl Extremes {
    /// Returns the extremes of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self { distance: self.distance.max(other.distance), most: self.most.max(other.most) }
    }

    /// Returns minimum and maximum; `None` if there was no value.
    pub fn get(self) -> Option<(u64, u64)> {
        (self.distance != 0).then(|| (u64::MAX - self.distance, self.most))
    }
}

/// [`Extremes`] that one thread writes.
#[derive(Debug, Default)]
pub(super) struct Range {
    distance: Tally,
    most: Tally,
}

impl Range {
    pub(super) fn get(&self) -> Extremes {
        Extremes { distance: self.distance.get(), most: self.most.get() }
    }

    pub(super) fn set(&self, to: Extremes) {
        self.distance.set(to.distance);
        self.most.set(to.most);
    }

    pub(super) fn see(&self, n: u64) {
        self.set(self.get().and(Extremes { distance: u64::MAX - n, most: n }));
    }
}

/// Number, sum and sum of squares of a time; the sums are floating point numbers, as bits.
#[derive(Debug, Default)]
pub(super) struct Squares {
    count: Tally,
    sum: Tally,
    squares: Tally,
}

impl Squares {
    #[expect(clippy::cast_precision_loss, reason = "a standard deviation needs no 64 bits")]
    pub(super) fn add(&self, n: u64) {
        let n = n as f64;
        self.count.add(1);
        add_float(&self.sum, n);
        add_float(&self.squares, n * n);
    }

    #[expect(clippy::cast_precision_loss, reason = "a standard deviation needs no 64 bits")]
    fn add_to(&self, to: &mut Deviation) {
        to.count += self.count.get() as f64;
        to.sum += f64::from_bits(self.sum.get());
        to.squares += f64::from_bits(self.squares.get());
    }

    fn clear(&self) {
        for tally in [&self.count, &self.sum, &self.squares] {
            tally.set(0);
        }
    }
}

/// The sum of n * (n - 1), as the bits of a floating point number.
#[derive(Debug, Default)]
pub(super) struct Pairs(Tally);

impl Pairs {
    #[expect(clippy::cast_precision_loss, reason = "a standard deviation needs no 64 bits")]
    pub(super) fn add(&self, n: u64) {
        add_float(&self.0, n as f64 * (n - 1) as f64);
    }
}

fn add_float(tally: &Tally, n: f64) {
    tally.set((f64::from_bits(tally.get()) + n).to_bits());
}

/// What a cell has for a Query Store.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// Start of the first execution of the current epoch, in ticks.
    pub(super) first: Tally,
    /// Extremes of all epochs before the current one, and of failures.
    pub(super) older: [Range; SUMMARIES],
    previous_epoch: Tally,
    previous_first: Tally,
    previous: [Range; SUMMARIES],
    pub(super) rows: Pairs,
    reads: Pairs,
    writes: Pairs,
    pub(super) worker: Squares,
    pub(super) elapsed: Squares,
    failures: OnceLock<Box<[StatementCell; Failure::COUNT]>>,
    waits: OnceLock<Box<WaitCells>>,
}

impl Windows {
    /// Ends an epoch, whose extremes are given; the next one begins with an execution that has begun
    /// at `first`.
    pub(super) fn turn(&self, ended: u64, first: u64, extremes: [Extremes; SUMMARIES]) {
        for (which, extremes) in extremes.into_iter().enumerate() {
            self.previous[which].set(extremes);
            self.older[which].set(self.older[which].get().and(extremes));
        }
        self.previous_first.set(self.first.get());
        self.previous_epoch.set(ended);
        self.first.set(first);
    }

    /// Returns the start of the first execution and the extremes of the epoch before the current one,
    /// if it is this one.
    pub(super) fn before(&self, epoch: u64) -> Option<(u64, [Extremes; SUMMARIES])> {
        (self.previous_epoch.get() == epoch).then(|| {
            let extremes = std::array::from_fn(|which| self.previous[which].get());
            (self.previous_first.get(), extremes)
        })
    }

    /// Returns the cell of executions that have failed in this way; allocated at the first one.
    pub(super) fn failure(&self, failure: Failure) -> &StatementCell {
        &self.failures.get_or_init(Box::default)[failure.index()]
    }

    /// Returns the cells of failed executions, if there was one.
    pub(super) fn failures(&self) -> Option<&[StatementCell; Failure::COUNT]> {
        self.failures.get().map(|cells| &**cells)
    }

    /// Returns the waits by category; allocated at the first wait.
    pub(super) fn waits(&self) -> &WaitCells {
        self.waits.get_or_init(Box::default)
    }

    /// Returns the waits by category, if there was one.
    pub(super) fn waited(&self) -> Option<&WaitCells> {
        self.waits.get().map(|cells| &**cells)
    }

    /// Adds the logical reads and writes of an execution, for their deviation.
    pub(super) fn add_io(&self, io: Io) {
        self.reads.add(io.reads);
        self.writes.add(io.writes.max(1));
    }

    pub(super) fn add_spread(&self, to: &mut Spread) {
        to.rows += f64::from_bits(self.rows.0.get());
        to.reads += f64::from_bits(self.reads.0.get());
        to.writes += f64::from_bits(self.writes.0.get());
        self.worker.add_to(&mut to.worker);
        self.elapsed.add_to(&mut to.elapsed);
    }

    /// Zeroes everything; only when no thread counts in the cell any more.
    pub(super) fn clear(&self) {
        for tally in [&self.first, &self.previous_epoch, &self.previous_first] {
            tally.set(0);
        }
        for pairs in [&self.rows, &self.reads, &self.writes] {
            pairs.0.set(0);
        }
        for range in self.older.iter().chain(&self.previous) {
            range.set(Extremes::default());
        }
        self.worker.clear();
        self.elapsed.clear();
        if let Some(cells) = self.failures.get() {
            cells.iter().for_each(StatementCell::clear);
        }
        if let Some(cells) = self.waits.get() {
            cells.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::{ELAPSED, ROWS, Totals};
    use super::super::spend::{Part, Spend};
    use super::*;

    fn timed(cell: &StatementCell, epoch: u64, ticks: u64) {
        cell.count(ticks);
        cell.enter(epoch);
        cell.book_rows(ticks / 10);
        let spend = Spend::of(|part| if part == Part::User { ticks } else { 0 });
        cell.book_timed(&spend, (1, &Spend::default()));
    }

    fn totals(cell: &StatementCell) -> Totals {
        let mut totals = Totals::default();
        totals.add(cell);
        totals
    }

    #[test]
    fn an_epoch_has_its_own_extremes_and_the_lifetime_has_all() {
        let cell = StatementCell::default();
        timed(&cell, 0, 50);
        assert!(cell.windows().is_none(), "without a Query Store nothing is allocated");
        for (epoch, ticks) in [(1, 30), (1, 70), (2, 40)] {
            timed(&cell, epoch, ticks);
        }
        let of = |epoch| cell.since_epoch(epoch).map(|(first, e)| (first, e[ELAPSED].get()));
        assert_eq!(of(1), Some((30, Some((30, 70)))));
        assert_eq!(of(2), Some((40, Some((40, 40)))));
        assert_eq!(of(3), None);
        let all = totals(&cell);
        assert_eq!((all.elapsed.least, all.elapsed.most, all.elapsed.total), (30, 70, 190));
        assert_eq!((all.rows.least, all.rows.most), (3, 7));
        assert_eq!(cell.since_epoch(2).map(|(_, e)| e[ROWS].get()), Some(Some((4, 4))));
    }

    #[test]
    fn an_execution_counts_as_ended_when_all_its_figures_are_counted() {
        let cell = StatementCell::default();
        cell.enter(1);
        cell.count(5);
        cell.book_rows(7);
        assert_eq!((totals(&cell).executions, totals(&cell).ended), (1, 0));
        cell.book_io(Io::read(3));
        assert_eq!((totals(&cell).ended, totals(&cell).rows.total), (1, 7));
        // One that fails ends twice: among all, and among those that have failed so.
        cell.count(6);
        cell.count_failure(Failure::Exception, 6);
        let failed = || {
            let mut failed = Totals::default();
            failed.add(cell.windows().unwrap().failure(Failure::Exception));
            failed
        };
        assert_eq!((failed().executions, failed().ended), (1, 0));
        cell.book_failed_io(Failure::Exception, Io::read(1));
        assert_eq!((failed().ended, totals(&cell).ended), (1, 2));
    }

    #[test]
    fn extremes_of_executions_behind_the_end_of_an_epoch_are_found_with_it() {
        let cell = StatementCell::default();
        timed(&cell, 1, 30);
        timed(&cell, 2, 90);
        let found = cell.since_epoch(1).map(|(first, e)| (first, e[ELAPSED].get()));
        assert_eq!(found, Some((30, Some((30, 90)))));
        assert_eq!(cell.since_epoch(2).map(|(first, _)| first), Some(90));
    }

    #[test]
    fn sums_of_squares_give_the_deviation() {
        let cell = StatementCell::default();
        for ticks in [20, 40, 60] {
            timed(&cell, 1, ticks);
        }
        let spread = totals(&cell).spread;
        let of = spread.elapsed;
        assert_eq!((of.count, of.sum, of.squares), (3.0, 120.0, 5_600.0));
        // 2, 4 and 6 rows.
        assert_eq!(spread.rows, 2.0 + 12.0 + 30.0);
    }

    #[test]
    fn a_failure_is_in_the_sums_and_not_in_the_extremes_of_the_epoch() {
        let cell = StatementCell::default();
        timed(&cell, 1, 10);
        cell.count(11);
        cell.count_failure(Failure::Exception, 11);
        let spend = Spend::of(|part| if part == Part::User { 500 } else { 0 });
        cell.book_failed(Failure::Exception, &spend, (1, &Spend::default()));
        let all = totals(&cell);
        assert_eq!((all.executions, all.elapsed.total, all.elapsed.most), (2, 510, 500));
        assert_eq!(cell.since_epoch(1).map(|(_, e)| e[ELAPSED].get()), Some(Some((10, 10))));
        let failures = cell.windows().and_then(Windows::failures).expect("there was one");
        let failed = totals(&failures[Failure::Exception.index()]);
        assert_eq!((failed.executions, failed.elapsed.total), (1, 500));
        cell.clear();
        assert_eq!(totals(&cell), Totals::default());
    }
}
