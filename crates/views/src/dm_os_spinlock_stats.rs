//! `sys.dm_os_spinlock_stats`: collisions and spins by class of spinlock; one column more than SQL
//! Server's, the time.

use sos::ledger::SpinRow;
use types::Value;

use metadata::column::{BIGINT, Column, INT, REAL, big, col, int, nv, opt, rows, shape, text};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<SpinRow>] = &[
    col("name", nv(256), |r| text(r.class.name())),
    opt("collisions", BIGINT, |r| big(r.collisions)),
    opt("spins", BIGINT, |r| big(r.spins)),
    opt("spins_per_collision", REAL, spins_per_collision),
    opt("sleep_time", BIGINT, |r| big(r.sleep_ns / 1_000_000)),
    opt("backoffs", INT, |r| int(r.backoffs)),
    // Ours: rounds of spinning say little about time, because the pauses between them grow.
    opt("spin_ns", BIGINT, |r| big(r.spin_ns)),
];

/// The view.
pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_spinlock_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.session.instance.machine.accounts().spins())
}

fn spins_per_collision(row: &SpinRow) -> Value {
    if row.collisions == 0 {
        return Value::Real(0.0);
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "a ratio for people"
    )]
    let ratio = (row.spins as f64 / row.collisions as f64) as f32;
    Value::Real(ratio)
}
