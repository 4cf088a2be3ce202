//! `sys.dm_os_wait_stats`: waits by type, of all threads. As in SQL Server, a wait is counted when
//! it starts and its time when it ends.

use sos::ledger::State;
use sos::wait::WaitRow;

use metadata::column::{BIGINT, Column, big, col, nv, rows, shape, text};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<WaitRow>] = &[
    col("wait_type", nv(60), |r| text(r.wait_type.name())),
    col("waiting_tasks_count", BIGINT, |r| big(r.count)),
    col("wait_time_ms", BIGINT, |r| big(r.wait_ns / 1_000_000)),
    col("max_wait_time_ms", BIGINT, |r| big(r.max_wait_ns / 1_000_000)),
    col("signal_wait_time_ms", BIGINT, |r| big(r.signal_ns / 1_000_000)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_wait_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let accounts = scope.session.instance.machine.accounts();
    let mut waits = accounts.waits();
    for account in accounts.threads() {
        if let State::Wait(wait_type) = account.state()
            && let Some(row) = waits.iter_mut().find(|row| row.wait_type == wait_type)
        {
            row.count += 1;
        }
    }
    rows(COLUMNS, waits)
}
