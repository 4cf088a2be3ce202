//! `sys.dm_tran_active_snapshot_database_transactions`: the open transactions, all of which may make
//! and read row versions.

use std::sync::Arc;

use sos::clock;
use storage::lock::{LockOwner, TransactionRow};
use types::DataType;

use ::session::session_id;
use metadata::column::{
    BIGINT, BIT, Column, INT, big, bit, int, opt, or_null, rows, shape, unknown,
};
use metadata::sessions::session_rows;
use metadata::{Rows, Scope, SystemView};

/// The number of SNAPSHOT in `transaction_isolation_level` of sessions.
const SNAPSHOT: u32 = 5;

struct Open {
    session: i16,
    is_snapshot: bool,
    transaction: TransactionRow,
}

const COLUMNS: &[Column<Open>] = &[
    opt("transaction_id", BIGINT, |r| big(r.transaction.number)),
    opt("transaction_sequence_num", BIGINT, |r| big(r.transaction.number)),
    unknown("commit_sequence_num", BIGINT),
    opt("session_id", INT, |r| int(r.session)),
    opt("is_snapshot", BIT, |r| bit(r.is_snapshot)),
    opt("first_snapshot_sequence_num", BIGINT, |r| {
        or_null(r.is_snapshot.then_some(r.transaction.number), big)
    }),
    unknown("max_version_chain_traversed", INT),
    unknown("average_version_chain_traversed", DataType::Real),
    opt("elapsed_time_seconds", BIGINT, |r| {
        let ticks = clock::now_ticks().saturating_sub(r.transaction.begun);
        big(clock::ticks_to_ns(ticks) / 1_000_000_000)
    }),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_tran_active_snapshot_database_transactions",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let sessions = session_rows(scope);
    let open = |owner: &Arc<LockOwner>| {
        let session = session_id(owner.session())?;
        let row = sessions.iter().find(|row| row.card.id == session)?;
        let is_snapshot = row.card.isolation() == SNAPSHOT;
        Some(Open { session, is_snapshot, transaction: owner.transaction()? })
    };
    rows(COLUMNS, scope.session.instance.store.locks().owners().iter().filter_map(open))
}
