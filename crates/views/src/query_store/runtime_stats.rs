//! `sys.query_store_runtime_stats`: executions of plans by interval and by how they have ended. Times
//! are in microseconds.

use ::query_store::Measure;
use ::query_store::store::{Ending, Runtime};
use metadata::column::{
    BIGINT, Column, FLOAT, TINYINT, big, col, nv, opt, rows, shape, text, unknown,
};
use metadata::{Rows, Scope};
use types::Value;

use super::{MOMENT, SystemView, float, moment, whole};

/// A row of the view.
struct RuntimeRow {
    plan: i64,
    interval: i64,
    ending: Ending,
    runtime: Runtime,
}

impl RuntimeRow {
    #[expect(clippy::cast_precision_loss, reason = "an average is taken by it")]
    fn executions(&self) -> f64 {
        self.runtime.executions as f64
    }

    fn duration(&self) -> &Measure {
        &self.runtime.duration
    }

    fn cpu(&self) -> &Measure {
        &self.runtime.cpu
    }

    fn degree(&self) -> &Measure {
        &self.runtime.degree
    }

    fn rows(&self) -> &Measure {
        &self.runtime.rows
    }

    fn reads(&self) -> &Measure {
        &self.runtime.reads
    }

    fn writes(&self) -> &Measure {
        &self.runtime.writes
    }
}

const COLUMNS: &[Column<RuntimeRow>] = &[
    col("runtime_stats_id", BIGINT, |r| big(r.runtime.id)),
    col("plan_id", BIGINT, |r| big(r.plan)),
    col("runtime_stats_interval_id", BIGINT, |r| big(r.interval)),
    col("execution_type", TINYINT, |r| Value::TinyInt(r.ending as u8)),
    opt("execution_type_desc", nv(128), |r| text(r.ending.name())),
    col("first_execution_time", MOMENT, |r| moment(r.runtime.first)),
    col("last_execution_time", MOMENT, |r| moment(r.runtime.last)),
    col("count_executions", BIGINT, |r| big(r.runtime.executions)),
    opt("avg_duration", FLOAT, |r| float(r.duration().average(r.executions()))),
    opt("last_duration", BIGINT, |r| whole(r.duration().last)),
    opt("min_duration", BIGINT, |r| whole(r.duration().least(r.executions()))),
    opt("max_duration", BIGINT, |r| whole(r.duration().most(r.executions()))),
    opt("stdev_duration", FLOAT, |r| float(r.duration().deviation())),
    opt("avg_cpu_time", FLOAT, |r| float(r.cpu().average(r.executions()))),
    opt("last_cpu_time", BIGINT, |r| whole(r.cpu().last)),
    opt("min_cpu_time", BIGINT, |r| whole(r.cpu().least(r.executions()))),
    opt("max_cpu_time", BIGINT, |r| whole(r.cpu().most(r.executions()))),
    opt("stdev_cpu_time", FLOAT, |r| float(r.cpu().deviation())),
    // Row versions, not pages: docs/decisions/0395.
    opt("avg_logical_io_reads", FLOAT, |r| float(r.reads().average(r.executions()))),
    opt("last_logical_io_reads", BIGINT, |r| whole(r.reads().last)),
    opt("min_logical_io_reads", BIGINT, |r| whole(r.reads().least(r.executions()))),
    opt("max_logical_io_reads", BIGINT, |r| whole(r.reads().most(r.executions()))),
    opt("stdev_logical_io_reads", FLOAT, |r| float(r.reads().deviation())),
    opt("avg_logical_io_writes", FLOAT, |r| float(r.writes().average(r.executions()))),
    opt("last_logical_io_writes", BIGINT, |r| whole(r.writes().last)),
    opt("min_logical_io_writes", BIGINT, |r| whole(r.writes().least(r.executions()))),
    opt("max_logical_io_writes", BIGINT, |r| whole(r.writes().most(r.executions()))),
    opt("stdev_logical_io_writes", FLOAT, |r| float(r.writes().deviation())),
    // 0: nothing is read from disk. Memory grants, log and tempdb are not counted per statement: NULL.
    opt("avg_physical_io_reads", FLOAT, |_| float(0.0)),
    opt("last_physical_io_reads", BIGINT, |_| big(0)),
    opt("min_physical_io_reads", BIGINT, |_| big(0)),
    opt("max_physical_io_reads", BIGINT, |_| big(0)),
    opt("stdev_physical_io_reads", FLOAT, |_| float(0.0)),
    opt("avg_clr_time", FLOAT, |_| float(0.0)),
    opt("last_clr_time", BIGINT, |_| big(0)),
    opt("min_clr_time", BIGINT, |_| big(0)),
    opt("max_clr_time", BIGINT, |_| big(0)),
    opt("stdev_clr_time", FLOAT, |_| float(0.0)),
    opt("avg_dop", FLOAT, |r| float(r.degree().average(r.executions()))),
    opt("last_dop", BIGINT, |r| whole(r.degree().last)),
    opt("min_dop", BIGINT, |r| whole(r.degree().least(r.executions()))),
    opt("max_dop", BIGINT, |r| whole(r.degree().most(r.executions()))),
    opt("stdev_dop", FLOAT, |r| float(r.degree().deviation())),
    unknown("avg_query_max_used_memory", FLOAT),
    unknown("last_query_max_used_memory", BIGINT),
    unknown("min_query_max_used_memory", BIGINT),
    unknown("max_query_max_used_memory", BIGINT),
    unknown("stdev_query_max_used_memory", FLOAT),
    opt("avg_rowcount", FLOAT, |r| float(r.rows().average(r.executions()))),
    opt("last_rowcount", BIGINT, |r| whole(r.rows().last)),
    opt("min_rowcount", BIGINT, |r| whole(r.rows().least(r.executions()))),
    opt("max_rowcount", BIGINT, |r| whole(r.rows().most(r.executions()))),
    opt("stdev_rowcount", FLOAT, |r| float(r.rows().deviation())),
    opt("avg_num_physical_io_reads", FLOAT, |_| float(0.0)),
    opt("last_num_physical_io_reads", BIGINT, |_| big(0)),
    opt("min_num_physical_io_reads", BIGINT, |_| big(0)),
    opt("max_num_physical_io_reads", BIGINT, |_| big(0)),
    opt("stdev_num_physical_io_reads", FLOAT, |_| float(0.0)),
    unknown("avg_log_bytes_used", FLOAT),
    unknown("last_log_bytes_used", BIGINT),
    unknown("min_log_bytes_used", BIGINT),
    unknown("max_log_bytes_used", BIGINT),
    unknown("stdev_log_bytes_used", FLOAT),
    unknown("avg_tempdb_space_used", FLOAT),
    unknown("last_tempdb_space_used", BIGINT),
    unknown("min_tempdb_space_used", BIGINT),
    unknown("max_tempdb_space_used", BIGINT),
    unknown("stdev_tempdb_space_used", FLOAT),
    opt("avg_page_server_io_reads", FLOAT, |_| float(0.0)),
    opt("last_page_server_io_reads", BIGINT, |_| big(0)),
    opt("min_page_server_io_reads", BIGINT, |_| big(0)),
    opt("max_page_server_io_reads", BIGINT, |_| big(0)),
    opt("stdev_page_server_io_reads", FLOAT, |_| float(0.0)),
    opt("replica_group_id", BIGINT, |_| big(1)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "query_store_runtime_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let found = super::read(scope, |store| {
        let row = |(&(plan, interval, ending), runtime): (&(i64, i64, Ending), &Runtime)| {
            RuntimeRow { plan, interval, ending, runtime: runtime.clone() }
        };
        store.runtime.iter().map(row).collect()
    });
    rows(COLUMNS, found)
}
