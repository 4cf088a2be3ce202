//! `Awaited`: the lock or row that a session waits for, and the sessions that block it, as
//! `wait_resource` of `sys.dm_exec_requests`, blocked process reports and deadlock graphs show them.
//!
//! A row is named as SQL Server names it: by the hash of its key, or by its row id in a heap.

use std::cell::OnceCell;
use std::sync::Arc;

use catalog::{Catalog, TableDef};
use storage::lock::{LockKey, LockMode, RowWait, Wanted};
use storage::{HeldThing, HoldRow, LockWait, RowId, TableId};

use crate::event::emit::lock::describe_key;
use crate::instance::Instance;

/// A wait for a lock or a row.
pub struct Awaited {
    /// What is waited for.
    pub resource: Resource,
    /// The mode that is waited for.
    pub mode: Mode,
    /// Numbers of the sessions that block the wait; empty if it is about to end.
    pub blockers: Vec<u32>,
}

/// What sessions wait for.
pub enum Resource {
    /// A lock of sp_getapplock.
    Application(LockKey),
    /// A table as a whole, or its definition.
    Object(Arc<TableDef>),
    /// A row, which a key or a place names.
    Row(LockedRow),
    /// A range of keys of a table.
    Range(Arc<TableDef>, u64),
    /// The definition of a table that the catalog does not have: it is being made or dropped.
    UnnamedObject,
    /// The transaction of a session, where it is not known which row of it is in the way.
    Transaction(u32),
}

/// The mode of a lock that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// That of an application's lock.
    Application(LockMode),
    /// Sch-M if the table is to be changed, else Sch-S.
    Schema(LockMode),
    /// That of a row or a key range.
    Row(LockWait),
}

impl Mode {
    /// Returns the name, such as `X`, `RangeS-S` or `Sch-M`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Application(mode) => mode.short_name(),
            Self::Schema(LockMode::Exclusive) => "Sch-M",
            Self::Schema(_) => "Sch-S",
            Self::Row(mode) => mode.short_name(),
        }
    }

    /// Returns the number of the mode in the map `lock_mode` of Extended Events.
    pub fn key(self) -> u32 {
        match self {
            Self::Schema(LockMode::Exclusive) => 2,
            Self::Schema(_) => 1,
            Self::Application(LockMode::Shared) | Self::Row(LockWait::Shared) => 3,
            Self::Application(LockMode::Update) | Self::Row(LockWait::Update) => 4,
            Self::Application(LockMode::Exclusive) | Self::Row(LockWait::Exclusive) => 5,
            Self::Application(LockMode::IntentShared) => 6,
            Self::Application(LockMode::IntentExclusive) => 8,
            Self::Application(LockMode::SharedIntentExclusive) => 10,
            Self::Application(LockMode::UpdateIntentExclusive) => 11,
            Self::Row(LockWait::RangeShared) => 13,
            Self::Row(LockWait::RangeUpdate) => 14,
            Self::Row(LockWait::RangeInsert) => 15,
            Self::Row(LockWait::RangeExclusive) => 21,
        }
    }
}

/// The locks of an instance and the names of a catalog, for reports about waits. Locks on rows are
/// listed once, when the first wait for one is described.
pub struct Waits<'i> {
    instance: &'i Instance,
    catalog: &'i Catalog,
    holds: OnceCell<Vec<HoldRow>>,
}

impl<'i> Waits<'i> {
    /// Describes waits by these locks and names; reads none of them yet.
    pub fn new(instance: &'i Instance, catalog: &'i Catalog) -> Self {
        Self { instance, catalog, holds: OnceCell::new() }
    }

    /// Returns what a session waits for now, by its number; `None` if it waits for neither a lock nor
    /// a row.
    pub fn awaited(&self, session: u32) -> Option<Awaited> {
        let locks = self.instance.store.locks();
        if let Some(row) = locks.waiting(session) {
            let awaited = self.wanted(session, &Wanted::Lock(row.key, row.mode));
            return Some(Awaited { blockers: row.blockers, ..awaited });
        }
        Some(self.wanted(session, &Wanted::Row(locks.row_wait(session)?)))
    }

    /// Describes what a session waits for; the blockers of a named lock are left out.
    pub fn wanted(&self, session: u32, wanted: &Wanted) -> Awaited {
        let (resource, mode, blockers) = match wanted {
            Wanted::Lock(key, mode) => match key.table() {
                None => (Resource::Application(key.clone()), Mode::Application(*mode), Vec::new()),
                Some(table) => {
                    let table = find_table(self.catalog, table);
                    let resource = table.map_or(Resource::UnnamedObject, Resource::Object);
                    (resource, Mode::Schema(*mode), Vec::new())
                }
            },
            Wanted::Row(wait) => {
                (self.row_resource(session, wait), Mode::Row(wait.mode), vec![wait.session])
            }
        };
        Awaited { resource, mode, blockers }
    }

    /// Returns the locks on rows, key ranges and tables that transactions hold or wait for.
    pub fn holds(&self) -> &[HoldRow] {
        self.holds.get_or_init(|| self.instance.store.holds())
    }

    fn row_resource(&self, session: u32, wait: &RowWait) -> Resource {
        let unknown = Resource::Transaction(wait.session);
        let place = match wait.row {
            Some((table, row)) => Some((table, HeldThing::Row(row))),
            None => {
                let mut holds = self.holds().iter();
                let mine = holds.find(|hold| hold.is_waiting && hold.session == session);
                mine.map(|hold| (hold.table, hold.what))
            }
        };
        let Some((table, what)) = place else { return unknown };
        let Some(table) = find_table(self.catalog, table) else { return unknown };
        match what {
            HeldThing::Row(row) => Resource::Row(LockedRow { table, row }),
            HeldThing::Range(_, number) => Resource::Range(table, number),
            HeldThing::Table | HeldThing::Place => Resource::Object(table),
        }
    }
}

/// Returns the table of a catalog whose rows are in a store table.
fn find_table(catalog: &Catalog, id: TableId) -> Option<Arc<TableDef>> {
    let mut tables = catalog.databases.values().flat_map(|database| database.tables());
    tables.find(|table| table.rows.data.id() == id).map(Arc::clone)
}

impl Resource {
    /// Formats it as `wait_resource` of `sys.dm_exec_requests`.
    pub fn wait_resource(&self) -> String {
        match self {
            Self::Application(key) => {
                format!("APPLICATION: {}:{}", key.database, describe_key(key))
            }
            Self::Object(table) => format!("OBJECT: {}:{}:0", table.database_id, table.id),
            Self::UnnamedObject => "OBJECT: 0:0:0".to_owned(),
            Self::Row(row) => row.wait_resource(),
            Self::Range(table, number) => {
                format!("KEY: {}:{} {}", table.database_id, hobt(table), hash(*number))
            }
            Self::Transaction(session) => {
                format!("XACT: session {}", crate::session_id(*session).unwrap_or(0))
            }
        }
    }

    /// Formats it as `resource_description` of `sys.dm_os_waiting_tasks`, with the address that the
    /// thread waits on; `held` is the mode in which the blocker has it.
    pub fn description(&self, address: usize, held: &str) -> String {
        let lock = format!("id=lock{address:x} mode={held}");
        match self {
            Self::Application(key) => format!(
                "applicationlock hash={:08x} databasePrincipalId={} dbid={} {lock}",
                crate::event::emit::lock::hash(key),
                key.principal,
                key.database
            ),
            Self::UnnamedObject => format!("objectlock lockPartition=0 {lock}"),
            Self::Object(table) => format!(
                "objectlock lockPartition=0 objid={} subresource=FULL dbid={} {lock} \
                 associatedObjectId={}",
                table.id, table.database_id, table.id
            ),
            Self::Row(row) if row.is_in_heap() => format!(
                "ridlock fileid=1 pageid={} dbid={} {lock} associatedObjectId={}",
                row.page(),
                row.table.database_id,
                row.hobt()
            ),
            Self::Row(LockedRow { table, .. }) | Self::Range(table, _) => {
                let (hobt, database) = (hobt(table), table.database_id);
                format!("keylock hobtid={hobt} dbid={database} {lock} associatedObjectId={hobt}")
            }
            Self::Transaction(session) => {
                format!("xactlock session={} {lock}", crate::session_id(*session).unwrap_or(0))
            }
        }
    }

    /// Returns the table, if it is one or a part of one.
    pub fn table(&self) -> Option<&Arc<TableDef>> {
        match self {
            Self::Object(table) | Self::Range(table, _) => Some(table),
            Self::Row(row) => Some(&row.table),
            Self::Application(_) | Self::UnnamedObject | Self::Transaction(_) => None,
        }
    }

    /// Returns `database_id`; 0 if it is not known.
    pub fn database_id(&self) -> i32 {
        match self {
            Self::Application(key) => key.database,
            Self::Object(_)
            | Self::UnnamedObject
            | Self::Row(_)
            | Self::Range(..)
            | Self::Transaction(_) => self.table().map_or(0, |table| i32::from(table.database_id)),
        }
    }
}

/// A row that is locked.
pub struct LockedRow {
    /// The table that the row is in.
    pub table: Arc<TableDef>,
    /// Its place in the table.
    pub row: RowId,
}

impl LockedRow {
    /// Returns whether its table has no index: then it is named by its place.
    pub fn is_in_heap(&self) -> bool {
        self.table.indexes.is_empty()
    }

    /// Formats it as `wait_resource` of `sys.dm_exec_requests`.
    pub fn wait_resource(&self) -> String {
        let database = self.table.database_id;
        match self.is_in_heap() {
            true => format!("RID: {database}:1:{}:{}", self.page(), self.slot()),
            false => format!("KEY: {database}:{} {}", self.hobt(), hash(self.row.0)),
        }
    }

    /// Returns `hobt_id` of the clustered index or heap, as `sys.partitions` has it.
    pub fn hobt(&self) -> i64 {
        hobt(&self.table)
    }

    /// Returns the number of the page that SQL Server would show.
    pub fn page(&self) -> u64 {
        self.row.0 >> 16
    }

    fn slot(&self) -> u64 {
        self.row.0 & 0xffff
    }
}

/// Returns `hobt_id` of a table's clustered index or heap.
pub fn hobt(table: &TableDef) -> i64 {
    i64::from(table.rows.data.id().0) << 16 | i64::from(first_index(table))
}

/// Returns `index_id` of a table's first index; 0 for a heap.
pub fn first_index(table: &TableDef) -> i32 {
    table.indexes.first().map_or(0, |index| index.id)
}

/// Formats the hash of a key as `sys.dm_tran_locks` has it.
fn hash(number: u64) -> String {
    format!("({:012x})", number & 0xffff_ffff_ffff)
}
