//! `sys.dm_exec_procedure_stats`: resources used by cached procedures, including everything that
//! they called.

use std::sync::Arc;

use ::plan::program::RoutineKind;
use ::plan::stats::{Module, ProgramBooks, Totals};
use ::session::instance::datetime_of;
use metadata::column::{
    BIGINT, Column, DATETIME, INT, ascii, big, binary, ch, col, int, nv, opt, rows, shape, text,
    us, vb,
};
use metadata::{Rows, Scope, SystemView};

/// A cached module: a row of the view.
pub(crate) struct ModuleRow {
    books: Arc<ProgramBooks>,
    pub(crate) module: Module,
    totals: Totals,
}

impl ModuleRow {
    /// Returns `type` and `type_desc`.
    fn kind(&self) -> (&'static str, &'static str) {
        match self.module.kind {
            None => ("P ", "SQL_STORED_PROCEDURE"),
            Some(RoutineKind::Trigger) => ("TR", "SQL_TRIGGER"),
            Some(RoutineKind::Function) => ("FN", "SQL_SCALAR_FUNCTION"),
        }
    }
}

/// The columns, which the views of triggers and functions have too.
pub(crate) const COLUMNS: &[Column<ModuleRow>] = &[
    col("database_id", INT, |r| int(r.module.database_id)),
    col("object_id", INT, |r| int(r.module.object_id)),
    opt("type", ch(2), |r| ascii(r.kind().0)),
    opt("type_desc", nv(60), |r| text(r.kind().1)),
    col("sql_handle", vb(64), |r| binary(r.books.sql_handle().bytes())),
    col("plan_handle", vb(64), |r| binary(r.books.plan_handle().bytes())),
    opt("cached_time", DATETIME, |r| datetime_of(r.books.created)),
    // A request that compiled the program began before there was one.
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
    rows(COLUMNS, modules(scope, None))
}

/// Returns the cached modules of a kind that have run; `None` for procedures.
pub(crate) fn modules(
    scope: &Scope<'_>,
    kind: Option<RoutineKind>,
) -> impl Iterator<Item = ModuleRow> {
    let statistics = &scope.session.instance.statistics;
    let row = move |books: Arc<ProgramBooks>| {
        let module = books.module().filter(|module| module.kind == kind)?;
        let totals = statistics.fold(books.id());
        Some(ModuleRow { books, module, totals })
    };
    statistics.programs().into_iter().filter_map(row).filter(|r| r.totals.timed > 0)
}
