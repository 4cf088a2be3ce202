//! `sys.dm_tran_database_transactions`: the open transactions of sessions, each in its session's
//! database. What a transaction has changed gets into the log when it commits, so an open one has no
//! log records.

use std::sync::Arc;

use storage::lock::{LockOwner, TransactionRow};
use types::DataType;

use ::session::instance::datetime_of;
use ::session::session_id;
use metadata::column::{BIGINT, Column, DATETIME, INT, big, col, int, opt, rows, shape, unknown};
use metadata::sessions::session_rows;
use metadata::{Rows, Scope, SystemView};

/// The type of log sequence numbers, `numeric(25,0)`.
const LSN: DataType = DataType::Decimal { precision: 25, scale: 0 };

const COLUMNS: &[Column<Open>] = &[
    col("transaction_id", BIGINT, |r| big(r.transaction.number)),
    col("database_id", INT, |r| int(r.database_id)),
    opt("database_transaction_begin_time", DATETIME, |r| datetime_of(r.transaction.begun)),
    // 1: it reads and writes.
    col("database_transaction_type", INT, |_| int(1)),
    // 3: it has begun, and has no log records.
    col("database_transaction_state", INT, |_| int(3)),
    col("database_transaction_status", INT, |_| int(0)),
    col("database_transaction_status2", INT, |_| int(0)),
    col("database_transaction_log_record_count", BIGINT, |_| big(0)),
    col("database_transaction_replicate_record_count", INT, |_| int(0)),
    col("database_transaction_log_bytes_used", BIGINT, |_| big(0)),
    col("database_transaction_log_bytes_reserved", BIGINT, |_| big(0)),
    col("database_transaction_log_bytes_used_system", INT, |_| int(0)),
    col("database_transaction_log_bytes_reserved_system", INT, |_| int(0)),
    unknown("database_transaction_begin_lsn", LSN),
    unknown("database_transaction_last_lsn", LSN),
    unknown("database_transaction_most_recent_savepoint_lsn", LSN),
    unknown("database_transaction_commit_lsn", LSN),
    unknown("database_transaction_last_rollback_lsn", LSN),
    unknown("database_transaction_next_undo_lsn", LSN),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_tran_database_transactions",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Open {
    database_id: i16,
    transaction: TransactionRow,
}

fn read(scope: &Scope<'_>) -> Rows {
    let sessions = session_rows(scope);
    let open = |owner: &Arc<LockOwner>| {
        let id = session_id(owner.session())?;
        let session = sessions.iter().find(|row| row.card.id == id)?;
        Some(Open { database_id: session.database_id(), transaction: owner.transaction()? })
    };
    rows(COLUMNS, scope.session.instance.store.locks().owners().iter().filter_map(open))
}
