//! `sys.dm_tran_locks`: application locks and those of tables that are being redefined, held and asked
//! for. Rows are owned by their transactions and have no locks that could be listed.

use storage::lock::{LockRow, LockScope, LockStatus};
use types::Value;

use super::column::{
    ADDRESS, BIGINT, Column, GUID, INT, SMALLINT, big, col, int, nv, opt, rows, shape, small, text,
    unknown,
};
use super::source_tasks::{address, describe_key};
use super::{Rows, Scope, SystemView};
use crate::session::session_id;

const COLUMNS: &[Column<Request>] = &[
    col("resource_type", nv(60), |r| {
        text(if r.table.is_some() { "OBJECT" } else { "APPLICATION" })
    }),
    col("resource_subtype", nv(60), |_| text("")),
    col("resource_database_id", INT, |r| {
        int(r.table.map_or(r.key.database, |(database, _)| i32::from(database)))
    }),
    col("resource_description", nv(256), |r| match r.table {
        Some(_) => text(""),
        None => text(&describe_key(&r.key)),
    }),
    opt("resource_associated_entity_id", BIGINT, |r| big(r.table.map_or(0, |(_, object)| object))),
    col("resource_lock_partition", INT, |_| int(0)),
    col("request_mode", nv(60), |r| text(r.key.mode_name(r.mode))),
    col("request_type", nv(60), |_| text("LOCK")),
    col("request_status", nv(60), |r| text(status(r.status))),
    col("request_reference_count", SMALLINT, |r| small(r.count)),
    unknown("request_lifetime", INT),
    opt("request_session_id", INT, |r| session_id(r.session).map_or(Value::Null, int)),
    col("request_exec_context_id", INT, |_| int(0)),
    col("request_request_id", INT, |_| int(0)),
    col("request_owner_type", nv(60), |r| text(owner(r.scope))),
    opt("request_owner_id", BIGINT, |r| r.owner_id.map_or(Value::Null, big)),
    unknown("request_owner_guid", GUID),
    unknown("request_owner_lockspace_id", nv(32)),
    col("lock_owner_address", ADDRESS, |r| address(r.address)),
];

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_tran_locks",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

/// A lock with the transaction that owns it.
struct Request {
    row: LockRow,
    /// The transaction's number; 0 for a session.
    owner_id: Option<u64>,
    /// For a schema's lock, database and object: 0 where the table has no name yet or any more.
    table: Option<(i16, i32)>,
}

impl std::ops::Deref for Request {
    type Target = LockRow;
    fn deref(&self) -> &LockRow {
        &self.row
    }
}

fn read(scope: &Scope<'_>) -> Rows {
    let locks = scope.session.instance.store.locks();
    let owners = locks.owners();
    let request = |row: LockRow| {
        let owner_id = match row.scope {
            LockScope::Session => Some(0),
            LockScope::Transaction => {
                let owner = owners.iter().find(|owner| owner.session() == row.session);
                owner.and_then(|owner| owner.transaction()).map(|t| t.number)
            }
        };
        let table = row.key.table().map(|id| find_table(scope, id).unwrap_or_default());
        Request { row, owner_id, table }
    };
    rows(COLUMNS, locks.rows().into_iter().map(request))
}

/// Finds whose rows a table of storage has.
fn find_table(scope: &Scope<'_>, id: storage::TableId) -> Option<(i16, i32)> {
    let databases = scope.session.catalog.databases.values();
    let mut tables = databases.flat_map(|database| database.tables());
    tables.find(|table| table.rows.data.id() == id).map(|table| (table.database_id, table.id))
}

fn status(status: LockStatus) -> &'static str {
    match status {
        LockStatus::Granted => "GRANT",
        LockStatus::Converting => "CONVERT",
        LockStatus::Waiting => "WAIT",
    }
}

fn owner(scope: LockScope) -> &'static str {
    match scope {
        LockScope::Transaction => "TRANSACTION",
        LockScope::Session => "SESSION",
    }
}
