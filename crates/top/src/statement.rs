//! Statements: what each did between two refreshes, from the sums of `sys.dm_exec_query_stats`.

use std::collections::HashMap;

use crate::difference::{Clock, grown};
use crate::format::count;
use crate::rows::Row;
use crate::table::{Column, Keyed, Rank};

/// How many earlier readings are kept. Statements past it are forgotten all at once.
const KEPT_MAX: usize = 20_000;

/// What a statement did per second between two readings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statement {
    /// Handle of its plan in hexadecimal.
    pub plan: String,
    /// First and last byte of the statement in its batch; -1 is the batch's end.
    pub statement: (i64, i64),
    /// Number of executions per second.
    pub calls: f64,
    /// CPU milliseconds per second.
    pub cpu_ms: f64,
    /// Milliseconds per second in which it ran, but not on a CPU.
    pub wait_ms: f64,
    /// Logical reads per second.
    pub reads: f64,
    /// Rows returned per second; `None` if the server does not count them.
    pub rows: Option<f64>,
    /// Mean milliseconds of an execution.
    pub mean_ms: f64,
    /// Name of the database, of modules only.
    pub database: String,
    /// Text of the statement.
    pub text: String,
}

impl Keyed for Statement {
    fn key(&self) -> String {
        format!("{} {:?}", self.plan, self.statement)
    }
}

/// The sums of one statement.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sums {
    /// When its plan was compiled: the sums start again with another plan.
    compiled: String,
    calls: u64,
    cpu_us: u64,
    elapsed_us: u64,
    reads: u64,
    rows: Option<u64>,
}

/// Sums of earlier readings.
#[derive(Clone, Debug, Default)]
pub struct Statements {
    clock: Option<Clock>,
    sums: HashMap<String, Sums>,
    /// What statements did between the last two readings; `None` before the second one.
    shown: Option<Vec<Statement>>,
}

impl Statements {
    /// Takes the rows of a question about statements, and the clocks of about the same time.
    pub fn take(&mut self, rows: &[Row], clock: &Clock) {
        let before = self.clock.replace(clock.clone());
        let seconds = before.as_ref().and_then(|before| clock.seconds_since(before));
        let is_restarted = before.is_some_and(|b| b.start_ticks_ms != clock.start_ticks_ms);
        if is_restarted || self.sums.len() > KEPT_MAX {
            self.sums.clear();
        }
        let mut shown = Vec::new();
        for row in rows {
            let (key, sums) = (key(row), Sums::from_row(row));
            let earlier = self.sums.insert(key, sums.clone());
            if let Some(seconds) = seconds {
                shown.extend(difference(row, &sums, earlier.as_ref(), seconds));
            }
        }
        self.shown = seconds.is_some().then_some(shown);
    }

    /// Notes that the server was away: the next reading starts again.
    pub fn interrupt(&mut self) {
        *self = Self::default();
    }

    /// Returns the statements that ran between the last two readings; `None` before the second.
    #[must_use]
    pub fn shown(&self) -> Option<&[Statement]> {
        self.shown.as_deref()
    }
}

impl Sums {
    fn from_row(row: &Row) -> Self {
        Self {
            compiled: row.text(3).to_owned(),
            calls: row.count(4),
            cpu_us: row.count(5),
            elapsed_us: row.count(6),
            reads: row.count(7),
            rows: row.integer(8).map(|_| row.count(8)),
        }
    }
}

fn key(row: &Row) -> String {
    format!("{} {} {}", row.text(0), row.text(1), row.text(2))
}

/// Returns what a statement did since an earlier reading; `None` if it did not run, or if what it
/// had done before is unknown.
#[expect(clippy::cast_precision_loss, reason = "rates for people")]
fn difference(row: &Row, sums: &Sums, earlier: Option<&Sums>, seconds: f64) -> Option<Statement> {
    let zero = Sums::default();
    let earlier = match earlier {
        Some(earlier) if earlier.compiled == sums.compiled => earlier,
        // Another plan starts its sums at zero: all of them are new.
        Some(_) => &zero,
        // The first call ever is new; more calls may be older than the last reading.
        None if sums.calls == 1 => &zero,
        None => return None,
    };
    let calls = grown(earlier.calls, sums.calls);
    let cpu_us = grown(earlier.cpu_us, sums.cpu_us) as f64;
    let elapsed_us = grown(earlier.elapsed_us, sums.elapsed_us) as f64;
    let rows = sums.rows.map(|rows| grown(earlier.rows.unwrap_or(0), rows) as f64 / seconds);
    (calls > 0).then(|| Statement {
        plan: row.text(0).to_owned(),
        statement: (row.integer(1).unwrap_or(0), row.integer(2).unwrap_or(-1)),
        calls: calls as f64 / seconds,
        cpu_ms: cpu_us / 1e3 / seconds,
        // A statement on several schedulers has more CPU time than elapsed time.
        wait_ms: (elapsed_us - cpu_us).max(0.0) / 1e3 / seconds,
        reads: grown(earlier.reads, sums.reads) as f64 / seconds,
        rows,
        mean_ms: elapsed_us / 1e3 / calls as f64,
        database: row.text(9).to_owned(),
        text: row.text(10).to_owned(),
    })
}

/// Makes a column of numbers.
macro_rules! number {
    ($name:literal, $width:literal, $core:literal, $of:expr) => {{
        let cell: fn(&Statement) -> String = |s| {
            let of: fn(&Statement) -> Option<f64> = $of;
            of(s).map_or(String::new(), count)
        };
        let rank: fn(&Statement) -> Rank = |s| {
            let of: fn(&Statement) -> Option<f64> = $of;
            Rank::Number(of(s).unwrap_or(0.0))
        };
        Column { name: $name, width: $width, is_core: $core, is_right: true, cell, rank }
    }};
}

/// Makes a column of text.
macro_rules! text {
    ($name:literal, $width:literal, $core:literal, $field:ident) => {{
        let cell: fn(&Statement) -> String = |s| s.$field.clone();
        let rank: fn(&Statement) -> Rank = |s| Rank::Text(s.$field.clone());
        Column { name: $name, width: $width, is_core: $core, is_right: false, cell, rank }
    }};
}

/// Index of the column of CPU time, by which statements are ordered at first.
pub const BY_CPU: usize = 1;

/// The columns of statements.
pub const COLUMNS: &[Column<Statement>] = &[
    number!("Calls/s", 8, true, |s| Some(s.calls)),
    number!("CPU ms/s", 8, true, |s| Some(s.cpu_ms)),
    number!("Wait ms/s", 9, true, |s| Some(s.wait_ms)),
    number!("Rows/s", 7, true, |s| s.rows),
    number!("Reads/s", 8, false, |s| Some(s.reads)),
    number!("Mean ms", 8, true, |s| Some(s.mean_ms)),
    text!("Database", 10, false, database),
    text!("Text", 0, true, text),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn row(handle: &str, compiled: &str, calls: u64, cpu_us: u64, elapsed_us: u64) -> Row {
        Row::from_record(&format!(
            "{handle}\t0\t-1\t{compiled}\t{calls}\t{cpu_us}\t{elapsed_us}\t7\t{calls}\t\\N\tSELECT 1"
        ))
    }

    fn clock(start_ticks_ms: i64, ticks_ms: i64) -> Clock {
        Clock { start_ticks_ms, ticks_ms, ..Clock::default() }
    }

    fn shown(statements: &Statements) -> Vec<(f64, f64, f64)> {
        let of = |s: &Statement| (s.calls, s.cpu_ms, s.wait_ms);
        statements.shown().map(|shown| shown.iter().map(of).collect()).unwrap_or_default()
    }

    #[test]
    fn first_reading_shows_nothing() {
        let mut statements = Statements::default();
        statements.take(&[row("0xA", "t", 1, 1, 1)], &clock(0, 1_000));
        assert!(statements.shown().is_none());
    }

    #[test]
    fn rates_are_differences_per_second() {
        let mut statements = Statements::default();
        statements.take(&[row("0xA", "t", 100, 5_000, 9_000)], &clock(0, 1_000));
        statements.take(&[row("0xA", "t", 120, 9_000, 23_000)], &clock(0, 3_000));
        assert_eq!(shown(&statements), [(10.0, 2.0, 5.0)]);
        assert_eq!(statements.shown().map(|s| s[0].rows), Some(Some(10.0)));
        statements.take(&[row("0xA", "t", 120, 9_000, 23_000)], &clock(0, 4_000));
        assert_eq!(shown(&statements), [], "it did not run");
    }

    #[test]
    fn statement_with_an_unknown_past_waits_for_the_next_reading() {
        let mut statements = Statements::default();
        statements.take(&[], &clock(0, 1_000));
        statements
            .take(&[row("0xA", "t", 5, 1, 1), row("0xB", "t", 1, 3_000, 1)], &clock(0, 2_000));
        assert_eq!(shown(&statements), [(1.0, 3.0, 0.0)], "B is new, and ran on several CPUs");
        statements.take(&[row("0xA", "t", 6, 1_001, 2_001)], &clock(0, 3_000));
        assert_eq!(shown(&statements), [(1.0, 1.0, 1.0)]);
    }

    #[test]
    fn sums_of_another_plan_start_from_zero() {
        let mut statements = Statements::default();
        statements.take(&[row("0xA", "t1", 100, 5_000, 5_000)], &clock(0, 1_000));
        statements.take(&[row("0xA", "t2", 3, 3_000, 3_000)], &clock(0, 2_000));
        assert_eq!(shown(&statements), [(3.0, 3.0, 0.0)]);
    }

    #[test]
    fn restarted_server_starts_again() {
        let mut statements = Statements::default();
        statements.take(&[row("0xA", "t", 5, 0, 0)], &clock(0, 1_000));
        statements.take(&[row("0xA", "t", 9, 0, 0)], &clock(700, 2_000));
        assert!(statements.shown().is_none());
        statements.take(&[row("0xA", "t", 11, 0, 0)], &clock(700, 3_000));
        assert_eq!(shown(&statements), [(2.0, 0.0, 0.0)]);
    }
}
