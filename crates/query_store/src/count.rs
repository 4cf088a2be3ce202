//! `Counts`: what was last seen of a statement's sums, and what has been added since.

use plan::stats::{Collected, Failure, Spread, Totals, WaitTotal, Window};

use crate::measure::{Measure, added, floats};
use crate::store::{Compiled, Delta, Instant, Runtime, Wait};

/// The sums of a statement that a difference is taken of.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    executions: u64,
    rows: u64,
    reads: u64,
    writes: u64,
    worker: u64,
    elapsed: u64,
    degrees: u64,
    spread: Spread,
}

impl Sums {
    fn of(totals: &Totals) -> Self {
        Self {
            // A statement that runs is counted when it has ended.
            executions: totals.ended,
            rows: totals.rows.total,
            reads: totals.reads.total,
            writes: totals.writes.total,
            worker: totals.worker.total,
            elapsed: totals.elapsed.total,
            degrees: totals.degree().total,
            spread: totals.spread,
        }
    }
}

/// What was last seen of a statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    sums: Sums,
    failures: Option<Box<[Sums; Failure::COUNT]>>,
    waits: Option<Box<[(u64, u64, f64)]>>,
    compilations: u64,
    compile_ns: u64,
}

/// Converts ticks of the clock to moments and microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Ticks at a moment.
    pub ticks: u64,
    /// The moment, in UTC.
    pub now: Instant,
}

impl Clock {
    /// Returns the moment of a reading of the clock.
    fn at(&self, ticks: u64) -> Instant {
        let ago = sos::clock::ticks_to_ns(self.ticks.saturating_sub(ticks)) / 100;
        self.now - i64::try_from(ago).unwrap_or(0)
    }

    /// Returns the microseconds of a tick.
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    fn tick_us(self) -> f64 {
        const MANY: u64 = 1 << 40;
        sos::clock::ticks_to_ns(MANY) as f64 / MANY as f64 / 1_000.0
    }
}

impl Counts {
    /// Returns whether anything has been counted since.
    pub(crate) fn differs(&self, totals: &Totals) -> bool {
        self.sums.executions < totals.ended
            || self.sums.elapsed != totals.elapsed.total
            || self.sums.rows != totals.rows.total
            || self.sums.reads != totals.reads.total
    }

    /// Returns what was counted since, and remembers what is counted now.
    pub(crate) fn advance(
        &mut self,
        found: &Collected,
        (clock, with_waits): (&Clock, bool),
    ) -> Delta {
        let totals = &found.row.totals;
        let now = Sums::of(totals);
        let books = &found.row.books;
        let (compilations, compile_ns) = (u64::from(books.compilations()), books.bind_ns());
        let mut delta = Delta {
            compiled: Compiled {
                count: compilations.saturating_sub(self.compilations),
                first: clock.at(books.created),
                last: if self.compilations == 0 { clock.at(books.created) } else { clock.now },
                ns: compile_ns.0.saturating_sub(self.compile_ns),
                last_ns: compile_ns.1,
            },
            ..Delta::default()
        };
        let [regular, failed @ ..] = &mut delta.runs;
        *regular = run(&now, &self.sums, (totals, found.window.extremes), clock);
        regular.first = found.window.first.map_or(regular.first, |ticks| clock.at(ticks));
        if let Some(failures) = &found.window.failures {
            let before = self.failures.get_or_insert_default();
            for ((before, failures), run_of) in before.iter_mut().zip(failures.iter()).zip(failed) {
                let totals = &failures.totals;
                let now = Sums::of(totals);
                *run_of = run(&now, before, (totals, failures.extremes), clock);
                *before = now;
                exclude(regular, run_of);
            }
        }
        self.advance_waits(&found.window, regular, (clock, with_waits));
        (self.sums, self.compilations, self.compile_ns) = (now, compilations, compile_ns.0);
        delta
    }

    fn advance_waits(&mut self, window: &Window, run: &mut Runtime, (clock, on): (&Clock, bool)) {
        let Some(waits) = &window.waits else { return };
        let none = || waits.0.iter().map(|_| (0, 0, 0.0)).collect();
        let before = self.waits.get_or_insert_with(none);
        for (category, (wait, before)) in (0..).zip(waits.0.iter().zip(before.iter_mut())) {
            let executions = wait.executions.saturating_sub(before.0);
            if executions > 0 && on {
                run.waits.insert(category, wait_of(wait, *before, executions, clock.tick_us()));
            }
            *before = (wait.executions, wait.ticks, wait.squares);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures of statistics")]
fn wait_of(wait: &WaitTotal, before: (u64, u64, f64), executions: u64, tick_us: f64) -> Wait {
    let ticks = wait.ticks.saturating_sub(before.1) as f64;
    let measure = Measure {
        total: ticks,
        last: wait.last as f64,
        extremes: wait.extremes.map(|(least, most)| (least as f64, most as f64)),
        spread: plan::stats::Deviation {
            count: executions as f64,
            sum: ticks,
            squares: (wait.squares - before.2).max(0.0),
        },
    };
    Wait { id: 0, executions, time: measure.scaled(tick_us) }
}

/// Minimum and maximum of each figure.
type Known = [plan::stats::Extremes; plan::stats::SUMMARIES];

/// Returns what was added to sums.
#[expect(clippy::cast_precision_loss, reason = "figures of statistics")]
fn run(now: &Sums, before: &Sums, (totals, extremes): (&Totals, Known), clock: &Clock) -> Runtime {
    let tick_us = clock.tick_us();
    let executions = now.executions.saturating_sub(before.executions);
    let degrees = now.degrees.saturating_sub(before.degrees) as f64;
    let [of_rows, of_worker, of_elapsed, of_degrees, of_reads, of_writes] = extremes.map(floats);
    let count = executions as f64;
    let time = |now: u64, before: u64, last: u64, extremes, spread| {
        let total = now.saturating_sub(before) as f64;
        Measure { total, last: last as f64, extremes, spread }.scaled(tick_us)
    };
    let (spread, earlier) = (now.spread, before.spread);
    let figure = |(now, before): (u64, u64), last: u64, extremes, (pairs, earlier): (f64, f64)| {
        let total = now.saturating_sub(before) as f64;
        // The sum of n * n is that of n * (n - 1) and of n.
        let squares = (pairs - earlier).max(0.0) + total;
        let spread = plan::stats::Deviation { count, sum: total, squares };
        Measure { total, last: last as f64, extremes, spread }
    };
    let last = clock.at(totals.last_start.saturating_add(totals.elapsed.last));
    Runtime {
        id: 0,
        first: last,
        last: last.min(clock.now),
        executions,
        duration: time(
            now.elapsed,
            before.elapsed,
            totals.elapsed.last,
            of_elapsed,
            added(spread.elapsed, earlier.elapsed),
        ),
        cpu: time(
            now.worker,
            before.worker,
            totals.worker.last,
            of_worker,
            added(spread.worker, earlier.worker),
        ),
        degree: Measure {
            total: degrees,
            last: totals.degree().last as f64,
            extremes: Some(of_degrees.map_or((1.0, 1.0), |(least, most)| {
                // Serial executions are not in the extremes.
                (if degrees < least * count { 1.0 } else { least }, most)
            })),
            spread: plan::stats::Deviation::default(),
        },
        rows: figure(
            (now.rows, before.rows),
            totals.rows.last,
            of_rows,
            (spread.rows, earlier.rows),
        ),
        reads: figure(
            (now.reads, before.reads),
            totals.reads.last,
            of_reads,
            (spread.reads, earlier.reads),
        ),
        writes: figure(
            (now.writes, before.writes),
            totals.writes.last,
            of_writes,
            (spread.writes, earlier.writes),
        ),
        waits: std::collections::BTreeMap::new(),
    }
}

/// Takes executions that have failed out of a sum that has all. The extremes have none of them.
fn exclude(regular: &mut Runtime, failed: &Runtime) {
    regular.executions = regular.executions.saturating_sub(failed.executions);
    for (sum, part) in [
        (&mut regular.duration, &failed.duration),
        (&mut regular.cpu, &failed.cpu),
        (&mut regular.degree, &failed.degree),
    ] {
        sum.total = (sum.total - part.total).max(0.0);
    }
    #[expect(clippy::cast_precision_loss, reason = "figures of statistics")]
    let executions = failed.executions as f64;
    for (sum, part) in [(&mut regular.reads, &failed.reads), (&mut regular.writes, &failed.writes)]
    {
        sum.total = (sum.total - part.total).max(0.0);
        // The sum of n * (n - 1), which is part of the squares, has none of them.
        sum.spread.count = (sum.spread.count - executions).max(0.0);
        sum.spread.sum = (sum.spread.sum - part.total).max(0.0);
        sum.spread.squares = (sum.spread.squares - part.total).max(0.0);
    }
    if regular.executions == 0 && failed.executions > 0 {
        *regular = Runtime::default();
    }
}
