//! `sys.query_store_runtime_stats_interval`: the intervals of statistics.

use ::query_store::store::Interval;
use metadata::column::{BIGINT, Column, big, col, nv, rows, shape, unknown};
use metadata::{Rows, Scope};

use super::{MOMENT, SystemView, moment};

const COLUMNS: &[Column<(i64, Interval)>] = &[
    col("runtime_stats_interval_id", BIGINT, |r| big(r.0)),
    col("start_time", MOMENT, |r| moment(r.1.start)),
    col("end_time", MOMENT, |r| moment(r.1.end)),
    unknown("comment", nv(32)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "query_store_runtime_stats_interval",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let found = super::read(scope, |store| {
        store.intervals.iter().map(|(id, interval)| (*id, *interval)).collect()
    });
    rows(COLUMNS, found)
}
