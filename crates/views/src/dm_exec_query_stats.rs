//! `sys.dm_exec_query_stats`: resources used by cached statements that read or change rows.

use ::plan::stats::{StatementRow, statements};
use ::session::instance::datetime_of;
use metadata::column::{
    BIGINT, Column, DATETIME, INT, big, bin, binary, col, int, opt, rows, shape, unknown, us, vb,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<StatementRow>] = &[
    col("sql_handle", vb(64), |r| binary(r.books.sql_handle().bytes())),
    col("statement_start_offset", INT, |r| int(r.start)),
    col("statement_end_offset", INT, |r| int(r.end)),
    col("plan_generation_num", BIGINT, |r| big(r.books.compilations())),
    col("plan_handle", vb(64), |r| binary(r.books.plan_handle().bytes())),
    opt("creation_time", DATETIME, |r| datetime_of(r.books.created)),
    // A request that compiled the plan began before there was one.
    opt("last_execution_time", DATETIME, |r| datetime_of(r.totals.last_start.max(r.books.created))),
    col("execution_count", BIGINT, |r| big(r.totals.executions)),
    col("total_worker_time", BIGINT, |r| us(r.totals.worker.total)),
    col("last_worker_time", BIGINT, |r| us(r.totals.worker.last)),
    col("min_worker_time", BIGINT, |r| us(r.totals.worker.least)),
    col("max_worker_time", BIGINT, |r| us(r.totals.worker.most)),
    // 0: nothing is read from disk.
    col("total_physical_reads", BIGINT, |_| big(0)),
    col("last_physical_reads", BIGINT, |_| big(0)),
    col("min_physical_reads", BIGINT, |_| big(0)),
    col("max_physical_reads", BIGINT, |_| big(0)),
    // Row versions, not pages: docs/decisions/0395.
    col("total_logical_writes", BIGINT, |r| big(r.totals.writes.total)),
    col("last_logical_writes", BIGINT, |r| big(r.totals.writes.last)),
    col("min_logical_writes", BIGINT, |r| big(r.totals.writes.least)),
    col("max_logical_writes", BIGINT, |r| big(r.totals.writes.most)),
    col("total_logical_reads", BIGINT, |r| big(r.totals.reads.total)),
    col("last_logical_reads", BIGINT, |r| big(r.totals.reads.last)),
    col("min_logical_reads", BIGINT, |r| big(r.totals.reads.least)),
    col("max_logical_reads", BIGINT, |r| big(r.totals.reads.most)),
    col("total_clr_time", BIGINT, |_| big(0)),
    col("last_clr_time", BIGINT, |_| big(0)),
    col("min_clr_time", BIGINT, |_| big(0)),
    col("max_clr_time", BIGINT, |_| big(0)),
    col("total_elapsed_time", BIGINT, |r| us(r.totals.elapsed.total)),
    col("last_elapsed_time", BIGINT, |r| us(r.totals.elapsed.last)),
    col("min_elapsed_time", BIGINT, |r| us(r.totals.elapsed.least)),
    col("max_elapsed_time", BIGINT, |r| us(r.totals.elapsed.most)),
    opt("query_hash", bin(8), |r| binary(&r.query_hash)),
    opt("query_plan_hash", bin(8), |r| binary(&r.plan_hash.unwrap_or_default())),
    col("total_rows", BIGINT, |r| big(r.totals.rows.total)),
    col("last_rows", BIGINT, |r| big(r.totals.rows.last)),
    col("min_rows", BIGINT, |r| big(r.totals.rows.least)),
    col("max_rows", BIGINT, |r| big(r.totals.rows.most)),
    // Set only for statements in the Query Store, which does not exist here.
    unknown("statement_sql_handle", vb(64)),
    unknown("statement_context_id", BIGINT),
    col("total_dop", BIGINT, |r| big(r.totals.degree().total)),
    col("last_dop", BIGINT, |r| big(r.totals.degree().last)),
    col("min_dop", BIGINT, |r| big(r.totals.degree().least)),
    col("max_dop", BIGINT, |r| big(r.totals.degree().most)),
    // Grants, spills and segments are not counted per statement. The degree of parallelism gives
    // the number of additional threads.
    col("total_grant_kb", BIGINT, |_| big(0)),
    col("last_grant_kb", BIGINT, |_| big(0)),
    col("min_grant_kb", BIGINT, |_| big(0)),
    col("max_grant_kb", BIGINT, |_| big(0)),
    col("total_used_grant_kb", BIGINT, |_| big(0)),
    col("last_used_grant_kb", BIGINT, |_| big(0)),
    col("min_used_grant_kb", BIGINT, |_| big(0)),
    col("max_used_grant_kb", BIGINT, |_| big(0)),
    col("total_ideal_grant_kb", BIGINT, |_| big(0)),
    col("last_ideal_grant_kb", BIGINT, |_| big(0)),
    col("min_ideal_grant_kb", BIGINT, |_| big(0)),
    col("max_ideal_grant_kb", BIGINT, |_| big(0)),
    col("total_reserved_threads", BIGINT, |r| big(r.totals.degrees.total)),
    col("last_reserved_threads", BIGINT, |r| big(r.totals.last_threads())),
    col("min_reserved_threads", BIGINT, |r| big(r.totals.least_threads())),
    col("max_reserved_threads", BIGINT, |r| big(r.totals.degrees.most)),
    col("total_used_threads", BIGINT, |r| big(r.totals.degrees.total)),
    col("last_used_threads", BIGINT, |r| big(r.totals.last_threads())),
    col("min_used_threads", BIGINT, |r| big(r.totals.least_threads())),
    col("max_used_threads", BIGINT, |r| big(r.totals.degrees.most)),
    col("total_columnstore_segment_reads", BIGINT, |_| big(0)),
    col("last_columnstore_segment_reads", BIGINT, |_| big(0)),
    col("min_columnstore_segment_reads", BIGINT, |_| big(0)),
    col("max_columnstore_segment_reads", BIGINT, |_| big(0)),
    col("total_columnstore_segment_skips", BIGINT, |_| big(0)),
    col("last_columnstore_segment_skips", BIGINT, |_| big(0)),
    col("min_columnstore_segment_skips", BIGINT, |_| big(0)),
    col("max_columnstore_segment_skips", BIGINT, |_| big(0)),
    col("total_spills", BIGINT, |_| big(0)),
    col("last_spills", BIGINT, |_| big(0)),
    col("min_spills", BIGINT, |_| big(0)),
    col("max_spills", BIGINT, |_| big(0)),
    col("total_page_server_reads", BIGINT, |_| big(0)),
    col("last_page_server_reads", BIGINT, |_| big(0)),
    col("min_page_server_reads", BIGINT, |_| big(0)),
    col("max_page_server_reads", BIGINT, |_| big(0)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_query_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let found = statements(&scope.session.instance.statistics);
    // Nothing was timed yet: the first execution is still running.
    rows(COLUMNS, found.into_iter().filter(|r| r.is_query && r.totals.timed > 0))
}
