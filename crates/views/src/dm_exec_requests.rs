//! `sys.dm_exec_requests`: the requests that are running.

use types::Value;

use metadata::column::{
    ADDRESS, BIGINT, BIT, Column, DATETIME, GUID, INT, REAL, SMALLINT, SYSNAME, big, bin, binary,
    bit, col, int, nv, opt, or_null, rows_needed, shape, small, text, unknown, vb,
};
use metadata::requests::{RequestRow, request_rows};
use metadata::sessions::Switch;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<RequestRow>] = &[
    col("session_id", SMALLINT, |r| Value::SmallInt(r.session.card.id)),
    col("request_id", INT, |_| int(0)),
    col("start_time", DATETIME, |r| r.session.card.last_start()),
    col("status", nv(30), |r| text(r.status())),
    opt("command", nv(32), |r| or_null(r.command(), |command| text(&command))),
    opt("sql_handle", vb(64), |r| or_null(r.books.as_ref(), |b| binary(b.sql_handle().bytes()))),
    opt("statement_start_offset", INT, |r| or_null(r.statement.as_ref(), |s| int(s.start))),
    opt("statement_end_offset", INT, |r| or_null(r.statement.as_ref(), |s| int(s.end))),
    opt("plan_handle", vb(64), |r| or_null(r.books.as_ref(), |b| binary(b.plan_handle().bytes()))),
    col("database_id", SMALLINT, |r| small(r.session.database_id())),
    col("user_id", INT, |_| int(1)),
    opt("connection_id", GUID, |r| r.session.card.connection_id.clone()),
    opt("blocking_session_id", SMALLINT, RequestRow::blocking),
    opt("wait_type", nv(60), |r| or_null(r.wait(), |wait| text(wait.name))),
    col("wait_time", INT, |r| int(r.wait().map_or(0, |wait| wait.ms))),
    opt("last_wait_type", nv(60), |r| or_null(r.last_wait(), text)),
    opt("wait_resource", nv(256), |r| r.resource.as_deref().map_or(Value::Null, text)),
    col("open_transaction_count", INT, |r| int(r.session.card.transactions())),
    unknown("open_resultset_count", INT),
    col("transaction_id", BIGINT, |r| big(r.transaction)),
    unknown("context_info", vb(128)),
    col("percent_complete", REAL, |_| Value::Real(0.0)),
    col("estimated_completion_time", BIGINT, |_| big(0)),
    opt("cpu_time", INT, |r| or_null(r.cpu_ns, |ns| int(ns / 1_000_000))),
    col("total_elapsed_time", INT, |r| int(r.session.card.elapsed_ms())),
    opt("scheduler_id", INT, |r| or_null(r.scheduler(), int)),
    unknown("task_address", ADDRESS),
    // Rows are in memory: nothing is read from disk. Writes and logical reads are row versions:
    // docs/decisions/0395.
    col("reads", BIGINT, |_| big(0)),
    col("writes", BIGINT, |r| big(r.session.card.live.request_io().writes)),
    col("logical_reads", BIGINT, |r| big(r.session.card.live.request_io().reads)),
    col("text_size", INT, |r| int(r.session.facts.options.text_size)),
    opt("language", SYSNAME, |r| text(r.session.facts.options.language.name())),
    opt("date_format", nv(3), |r| text(r.session.date_format())),
    col("date_first", SMALLINT, |r| small(r.session.facts.options.date_first)),
    col("quoted_identifier", BIT, |r| bit(r.session.is(Switch::QuotedIdentifier))),
    col("arithabort", BIT, |r| bit(r.session.is(Switch::ArithAbort))),
    col("ansi_null_dflt_on", BIT, |r| bit(r.session.is(Switch::AnsiNullDefault))),
    col("ansi_defaults", BIT, |_| bit(false)),
    col("ansi_warnings", BIT, |r| bit(r.session.is(Switch::AnsiWarnings))),
    col("ansi_padding", BIT, |r| bit(r.session.is(Switch::AnsiPadding))),
    col("ansi_nulls", BIT, |r| bit(r.session.is(Switch::AnsiNulls))),
    col("concat_null_yields_null", BIT, |r| bit(r.session.is(Switch::ConcatNullYieldsNull))),
    col("transaction_isolation_level", SMALLINT, |r| small(r.session.card.isolation())),
    col("lock_timeout", INT, |r| int(r.session.facts.options.lock_timeout_ms)),
    col("deadlock_priority", INT, |r| int(r.session.facts.options.deadlock_priority)),
    col("row_count", BIGINT, |r| big(r.session.card.rows())),
    col("prev_error", INT, |r| int(r.session.card.error())),
    col("nest_level", INT, |r| int(r.session.card.live.nest_level())),
    // In pages of 8 KB, as documented.
    col("granted_query_memory", INT, |r| {
        int(r.session.card.grant.now().map_or(0, |grant| grant.used_max / 8192))
    }),
    col("executing_managed_code", BIT, |_| bit(false)),
    col("group_id", INT, |_| int(2)),
    opt("query_hash", bin(8), |r| or_null(r.statement.as_ref(), |s| binary(&s.query_hash))),
    opt("query_plan_hash", bin(8), |r| {
        or_null(r.statement.as_ref(), |s| binary(&s.plan_hash.unwrap_or_default()))
    }),
    unknown("statement_sql_handle", vb(64)),
    unknown("statement_context_id", BIGINT),
    col("dop", INT, |r| int(r.session.card.live.degree())),
    opt("parallel_worker_count", INT, |r| int(r.helpers)),
    unknown("external_script_request_id", GUID),
    col("is_resumable", BIT, |_| bit(false)),
    unknown("page_resource", bin(8)),
    col("page_server_reads", BIGINT, |_| big(0)),
    // Our own column.
    opt("traceparent", nv(55), |r| or_null(r.session.card.trace.get(), |trace| text(&trace))),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_requests",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows_needed(scope, COLUMNS, request_rows(scope))
}
