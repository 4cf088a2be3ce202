//! `sys.query_store_query_hints`: hints that queries are compiled with.

use ::query_store::store::Hint;
use metadata::column::{
    BIGINT, Column, INT, NVMAX, big, col, int, nv, opt, or_null, rows, shape, text,
};
use metadata::{Rows, Scope};

use super::SystemView;

const COLUMNS: &[Column<(i64, Hint)>] = &[
    col("query_hint_id", BIGINT, |r| big(r.1.id)),
    col("query_id", BIGINT, |r| big(r.0)),
    col("replica_group_id", BIGINT, |_| big(1)),
    opt("query_hint_text", NVMAX, |r| text(&r.1.text)),
    opt("last_query_hint_failure_reason", INT, |r| int(r.1.reason)),
    opt("last_query_hint_failure_reason_desc", nv(128), |r| {
        text(match r.1.reason {
            0 => "NONE",
            309 => "XMLIDX_IN_HINTS",
            321 => "INVALID_TABLE_HINT",
            1017 => "DUPLICATE_HINTS",
            1042 => "CONFLICTING_OPTIMIZER_HINTS",
            1047 => "CONFLICTING_LOCKING_HINTS",
            8622 => "NO_PLAN",
            _ => "GENERAL_FAILURE",
        })
    }),
    opt("query_hint_failure_count", BIGINT, |r| big(r.1.failures)),
    col("source", INT, |_| int(0)),
    opt("source_desc", nv(128), |_| text("User")),
    opt("comment", NVMAX, |r| or_null(r.1.comment.as_deref(), text)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "query_store_query_hints",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let hints = super::read(scope, |store| {
        store.hints.iter().map(|(query, hint)| (*query, hint.clone())).collect()
    });
    rows(COLUMNS, hints)
}
