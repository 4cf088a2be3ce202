//! Rows of the ledger's views: closed books with the share that each row has of the time in which
//! threads were not idle.

use sos::ledger::{Category, LedgerRow, Source};
use types::{DataType, Value};

use super::column::{BIGINT, Column, FLOAT, big, col, nv, opt, or_null, text};

/// A row of the closed books, and what part of them it is.
#[derive(Clone, Debug)]
pub struct TimeRow {
    row: LedgerRow,
    /// The part of the time in which threads were not idle: 0 for idle time. None if there was no
    /// other.
    share: Option<f64>,
    /// One standard error of the share, where the row was sampled.
    share_error: Option<f64>,
    source: Source,
}

/// Gives each row its share. Those of one call make up 1: nothing is counted twice, and no row is a
/// total of others.
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

/// The columns that all views of the ledger have; a view with others before or behind them reads its
/// own rows as these.
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

/// Names and types of [`COLUMNS`] between those of others.
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

/// Values of [`COLUMNS`] between those of others.
pub fn values(before: &[Value], row: &TimeRow, behind: &[Value]) -> Vec<Value> {
    let own = super::column::values(COLUMNS, row);
    before.iter().cloned().chain(own).chain(behind.iter().cloned()).collect()
}
