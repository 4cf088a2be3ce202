//! `sys.dm_exec_procedure_stats`: resources used by cached procedures, including everything that
//! they called.

use std::sync::Arc;

use ::plan::stats::{Module, ProgramBooks, Totals};
use ::session::instance::datetime_of;
use metadata::column::{
    BIGINT, Column, DATETIME, INT, ascii, big, binary, ch, col, int, nv, opt, rows, shape, text,
    us, vb,
};
use metadata::{Rows, Scope, SystemView};

/// A cached procedure: a row of the view.
struct ProcedureRow {
    books: Arc<ProgramBooks>,
    module: Module,
    totals: Totals,
}

const COLUMNS: &[Column<ProcedureRow>] = &[
    col("database_id", INT, |r| int(r.module.database_id)),
    col("object_id", INT, |r| int(r.module.object_id)),
    opt("type", ch(2), |_| ascii("P ")),
    opt("type_desc", nv(60), |_| text("SQL_STORED_PROCEDURE")),
    col("sql_handle", vb(64), |r| binary(r.books.sql_handle().bytes())),
    col("plan_handle", vb(64), |r| binary(r.books.plan_handle().bytes())),
    opt("cached_time", DATETIME, |r| datetime_of(r.books.created)),
    opt("last_execution_time", DATETIME, |r| datetime_of(r.totals.last_start)),
    col("execution_count", BIGINT, |r| big(r.totals.executions)),
    col("total_worker_time", BIGINT, |r| us(r.totals.worker.total)),
    col("last_worker_time", BIGINT, |r| us(r.totals.worker.last)),
    col("min_worker_time", BIGINT, |r| us(r.totals.worker.least)),
    col("max_worker_time", BIGINT, |r| us(r.totals.worker.most)),
    // 0, as SQL Server shows for tables in memory: no pages or files are read.
    col("total_physical_reads", BIGINT, |_| big(0)),
    col("last_physical_reads", BIGINT, |_| big(0)),
    col("min_physical_reads", BIGINT, |_| big(0)),
    col("max_physical_reads", BIGINT, |_| big(0)),
    col("total_logical_writes", BIGINT, |_| big(0)),
    col("last_logical_writes", BIGINT, |_| big(0)),
    col("min_logical_writes", BIGINT, |_| big(0)),
    col("max_logical_writes", BIGINT, |_| big(0)),
    col("total_logical_reads", BIGINT, |_| big(0)),
    col("last_logical_reads", BIGINT, |_| big(0)),
    col("min_logical_reads", BIGINT, |_| big(0)),
    col("max_logical_reads", BIGINT, |_| big(0)),
    col("total_elapsed_time", BIGINT, |r| us(r.totals.elapsed.total)),
    col("last_elapsed_time", BIGINT, |r| us(r.totals.elapsed.last)),
    col("min_elapsed_time", BIGINT, |r| us(r.totals.elapsed.least)),
    col("max_elapsed_time", BIGINT, |r| us(r.totals.elapsed.most)),
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
    name: "dm_exec_procedure_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let statistics = &scope.session.instance.statistics;
    let row = |books: Arc<ProgramBooks>| {
        let (module, totals) = (books.module()?, statistics.fold(books.id()));
        Some(ProcedureRow { books, module, totals })
    };
    let found = statistics.programs().into_iter().filter_map(row);
    rows(COLUMNS, found.filter(|r| r.totals.timed > 0))
}
