//! `sys.dm_exec_query_plan`: the plans of a cached program, by its `plan_handle`.
//!
//! Statements are bound when they first run: one that has not run yet has no plan to show.

use std::sync::Arc;

use types::{DataType, Value};

use ::explain::cached_document;
use ::plan::stats::ProgramBooks;
use metadata::column::{
    BIT, Column, INT, SMALLINT, bit, col, int, opt, or_null, rows, shape, small, text,
};
use metadata::{Rows, Scope, SystemView};

/// A program with the document of its plans.
pub(crate) struct PlanRow {
    pub(crate) books: Arc<ProgramBooks>,
    pub(crate) document: Option<String>,
}

const COLUMNS: &[Column<PlanRow>] = &[
    opt("dbid", SMALLINT, |r| or_null(r.books.module(), |m| small(m.database_id))),
    opt("objectid", INT, |r| or_null(r.books.module(), |m| int(m.object_id))),
    opt("number", SMALLINT, |r| or_null(r.books.module(), |_| small(1))),
    col("encrypted", BIT, |r| bit(r.books.is_encrypted())),
    opt("query_plan", DataType::Xml, |r| or_null(r.document.as_deref(), text)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_query_plan",
    columns: || shape(COLUMNS),
    rows: read_all,
    arity: 1,
};

fn read_all(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, found(scope, None))
}

/// Finds the program; the document is of the statements that begin in a range of the text.
pub(crate) fn found(scope: &Scope<'_>, range: Option<(u32, u32)>) -> Option<PlanRow> {
    let Some(Value::VarBinary(handle)) = scope.arguments.first() else { return None };
    let found = scope.session.instance.statistics.find(handle);
    found.map(|books| row_of(books, scope, range))
}

/// Returns a program with its document, of the statements that begin in a range of the text.
pub(crate) fn row_of(
    books: Arc<ProgramBooks>,
    scope: &Scope<'_>,
    range: Option<(u32, u32)>,
) -> PlanRow {
    let program = books.program();
    let session = &scope.session;
    let schedulers = session.instance.machine.scheduler_count();
    let world = (&*session.catalog, &*session.identity.database, schedulers);
    let document = program.and_then(|program| cached_document(&program, world, range));
    PlanRow { books, document }
}
