//! `sys.dm_tran_session_transactions`: the open transactions and their sessions.

use storage::lock::{LockOwner, TransactionRow};

use ::session::session_id;
use metadata::column::{BIGINT, BIT, Column, INT, big, bin, binary, bit, col, int, rows, shape};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Open>] = &[
    col("session_id", INT, |r| int(r.session)),
    col("transaction_id", BIGINT, |r| big(r.transaction.number)),
    col("transaction_descriptor", bin(8), |r| binary(&r.transaction.number.to_le_bytes())),
    col("enlist_count", INT, |r| int(i32::from(r.is_running))),
    col("is_user_transaction", BIT, |_| bit(true)),
    col("is_local", BIT, |_| bit(true)),
    col("is_enlisted", BIT, |_| bit(false)),
    col("is_bound", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_tran_session_transactions",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Open {
    session: i16,
    transaction: TransactionRow,
    /// Whether the session runs a request, which works in its transaction.
    is_running: bool,
}

fn read(scope: &Scope<'_>) -> Rows {
    let instance = &scope.session.instance;
    let cards = instance.sessions.cards();
    let open = |owner: &std::sync::Arc<LockOwner>| {
        // Most sessions have none.
        let transaction = owner.transaction()?;
        let session = session_id(owner.session())?;
        // They are in the order of their ids.
        let place = cards.binary_search_by_key(&session, |card| card.id);
        let is_running = place.is_ok_and(|place| cards[place].is_running());
        Some(Open { session, transaction, is_running })
    };
    rows(COLUMNS, instance.store.locks().owners().iter().filter_map(open))
}
