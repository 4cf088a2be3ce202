//! `sys.dm_os_latch_stats`: waits for latches by class.

use sos::ledger::LatchRow;

use metadata::column::{BIGINT, Column, big, col, nv, rows, shape, text};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<LatchRow>] = &[
    col("latch_class", nv(60), |r| text(r.class.name())),
    col("waiting_requests_count", BIGINT, |r| big(r.count)),
    col("wait_time_ms", BIGINT, |r| big(r.wait_ns / 1_000_000)),
    col("max_wait_time_ms", BIGINT, |r| big(r.max_wait_ns / 1_000_000)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_latch_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.session.instance.machine.accounts().latches())
}
