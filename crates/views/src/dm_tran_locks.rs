//! `sys.dm_tran_locks`: application locks, locks of tables whose definition changes, and locks that
//! transactions hold on ordinary tables (`storage/row_lock`), granted or requested. A row lock of a
//! writer is the row's newest version, which no list contains, so row locks are not shown.

use storage::lock::{LockRow, LockScope, LockStatus};
use storage::{HeldThing, Hold, HoldRow};
use types::Value;

use ::catalog::TableDef;
use ::session::event::emit::lock::describe_key;
use ::session::session_id;
use metadata::column::{
    ADDRESS, BIGINT, Column, GUID, INT, SMALLINT, big, col, int, nv, opt, rows, shape, small, text,
    unknown,
};
use metadata::tasks::address;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Request>] = &[
    col("resource_type", nv(60), |r| text(r.resource)),
    col("resource_subtype", nv(60), |_| text("")),
    col("resource_database_id", INT, |r| int(r.database)),
    col("resource_description", nv(256), |r| text(&r.description)),
    opt("resource_associated_entity_id", BIGINT, |r| big(r.entity)),
    col("resource_lock_partition", INT, |_| int(0)),
    col("request_mode", nv(60), |r| text(r.mode)),
    col("request_type", nv(60), |_| text("LOCK")),
    col("request_status", nv(60), |r| text(r.status)),
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

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_tran_locks",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

/// A lock and its owner: a row of the view.
struct Request {
    resource: &'static str,
    database: i32,
    description: String,
    entity: i32,
    mode: &'static str,
    status: &'static str,
    count: u32,
    session: u32,
    scope: LockScope,
    /// `request_owner_id`: the transaction's id; 0 for a session.
    owner_id: Option<u64>,
    address: usize,
}

impl Request {
    fn of_lock(row: &LockRow, scope: &Scope<'_>) -> Self {
        let table = row.key.table();
        // 0 if the table has no name yet, or was dropped.
        let found = table.and_then(|id| find_table(scope, id));
        let place = found.map_or((0, 0), |table| (i32::from(table.database_id), table.id));
        Self {
            resource: if table.is_some() { "OBJECT" } else { "APPLICATION" },
            database: if table.is_some() { place.0 } else { row.key.database },
            description: table.map_or_else(|| describe_key(&row.key), |_| String::new()),
            entity: place.1,
            mode: row.key.mode_name(row.mode),
            status: status(row.status),
            count: row.count,
            session: row.session,
            scope: row.scope,
            owner_id: None,
            address: row.address,
        }
    }

    fn of_hold(row: &HoldRow, table: &TableDef) -> Self {
        let is_heap = table.indexes.is_empty();
        let (resource, description) = match row.what {
            HeldThing::Table => ("OBJECT", String::new()),
            HeldThing::Row(id) if is_heap => ("RID", format!("1:{}:{}", id.0 >> 16, id.0 & 0xffff)),
            HeldThing::Row(id) => ("KEY", format!("({:012x})", id.0 & 0xffff_ffff_ffff)),
            HeldThing::Range(_, number) => ("KEY", format!("({:012x})", number & 0xffff_ffff_ffff)),
            HeldThing::Place => ("KEY", String::new()),
        };
        let is_range = matches!(row.what, HeldThing::Range(..));
        Self {
            resource,
            database: i32::from(table.database_id),
            description,
            entity: table.id,
            mode: match (row.what, row.hold) {
                (HeldThing::Place, _) => "RangeI-N",
                (_, Hold::Shared) if is_range => "RangeS-S",
                (_, Hold::Update) if is_range => "RangeS-U",
                (_, Hold::Exclusive) if is_range => "RangeX-X",
                (_, Hold::Shared) => "S",
                (_, Hold::Update) => "U",
                (_, Hold::Exclusive) => "X",
            },
            status: if row.is_waiting { "WAIT" } else { "GRANT" },
            count: 1,
            session: row.session,
            scope: LockScope::Transaction,
            owner_id: None,
            address: row.address,
        }
    }
}

fn read(scope: &Scope<'_>) -> Rows {
    let store = &scope.session.instance.store;
    let owners = store.locks().owners();
    let locks = store.locks().rows();
    let mut requests: Vec<Request> = locks.iter().map(|row| Request::of_lock(row, scope)).collect();
    let holds = store.holds();
    let of_hold = |row: &HoldRow| Some(Request::of_hold(row, find_table(scope, row.table)?));
    requests.extend(holds.iter().filter_map(of_hold));
    for request in &mut requests {
        request.owner_id = match request.scope {
            LockScope::Session => Some(0),
            LockScope::Transaction => {
                let owner = owners.iter().find(|owner| owner.session() == request.session);
                owner.and_then(|owner| owner.transaction()).map(|t| t.number)
            }
        };
    }
    rows(COLUMNS, requests)
}

/// Returns the table whose rows are in a store table.
fn find_table<'s>(scope: &'s Scope<'_>, id: storage::TableId) -> Option<&'s TableDef> {
    let databases = scope.session.catalog.databases.values();
    let mut tables = databases.flat_map(|database| database.tables());
    tables.find(|table| table.rows.data.id() == id).map(|table| &**table)
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
