//! `sys.dm_exec_session_wait_stats`: completed waits of each session by type, since its login or
//! the last reset of its pooled connection.

use sos::wait::WaitRow;
use types::Value;

use metadata::column::{BIGINT, Column, SMALLINT, big, col, nv, rows, shape, text};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(i16, WaitRow)>] = &[
    col("session_id", SMALLINT, |r| Value::SmallInt(r.0)),
    col("wait_type", nv(60), |r| text(r.1.wait_type.name())),
    col("waiting_tasks_count", BIGINT, |r| big(r.1.count)),
    col("wait_time_ms", BIGINT, |r| big(r.1.wait_ns / 1_000_000)),
    col("max_wait_time_ms", BIGINT, |r| big(r.1.max_wait_ns / 1_000_000)),
    col("signal_wait_time_ms", BIGINT, |r| big(r.1.signal_ns / 1_000_000)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_exec_session_wait_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let mut found = Vec::new();
    for card in scope.session.instance.sessions.cards() {
        found.extend(card.books.waits().into_iter().map(|wait| (card.id, wait)));
    }
    rows(COLUMNS, found)
}
