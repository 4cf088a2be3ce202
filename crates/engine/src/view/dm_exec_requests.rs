//! `sys.dm_exec_requests`: the requests that run now.

use types::Value;

use super::column::{
    ADDRESS, BIGINT, BIT, Column, DATETIME, GUID, INT, REAL, SMALLINT, SYSNAME, big, bin, bit, col,
    int, nv, opt, rows, shape, small, text, unknown, vb,
};
use super::{Rows, Scope, SystemView};
use crate::view::source_sessions::{SessionRow, Switch, session_rows};

const COLUMNS: &[Column<SessionRow>] = &[
    col("session_id", SMALLINT, |r| Value::SmallInt(r.card.id)),
    col("request_id", INT, |_| int(0)),
    col("start_time", DATETIME, |r| r.card.last_start()),
    col("status", nv(30), |_| text("running")),
    unknown("command", nv(32)),
    unknown("sql_handle", vb(64)),
    unknown("statement_start_offset", INT),
    unknown("statement_end_offset", INT),
    unknown("plan_handle", vb(64)),
    col("database_id", SMALLINT, |r| small(r.database_id)),
    col("user_id", INT, |_| int(1)),
    unknown("connection_id", GUID),
    unknown("blocking_session_id", SMALLINT),
    unknown("wait_type", nv(60)),
    unknown("wait_time", INT),
    unknown("last_wait_type", nv(60)),
    unknown("wait_resource", nv(256)),
    col("open_transaction_count", INT, |r| int(r.card.transactions())),
    unknown("open_resultset_count", INT),
    unknown("transaction_id", BIGINT),
    unknown("context_info", vb(128)),
    col("percent_complete", REAL, |_| Value::Real(0.0)),
    col("estimated_completion_time", BIGINT, |_| big(0)),
    unknown("cpu_time", INT),
    col("total_elapsed_time", INT, |r| int(r.card.elapsed_ms())),
    unknown("scheduler_id", INT),
    unknown("task_address", ADDRESS),
    unknown("reads", BIGINT),
    unknown("writes", BIGINT),
    unknown("logical_reads", BIGINT),
    col("text_size", INT, |r| int(r.facts.options.text_size)),
    opt("language", SYSNAME, |r| text(&r.facts.options.language)),
    opt("date_format", nv(3), |r| text(r.date_format())),
    col("date_first", SMALLINT, |r| small(r.facts.options.date_first)),
    col("quoted_identifier", BIT, |r| bit(r.is(Switch::QuotedIdentifier))),
    col("arithabort", BIT, |r| bit(r.is(Switch::ArithAbort))),
    col("ansi_null_dflt_on", BIT, |r| bit(r.is(Switch::AnsiNullDefault))),
    col("ansi_defaults", BIT, |_| bit(false)),
    col("ansi_warnings", BIT, |r| bit(r.is(Switch::AnsiWarnings))),
    col("ansi_padding", BIT, |r| bit(r.is(Switch::AnsiPadding))),
    col("ansi_nulls", BIT, |r| bit(r.is(Switch::AnsiNulls))),
    col("concat_null_yields_null", BIT, |r| bit(r.is(Switch::ConcatNullYieldsNull))),
    col("transaction_isolation_level", SMALLINT, |r| small(r.card.isolation())),
    col("lock_timeout", INT, |r| int(r.facts.options.lock_timeout_ms)),
    col("deadlock_priority", INT, |r| int(r.facts.options.deadlock_priority)),
    col("row_count", BIGINT, |r| big(r.card.rows())),
    col("prev_error", INT, |r| int(r.card.error())),
    unknown("nest_level", INT),
    unknown("granted_query_memory", INT),
    col("executing_managed_code", BIT, |_| bit(false)),
    col("group_id", INT, |_| int(2)),
    unknown("query_hash", bin(8)),
    unknown("query_plan_hash", bin(8)),
    unknown("statement_sql_handle", vb(64)),
    unknown("statement_context_id", BIGINT),
    col("dop", INT, |_| int(1)),
    unknown("parallel_worker_count", INT),
    unknown("external_script_request_id", GUID),
    col("is_resumable", BIT, |_| bit(false)),
    unknown("page_resource", bin(8)),
    unknown("page_server_reads", BIGINT),
];

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_requests",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, session_rows(scope).into_iter().filter(|r| r.card.is_running()))
}
