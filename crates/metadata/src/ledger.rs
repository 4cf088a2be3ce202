//! Rows of the time ledger's views: closed books, each with its share of the time in which threads
//! were not idle.

use sos::ledger::{Category, LedgerRow, Source};
use types::{DataType, Value};

use super::column::{BIGINT, Column, FLOAT, big, col, nv, opt, or_null, text};

/// A row of closed books and its share of them.
#[derive(Clone, Debug)]
pub struct TimeRow {
    row: LedgerRow,
    /// Share of the non-idle time, 0 to 1; 0 for idle time, `None` if all time was idle.
    share: Option<f64>,
    /// One standard error of the share, for sampled rows.
    share_error: Option<f64>,
    source: Source,
}

/// Computes each row's share. The shares of one call add up to 1: no time is in two rows, and no
/// row is a total of others.
pub fn time_rows(rows: Vec<LedgerRow>, source: Source) -> Vec<TimeRow> {
    let busy = |row: &LedgerRow| row.category != Category::Idle;
    let busy_ns: u64 = rows.iter().filter(|row| busy(row)).map(|row| row.wall_ns).sum();
    let share = |ns: u64| (busy_ns > 0).then(|| as_float(ns) / as_float(busy_ns));
    let of = |row: LedgerRow| TimeRow {
        share: share(if busy(&row) { row.wall_ns } else { 0 }),
        share_error: row.error_ns.and_then(share),
        source,
        row,
    };
    rows.into_iter().map(of).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for people: 53 bits of ns are 104 days")]
fn as_float(ns: u64) -> f64 {
    ns as f64
}

/// The columns that all views of the ledger have. A view with more columns puts them before or
/// after with [`between`] and [`values`].
pub const COLUMNS: &[Column<TimeRow>] = &[
    col("category", nv(60), |r| text(r.row.category.name())),
    col("name", nv(120), |r| text(r.row.name)),
    col("wall_ns", BIGINT, |r| big(r.row.wall_ns)),
    col("on_cpu_ns", BIGINT, |r| big(r.row.on_cpu_ns)),
    col("runnable_ns", BIGINT, |r| big(r.row.runnable_ns)),
    col("blocked_ns", BIGINT, |r| big(r.row.blocked_ns)),
    col("occurrences", BIGINT, |r| big(r.row.count)),
    opt("share_of_non_idle", FLOAT, |r| or_null(r.share, Value::Float)),
    opt("sampling_error", FLOAT, |r| or_null(r.share_error, Value::Float)),
    col("source", nv(60), |r| text(r.source.name())),
];

/// Returns names and types: those of `before`, of [`COLUMNS`], and of the columns behind.
pub fn between(
    before: &[(&'static str, DataType)],
    behind: &[(&'static str, DataType)],
) -> Vec<(&'static str, types::value::ColumnType)> {
    let plain = |&(name, data_type): &(&'static str, DataType)| {
        let collation = types::Collation::default();
        (name, types::value::ColumnType { data_type, collation, nullable: false })
    };
    let mut shape: Vec<_> = before.iter().map(plain).collect();
    shape.extend(super::column::shape(COLUMNS));
    shape.extend(behind.iter().map(plain));
    shape
}

/// Returns a row: the values of `before`, of [`COLUMNS`], and those of `behind`.
pub fn values(before: &[Value], row: &TimeRow, behind: &[Value]) -> Vec<Value> {
    let own = super::column::values(COLUMNS, row);
    before.iter().cloned().chain(own).chain(behind.iter().cloned()).collect()
}
