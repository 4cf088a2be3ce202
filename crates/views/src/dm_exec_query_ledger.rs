//! `sys.dm_exec_query_ledger`: the time of cached statements by category. The keys are those of
//! `sys.dm_exec_query_stats`; statements that are not queries, and time outside any statement, have
//! rows too.

use std::sync::Arc;

use sos::clock::ticks_to_ns;

use ::plan::stats::{COMPILE, OVERFLOW, Part, StatementRow, Totals, statements};
use metadata::column::{
    BIGINT, Column, INT, big, binary, col, int, nv, opt, or_null, rows, shape, text, vb,
};
use metadata::{Rows, Scope, SystemView};

/// One category of a statement's time.
struct LedgerRow {
    of: Option<Arc<StatementRow>>,
    name: &'static str,
    part: Part,
    executions: u64,
    timed: u64,
    total: u64,
    last: u64,
}

const COLUMNS: &[Column<LedgerRow>] = &[
    opt("sql_handle", vb(64), |r| {
        or_null(r.of.as_ref(), |of| binary(of.books.sql_handle().bytes()))
    }),
    opt("statement_start_offset", INT, |r| or_null(r.of.as_ref(), |of| int(of.start))),
    opt("statement_end_offset", INT, |r| or_null(r.of.as_ref(), |of| int(of.end))),
    opt("plan_handle", vb(64), |r| {
        or_null(r.of.as_ref(), |of| binary(of.books.plan_handle().bytes()))
    }),
    col("execution_count", BIGINT, |r| big(r.executions)),
    col("timed_count", BIGINT, |r| big(r.timed)),
    col("category", nv(60), |r| text(r.part.name())),
    col("name", nv(120), |r| text(r.name)),
    col("total_ns", BIGINT, |r| big(ticks_to_ns(r.total))),
    col("last_ns", BIGINT, |r| big(ticks_to_ns(r.last))),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_query_ledger",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let statistics = &scope.session.instance.statistics;
    let mut found = Vec::new();
    for row in statements(statistics) {
        let totals = row.totals.clone();
        push(Some(&Arc::new(row)), "statement", &totals, &mut found);
    }
    push(None, "compilation", &statistics.fold(COMPILE), &mut found);
    push(None, "statements beyond the limit", &statistics.fold(OVERFLOW), &mut found);
    rows(COLUMNS, found)
}

/// Adds a row for each category whose time is not 0.
fn push(
    of: Option<&Arc<StatementRow>>,
    name: &'static str,
    totals: &Totals,
    found: &mut Vec<LedgerRow>,
) {
    let shown = Part::ALL.map(|part| (part, totals.spend.shown(part)));
    for (part, total) in shown.into_iter().filter(|(_, total)| *total > 0) {
        found.push(LedgerRow {
            of: of.map(Arc::clone),
            name,
            part,
            executions: totals.executions,
            timed: totals.timed,
            total,
            last: totals.last.shown(part),
        });
    }
}
