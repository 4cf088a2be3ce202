//! `sys.dm_tran_active_transactions`: the open transactions of sessions. An autocommit statement
//! has no lasting transaction.

use storage::lock::TransactionRow;

use ::session::instance::datetime_of;
use metadata::column::{
    BIGINT, Column, DATETIME, GUID, INT, big, col, int, nv, rows, shape, text, unknown, vb,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<TransactionRow>] = &[
    col("transaction_id", BIGINT, |r| big(r.number)),
    col("name", nv(32), |r| text(r.name.as_deref().unwrap_or("user_transaction"))),
    col("transaction_begin_time", DATETIME, |r| datetime_of(r.begun)),
    col("transaction_type", INT, |_| int(READ_WRITE)),
    unknown("transaction_uow", GUID),
    col("transaction_state", INT, |_| int(ACTIVE)),
    unknown("transaction_status", INT),
    unknown("transaction_status2", INT),
    unknown("dtc_state", INT),
    unknown("dtc_status", INT),
    unknown("dtc_isolation_level", INT),
    unknown("filestream_transaction_id", vb(128)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_tran_active_transactions",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

/// `transaction_type` of a transaction that may write.
const READ_WRITE: i32 = 1;
/// `transaction_state` of a transaction in progress.
const ACTIVE: i32 = 2;

fn read(scope: &Scope<'_>) -> Rows {
    let owners = scope.session.instance.store.locks().owners();
    rows(COLUMNS, owners.iter().filter_map(|owner| owner.transaction()))
}
