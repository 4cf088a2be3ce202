//! `sys.dm_exec_cached_plans`: the compiled programs in the plan cache.

use std::sync::Arc;

use ::plan::program::RoutineKind;
use ::plan::stats::{Origin, ProgramBooks};
use metadata::column::{
    ADDRESS, Column, INT, binary, col, int, nv, rows, shape, text, unknown, vb,
};
use metadata::{Rows, Scope, SystemView};

/// A cached program: a row of the view.
struct PlanRow {
    books: Arc<ProgramBooks>,
    /// `refcounts`: the number of caches that refer to it.
    references: usize,
    executions: u64,
}

impl PlanRow {
    fn object_type(&self) -> &'static str {
        match &self.books.origin {
            Origin::Batch => "Adhoc",
            Origin::Prepared(_) | Origin::Template(_) => "Prepared",
            Origin::Procedure(module) if module.kind == Some(RoutineKind::Trigger) => "Trigger",
            Origin::Procedure(_) => "Proc",
        }
    }
}

const COLUMNS: &[Column<PlanRow>] = &[
    // The cache has no numbered buckets.
    unknown("bucketid", INT),
    col("refcounts", INT, |r| int(r.references)),
    col("usecounts", INT, |r| int(r.executions)),
    unknown("size_in_bytes", INT),
    unknown("memory_object_address", ADDRESS),
    col("cacheobjtype", nv(34), |_| text("Compiled Plan")),
    col("objtype", nv(16), |r| text(r.object_type())),
    col("plan_handle", vb(64), |r| binary(r.books.plan_handle().bytes())),
    // 2 is the pool `default`.
    col("pool_id", INT, |_| int(2)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_cached_plans",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let statistics = &scope.session.instance.statistics;
    let row = |books: Arc<ProgramBooks>| {
        // Minus the reference that this function has just taken.
        let references = Arc::strong_count(&books.program()?) - 1;
        let executions = statistics.fold(books.id()).executions;
        Some(PlanRow { books, references, executions })
    };
    rows(COLUMNS, statistics.programs().into_iter().filter_map(row))
}
