//! `sys.dm_exec_cursors`: the cursors of a session, or of all sessions for 0.

use types::Value;

use ::session::cursor::{Concurrency, CursorFacts, CursorInterface, CursorKind, CursorScope};
use metadata::column::{
    BIGINT, BIT, Column, DATETIME, INT, big, bit, col, int, nv, opt, or_null, rows, shape, text, vb,
};
use metadata::sessions::session_rows;
use metadata::{RowSet, Rows, Scope, SystemView};

/// A cursor with the session that has it.
struct Row {
    session: i16,
    facts: CursorFacts,
}

const COLUMNS: &[Column<Row>] = &[
    col("session_id", INT, |r| int(r.session)),
    col("cursor_id", INT, |r| int(r.facts.id)),
    opt("name", nv(256), |r| text(&r.facts.name)),
    opt("properties", nv(256), |r| text(&properties(&r.facts))),
    opt("sql_handle", vb(64), |r| {
        or_null((!r.facts.sql_handle.is_empty()).then_some(()), |()| {
            Value::VarBinary(types::Bytes::copy_from(&r.facts.sql_handle))
        })
    }),
    opt("statement_start_offset", INT, |r| int(offset(r.facts.span.0))),
    opt("statement_end_offset", INT, |r| int(offset(r.facts.span.1))),
    opt("plan_generation_num", BIGINT, |_| big(1)),
    opt("creation_time", DATETIME, |r| {
        or_null(r.facts.created.try_to_value(&types::DataType::DateTime), |value| value)
    }),
    opt("is_open", BIT, |r| bit(r.facts.is_open)),
    // Rows are read by OPEN itself.
    opt("is_async_population", BIT, |_| bit(false)),
    opt("is_close_on_commit", BIT, |_| bit(false)),
    opt("fetch_status", INT, |r| int(r.facts.fetch_status)),
    opt("fetch_buffer_size", INT, |r| int(i32::try_from(r.facts.buffer_rows).unwrap_or(i32::MAX))),
    opt("fetch_buffer_start", INT, |r| int(i32::try_from(r.facts.start).unwrap_or(i32::MAX))),
    opt("ansi_position", INT, |r| {
        int(i32::try_from(r.facts.place).unwrap_or(i32::MAX).saturating_add(1))
    }),
    // Times and reads are accounted to the statements, not to cursors.
    opt("worker_time", BIGINT, |_| big(0)),
    opt("reads", BIGINT, |_| big(0)),
    opt("writes", BIGINT, |_| big(0)),
    opt("dormant_duration", BIGINT, |r| big(dormant_ms(&r.facts))),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_cursors",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 1,
};

fn read(scope: &Scope<'_>) -> Rows {
    let wanted = match scope.arguments.first() {
        Some(Value::Int(id)) => i64::from(*id),
        Some(Value::SmallInt(id)) => i64::from(*id),
        Some(Value::TinyInt(id)) => i64::from(*id),
        Some(Value::BigInt(id)) => *id,
        _ => return Ok(RowSet::default()),
    };
    let sessions = session_rows(scope).into_iter();
    let sessions = sessions.filter(|row| wanted == 0 || i64::from(row.card.id) == wanted);
    let cursors = sessions.flat_map(|row| {
        let session = row.card.id;
        row.card.cursors().into_iter().map(move |facts| Row { session, facts })
    });
    rows(COLUMNS, cursors)
}

/// As "TSQL | Dynamic | Optimistic | Global (0)".
fn properties(facts: &CursorFacts) -> String {
    let (interface, kind, concurrency, scope) = facts.properties;
    let interface = match interface {
        CursorInterface::Tsql => "TSQL",
        CursorInterface::Api => "API",
    };
    let kind = match kind {
        CursorKind::Static => "Snapshot",
        CursorKind::Keyset => "Keyset",
        CursorKind::Dynamic => "Dynamic",
        CursorKind::FastForward => "Fast_Forward",
    };
    let concurrency = match concurrency {
        Concurrency::ReadOnly => "Read Only",
        Concurrency::ScrollLocks => "Scroll Locks",
        Concurrency::Optimistic => "Optimistic",
    };
    let scope = match scope {
        CursorScope::Local => "Local",
        CursorScope::Global => "Global",
    };
    format!("{interface} | {kind} | {concurrency} | {scope} (0)")
}

/// Converts an offset in bytes of ASCII to one in bytes of UTF-16.
fn offset(bytes: u32) -> i32 {
    i32::try_from(bytes.saturating_mul(2)).unwrap_or(i32::MAX)
}

fn dormant_ms(facts: &CursorFacts) -> i64 {
    let ticks = sos::clock::now_ticks().saturating_sub(facts.touched);
    i64::try_from(sos::clock::ticks_to_ns(ticks) / 1_000_000).unwrap_or(i64::MAX)
}
