//! `sys.dm_exec_sessions`: the connected sessions.

use types::Value;

use metadata::column::{
    BIGINT, BIT, Column, DATETIME, INT, SMALLINT, SYSNAME, big, binary, bit, col, int, ms, nv, opt,
    rows_needed, shape, small, text, text_or_null, unknown, vb,
};
use metadata::sessions::{SessionRow, Switch, session_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<SessionRow>] = &[
    col("session_id", SMALLINT, |r| Value::SmallInt(r.card.id)),
    col("login_time", DATETIME, |r| r.card.login_time.clone()),
    opt("host_name", SYSNAME, |r| text_or_null(&r.facts.client.host_name)),
    opt("program_name", SYSNAME, |r| text_or_null(&r.facts.client.program_name)),
    opt("host_process_id", INT, |r| int(r.facts.client.process_id)),
    opt("client_version", INT, |r| int(r.facts.client.tds_version >> 28)),
    opt("client_interface_name", nv(32), |r| text_or_null(&r.facts.client.interface_name)),
    col("security_id", vb(85), |r| binary(r.sid())),
    col("login_name", SYSNAME, |r| text(&r.card.login)),
    opt("nt_domain", SYSNAME, |_| Value::Null),
    opt("nt_user_name", SYSNAME, |_| Value::Null),
    col("status", nv(30), |r| text(if r.card.is_running() { "running" } else { "sleeping" })),
    unknown("context_info", vb(128)),
    col("cpu_time", INT, |r| ms(r.spent.worker())),
    unknown("memory_usage", INT),
    col("total_scheduled_time", INT, |r| ms(r.spent.scheduled())),
    col("total_elapsed_time", INT, |r| ms(r.spent.elapsed())),
    col("endpoint_id", INT, |r| int(r.facts.client.endpoint())),
    col("last_request_start_time", DATETIME, |r| r.card.last_start()),
    opt("last_request_end_time", DATETIME, |r| r.card.last_end()),
    // Rows are in memory: nothing is read from disk. Writes and logical reads are row versions:
    // docs/decisions/0395.
    col("reads", BIGINT, |_| big(0)),
    col("writes", BIGINT, |r| big(r.card.live.io().writes)),
    col("logical_reads", BIGINT, |r| big(r.card.live.io().reads)),
    col("is_user_process", BIT, |_| bit(true)),
    col("text_size", INT, |r| int(r.facts.options.text_size)),
    opt("language", SYSNAME, |r| text(r.facts.options.language.name())),
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
    col("original_security_id", vb(85), |r| binary(r.sid())),
    col("original_login_name", SYSNAME, |r| text(&r.card.login)),
    unknown("last_successful_logon", DATETIME),
    unknown("last_unsuccessful_logon", DATETIME),
    unknown("unsuccessful_logons", BIGINT),
    col("group_id", INT, |_| int(2)),
    col("database_id", SMALLINT, |r| small(r.database_id())),
    opt("authenticating_database_id", INT, |_| int(1)),
    col("open_transaction_count", INT, |r| int(r.card.transactions())),
    col("page_server_reads", BIGINT, |_| big(0)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_sessions",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows_needed(scope, COLUMNS, session_rows(scope))
}
