//! `LockedRow`: a row that a session waits for, as SQL Server's views name it: by the hash of its key,
//! or by its row id in a heap; and, to readers that may see all data, by its key.

use storage::{RowId, TableId};

use crate::format;
use crate::view::Scope;
use ::catalog::TableDef;

/// A row that is locked.
pub(crate) struct LockedRow {
    database: i16,
    /// `hobt_id` of the clustered index or heap, as `sys.partitions` has it.
    hobt: i64,
    row: RowId,
    is_heap: bool,
    /// Schema and name of the table, and the key's values: for readers that may see them.
    key: Option<String>,
}

impl LockedRow {
    /// Finds the table of a row, and the row's key; `None` if no table of that number is there.
    pub(crate) fn find(scope: &Scope<'_>, table: TableId, row: RowId) -> Option<Self> {
        let databases = scope.session.catalog.databases.values();
        let mut tables = databases.flat_map(|database| database.tables());
        let table = tables.find(|found| found.rows.data.id() == table)?;
        let first = table.indexes.first();
        let rights = &scope.session.identity.rights;
        // A key is data: who may look at the server may not look at all tables.
        let sees_data = rights.has_of_server(&scope.session.catalog, "CONTROL SERVER");
        Some(Self {
            database: table.database_id,
            hobt: i64::from(table.rows.data.id().0) << 16 | first.map_or(0, |i| i64::from(i.id)),
            row,
            is_heap: first.is_none(),
            key: sees_data.then(|| key_of(scope, table, row)),
        })
    }

    /// Formats it as `wait_resource` of `sys.dm_exec_requests`.
    pub(crate) fn wait_resource(&self) -> String {
        let key = self.suffix();
        match self.is_heap {
            true => format!("RID: {}:1:{}:{}{key}", self.database, self.page(), self.slot()),
            false => format!("KEY: {}:{} {}{key}", self.database, self.hobt, self.hash()),
        }
    }

    /// Formats it as `resource_description` of `sys.dm_os_waiting_tasks`.
    pub(crate) fn description(&self, address: usize, mode: &str) -> String {
        let Self { database, hobt, .. } = self;
        let end = format!("id=lock{address:x} mode={mode} associatedObjectId={hobt}");
        let key = self.suffix();
        match self.is_heap {
            true => format!("ridlock fileid=1 pageid={} dbid={database} {end}{key}", self.page()),
            false => format!("keylock hobtid={hobt} dbid={database} {end}{key}"),
        }
    }

    fn suffix(&self) -> String {
        self.key.as_ref().map_or_else(String::new, |key| format!(" of {key}"))
    }

    /// The hash that `sys.dm_tran_locks` has.
    fn hash(&self) -> String {
        format!("({:012x})", self.row.0 & 0xffff_ffff_ffff)
    }

    fn page(&self) -> u64 {
        self.row.0 >> 16
    }

    fn slot(&self) -> u64 {
        self.row.0 & 0xffff
    }
}

/// Names a row by its table and the values of its first unique index, or of its first index.
fn key_of(scope: &Scope<'_>, table: &TableDef, row: RowId) -> String {
    let name = format!("{}.{}", table.schema, table.name);
    let unique = table.indexes.iter().find(|index| index.unique);
    let Some(index) = unique.or_else(|| table.indexes.first()) else { return name };
    let values = table.rows.data.show_row(row, |image| {
        let view = table.layout.view(image.bytes, image.blobs);
        let value = |(ordinal, _): &(u16, bool)| {
            let text = format::shown(&view.get(usize::from(*ordinal)), usize::MAX, scope.session);
            let column = &table.columns[usize::from(*ordinal)].name;
            format!("{column} = {}", text.as_deref().unwrap_or("NULL"))
        };
        index.keys.iter().map(value).collect::<Vec<_>>().join(", ")
    });
    values.map_or(name.clone(), |values| format!("{name} ({values})"))
}
