//! `sys.dm_os_log_flushes`: how long flushes of the log took, and how many commits each had, as
//! histograms by powers of two. SQL Server has no such view.

use metadata::column::{BIGINT, Column, big, col, nv, opt, rows, shape, text};
use metadata::{RowSet, Rows, Scope, SystemView};
use types::Value;

const COLUMNS: &[Column<Row>] = &[
    col("measure", nv(60), |r| text(r.measure)),
    col("low", BIGINT, |r| big(r.low)),
    // The last class has no upper end.
    opt("high", BIGINT, |r| r.high.map_or(Value::Null, big)),
    col("flush_count", BIGINT, |r| big(r.count)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_log_flushes",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Row {
    measure: &'static str,
    low: u64,
    high: Option<u64>,
    count: u64,
}

fn read(scope: &Scope<'_>) -> Rows {
    let Some(durable) = scope.session.instance.durable() else { return Ok(RowSet::default()) };
    let stats = durable.log_stats();
    let measures =
        [("flush latency (us)", &stats.flush_us), ("commits per flush", &stats.commits_per_flush)];
    let all = measures.into_iter().flat_map(|(measure, classes)| {
        let last = classes.len() - 1;
        classes.iter().enumerate().filter(|(_, count)| **count > 0).map(move |(class, count)| {
            let low = if class == 0 { 0 } else { 1 << (class - 1) };
            let high = (class < last).then(|| (1 << class) - 1);
            Row { measure, low, high, count: *count }
        })
    });
    rows(COLUMNS, all)
}
