//! `sys.dm_os_wait_stats`: completed waits by type, of all threads.

use sos::wait::WaitRow;

use super::column::{BIGINT, Column, big, col, nv, rows, shape, text};
use super::{Rows, Scope, SystemView};

const COLUMNS: &[Column<WaitRow>] = &[
    col("wait_type", nv(60), |r| text(r.wait_type.name())),
    col("waiting_tasks_count", BIGINT, |r| big(r.count)),
    col("wait_time_ms", BIGINT, |r| big(r.wait_ns / 1_000_000)),
    col("max_wait_time_ms", BIGINT, |r| big(r.max_wait_ns / 1_000_000)),
    col("signal_wait_time_ms", BIGINT, |r| big(r.signal_ns / 1_000_000)),
];

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_wait_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.session.instance.machine.accounts().waits())
}
