//! `sys.dm_tran_database_transactions`: the open transactions of sessions. What a transaction has
//! changed gets into the log when it commits, so an open one has no log records.

use storage::lock::TransactionRow;
use types::DataType;

use ::session::instance::datetime_of;
use ::session::session_id;
use metadata::column::{BIGINT, Column, DATETIME, INT, big, col, int, rows, shape, unknown};
use metadata::{Rows, Scope, SystemView};

/// The type of log sequence numbers, `numeric(25,0)`.
const LSN: DataType = DataType::Decimal { precision: 25, scale: 0 };

const COLUMNS: &[Column<(i16, TransactionRow)>] = &[
    col("transaction_id", BIGINT, |r| big(r.1.number)),
    col("database_id", INT, |r| int(i32::from(r.0))),
    col("database_transaction_begin_time", DATETIME, |r| datetime_of(r.1.begun)),
    col("database_transaction_type", INT, |_| int(READ_WRITE)),
    col("database_transaction_state", INT, |_| int(NO_RECORDS)),
    unknown("database_transaction_status", INT),
    unknown("database_transaction_status2", INT),
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

/// `database_transaction_type` of a transaction that may write.
const READ_WRITE: i32 = 1;
/// `database_transaction_state` of a transaction without log records.
const NO_RECORDS: i32 = 3;

fn read(scope: &Scope<'_>) -> Rows {
    let instance = &scope.session.instance;
    let cards = instance.sessions.cards();
    let owners = instance.store.locks().owners();
    let open = owners.iter().filter_map(|owner| {
        let session = session_id(owner.session())?;
        let card = cards.iter().find(|card| card.id == session)?;
        let database = scope.session.catalog.database(&card.facts().database)?;
        Some((database.id, owner.transaction()?))
    });
    rows(COLUMNS, open)
}
