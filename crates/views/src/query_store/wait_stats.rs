//! `sys.query_store_wait_stats`: what executions have waited for, by category.

use ::plan::stats::CATEGORY_NAMES;
use ::query_store::store::{Ending, Wait};
use metadata::column::{BIGINT, Column, FLOAT, TINYINT, big, col, nv, opt, rows, shape, text};
use metadata::{Rows, Scope};
use types::Value;

use super::{SystemView, float, whole};

/// A row of the view. Times are in milliseconds.
struct WaitRow {
    plan: i64,
    interval: i64,
    ending: Ending,
    category: u8,
    wait: Wait,
}

impl WaitRow {
    #[expect(clippy::cast_precision_loss, reason = "an average is taken by it")]
    fn executions(&self) -> f64 {
        self.wait.executions as f64
    }
}

const COLUMNS: &[Column<WaitRow>] = &[
    col("wait_stats_id", BIGINT, |r| big(r.wait.id)),
    col("plan_id", BIGINT, |r| big(r.plan)),
    col("runtime_stats_interval_id", BIGINT, |r| big(r.interval)),
    col("wait_category", TINYINT, |r| Value::TinyInt(r.category)),
    opt("wait_category_desc", nv(128), |r| {
        text(CATEGORY_NAMES.get(usize::from(r.category)).copied().unwrap_or_default())
    }),
    col("execution_type", TINYINT, |r| Value::TinyInt(r.ending as u8)),
    opt("execution_type_desc", nv(128), |r| text(r.ending.name())),
    col("total_query_wait_time_ms", BIGINT, |r| whole(r.wait.time.total)),
    opt("avg_query_wait_time_ms", FLOAT, |r| float(r.wait.time.average(r.executions()))),
    opt("last_query_wait_time_ms", BIGINT, |r| whole(r.wait.time.last)),
    opt("min_query_wait_time_ms", BIGINT, |r| whole(r.wait.time.least(r.executions()))),
    opt("max_query_wait_time_ms", BIGINT, |r| whole(r.wait.time.most(r.executions()))),
    opt("stdev_query_wait_time_ms", FLOAT, |r| float(r.wait.time.deviation())),
    opt("replica_group_id", BIGINT, |_| big(1)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "query_store_wait_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let found = super::read(scope, |store| {
        let mut found = Vec::new();
        for (&(plan, interval, ending), runtime) in &store.runtime {
            for (&category, wait) in &runtime.waits {
                let wait = Wait { time: wait.time.scaled(0.001), ..*wait };
                found.push(WaitRow { plan, interval, ending, category, wait });
            }
        }
        found
    });
    rows(COLUMNS, found)
}
