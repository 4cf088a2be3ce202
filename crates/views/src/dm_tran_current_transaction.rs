//! `sys.dm_tran_current_transaction`: the open transaction of the session that asks.

use storage::lock::TransactionRow;

use ::session::{IsolationLevel, session_number};
use metadata::column::{BIGINT, BIT, Column, big, bit, col, opt, or_null, rows, shape, unknown};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(TransactionRow, bool)>] = &[
    opt("transaction_id", BIGINT, |r| big(r.0.number)),
    opt("transaction_sequence_num", BIGINT, |r| big(r.0.number)),
    col("transaction_is_snapshot", BIT, |r| bit(r.1)),
    opt("first_snapshot_sequence_num", BIGINT, |r| or_null(r.1.then_some(r.0.number), big)),
    unknown("last_transaction_sequence_num", BIGINT),
    unknown("first_useful_sequence_num", BIGINT),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_tran_current_transaction",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let own = session_number(scope.session.connection.id);
    let owners = scope.session.instance.store.locks().owners();
    let found = owners.iter().filter(|owner| owner.session() == own);
    let is_snapshot = scope.session.isolation == IsolationLevel::Snapshot;
    let open = found.filter_map(|owner| Some((owner.transaction()?, is_snapshot)));
    rows(COLUMNS, open)
}
