//! `sys.dm_os_spinlock_stats`: collisions and spins by spinlock class, and a column that SQL Server
//! lacks: the time spent.

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
    // Not in SQL Server. The number of spins says little about time: pauses between them grow.
    opt("spin_ns", BIGINT, |r| big(r.spin_ns)),
];

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
