//! `sys.dm_exec_text_query_plan`: as `sys.dm_exec_query_plan`, for the statement between two offsets.
//!
//! The offsets are those of `sys.dm_exec_query_stats`: bytes of the text in UTF-16, 0 and -1 for its
//! start and its end.

use types::Value;

use crate::dm_exec_query_plan::{PlanRow, found};
use metadata::column::{
    BIT, Column, INT, NVMAX, SMALLINT, bit, col, int, opt, or_null, rows, shape, small, text,
};
use metadata::{RowSet, Rows, Scope, SystemView};

const COLUMNS: &[Column<PlanRow>] = &[
    opt("dbid", SMALLINT, |r| or_null(r.books.module(), |m| small(m.database_id))),
    opt("objectid", INT, |r| or_null(r.books.module(), |m| int(m.object_id))),
    opt("number", SMALLINT, |r| or_null(r.books.module(), |_| small(1))),
    col("encrypted", BIT, |r| bit(r.books.is_encrypted())),
    opt("query_plan", NVMAX, |r| or_null(r.document.as_deref(), text)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_text_query_plan",
    columns: || shape(COLUMNS),
    rows: read_range,
    arity: 3,
};

fn read_range(scope: &Scope<'_>) -> Rows {
    let offset = |place: usize, default: u32| match scope.arguments.get(place) {
        Some(Value::Int(n)) => u32::try_from(*n).unwrap_or(default),
        _ => default,
    };
    let (start, end) = (offset(1, 0), offset(2, u32::MAX));
    let Some(Value::VarBinary(handle)) = scope.arguments.first() else {
        return Ok(RowSet::default());
    };
    let Some(books) = scope.session.instance.statistics.find(handle) else {
        return Ok(RowSet::default());
    };
    // Converts a byte offset in the compiled text to one in the whole text in UTF-16.
    let prefix = u32::try_from(books.prefix().encode_utf16().count() * 2).unwrap_or(0);
    let source = &books.source;
    let mut offsets = tsql::Utf16Offsets::new(source);
    let mut place = |at: usize| {
        sos::sched::yield_if_quantum_due();
        prefix.saturating_add(offsets.at(u32::try_from(at).unwrap_or(u32::MAX)))
    };
    let boundaries = || source.char_indices().map(|(at, _)| at);
    let first = boundaries().find(|at| place(*at) >= start).unwrap_or(source.len());
    let last = boundaries().take_while(|at| place(*at) <= end).last().unwrap_or(0);
    let bytes = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    rows(COLUMNS, found(scope, Some((bytes(first), bytes(last)))))
}
