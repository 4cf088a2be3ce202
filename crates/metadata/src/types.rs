//! Types and indexes as `sys.types` and `sys.indexes` show them. Every table has an index 0 (heap)
//! or 1 (clustered).

use std::sync::Arc;

use types::value::ColumnType;
use types::{DataType, Length, Msg, Result, Value};

use crate::objects::{SYSNAME_ID, tables, tables_and_types};
use crate::view::Scope;
use ::catalog::{
    ColumnIndexDef, Database, IndexConstraint, IndexDef, IndexKind, PartitionedOn, ShownOptions,
    TableDef, UserType,
};
use ::session::SessionState;

/// A type: a row of `sys.types`.
#[derive(Clone, Debug)]
pub struct TypeRow {
    /// `name` of the type.
    pub name: String,
    /// `system_type_id`: that of the base type for an alias type.
    pub system_type_id: u8,
    /// `user_type_id`: unique in the database.
    pub user_type_id: i32,
    /// `schema_id`: 4 (`sys`) for system types.
    pub schema_id: i32,
    /// `principal_id`: the owner, if it is not that of the schema.
    pub owner: Option<i32>,
    /// `max_length` in bytes; -1 for `max`.
    pub max_length: i16,
    /// `precision`: decimal digits of a numeric type, otherwise 0.
    pub precision: u8,
    /// `scale`: digits after the point of a numeric type, otherwise 0.
    pub scale: u8,
    /// `collation_name` of a string type.
    pub collation: String,
    /// `is_nullable`: whether a column of this type allows NULL by default.
    pub nullable: bool,
    /// Whether a user made it.
    pub user_defined: bool,
    /// Whether it is a table type.
    pub table_type: bool,
    /// Whether it is a memory-optimized table type.
    pub memory_optimized: bool,
    /// `type_table_object_id`: the object that has the columns of a table type; 0 for other types.
    pub table_id: i32,
}

/// `system_type_id` of table types.
const TABLE_TYPE_ID: u8 = 243;

/// The system's types, each with its greatest length, precision and scale.
const SYSTEM_TYPES: [DataType; 29] = [
    DataType::Image,
    DataType::Text,
    DataType::UniqueIdentifier,
    DataType::Date,
    DataType::Time(7),
    DataType::DateTime2(7),
    DataType::DateTimeOffset(7),
    DataType::TinyInt,
    DataType::SmallInt,
    DataType::Int,
    DataType::SmallDateTime,
    DataType::Real,
    DataType::Money,
    DataType::DateTime,
    DataType::Float,
    DataType::SqlVariant,
    DataType::NText,
    DataType::Bit,
    DataType::Decimal { precision: 38, scale: 38 },
    DataType::SmallMoney,
    DataType::BigInt,
    DataType::VarBinary(Length::Limited(8_000)),
    DataType::VarChar(Length::Limited(8_000)),
    DataType::Binary(8_000),
    DataType::Char(8_000),
    DataType::RowVersion,
    DataType::NVarChar(Length::Limited(4_000)),
    DataType::NChar(4_000),
    DataType::Xml,
];

/// Returns the types of a database, ordered by `user_type_id`: the system's, `sysname`, alias and
/// table types.
pub fn type_rows(database: &Database) -> Vec<TypeRow> {
    let collation = database.collation.name();
    let system = |data_type: &DataType| TypeRow {
        name: data_type.name().to_owned(),
        system_type_id: data_type.system_type_id(),
        user_type_id: data_type.user_type_id(),
        schema_id: 4,
        owner: None,
        max_length: data_type.max_length(),
        precision: data_type.precision(),
        scale: data_type.scale(),
        collation: if data_type.is_string() { collation.clone() } else { String::new() },
        nullable: *data_type != DataType::RowVersion,
        user_defined: false,
        table_type: false,
        memory_optimized: false,
        table_id: 0,
    };
    let mut rows: Vec<TypeRow> = SYSTEM_TYPES.iter().map(system).collect();
    // `numeric` is a synonym of `decimal` with its own type id.
    let decimal = system(&DataType::Decimal { precision: 38, scale: 38 });
    rows.push(TypeRow {
        name: "numeric".to_owned(),
        system_type_id: 108,
        user_type_id: 108,
        ..decimal
    });
    let name = system(&DataType::NVarChar(Length::Limited(128)));
    rows.push(TypeRow {
        name: "sysname".to_owned(),
        user_type_id: SYSNAME_ID,
        nullable: false,
        ..name
    });
    rows.extend(database.types.values().map(|t| user_type_row(database, t)));
    rows.sort_by_key(|row| row.user_type_id);
    rows
}

fn user_type_row(database: &Database, user_type: &Arc<UserType>) -> TypeRow {
    let base = user_type.base.as_ref();
    let of = |fact: fn(&ColumnType) -> i16| base.map_or(-1, fact);
    TypeRow {
        name: user_type.name.clone(),
        system_type_id: base.map_or(TABLE_TYPE_ID, |b| b.data_type.system_type_id()),
        user_type_id: user_type.id,
        schema_id: database.schema(&user_type.schema).map_or(1, |s| s.id),
        owner: user_type.owner,
        max_length: of(|b| b.data_type.max_length()),
        precision: base.map_or(0, |b| b.data_type.precision()),
        scale: base.map_or(0, |b| b.data_type.scale()),
        collation: base
            .filter(|b| b.data_type.is_string())
            .map(|b| b.collation.name())
            .unwrap_or_default(),
        nullable: base.is_some_and(|b| b.nullable),
        user_defined: true,
        table_type: user_type.table.is_some(),
        memory_optimized: user_type.table.as_ref().is_some_and(is_memory_optimized),
        table_id: user_type.shape.as_ref().map_or(0, |table| table.id),
    }
}

fn is_memory_optimized(table: &tsql::ast::CreateTable) -> bool {
    table.options.iter().any(|o| matches!(o, tsql::ast::TableOption::MemoryOptimized(on) if *on))
}

/// An index of a table, or its heap: a row of `sys.indexes`.
#[derive(Clone, Debug)]
pub struct IndexRow {
    /// The table that it belongs to.
    pub table: Arc<TableDef>,
    /// Position in the table's list of indexes; `None` for the heap.
    pub place: Option<usize>,
    /// Whether it is the nonclustered columnstore index.
    pub is_column_index: bool,
}

impl IndexRow {
    /// Returns the index's definition; `None` for a heap or columnstore index.
    pub fn index(&self) -> Option<&IndexDef> {
        self.place.and_then(|place| self.table.indexes.get(place))
    }

    /// Returns `is_disabled`: whether ALTER INDEX .. DISABLE has disabled it.
    pub fn is_disabled(&self) -> bool {
        if self.is_column_index {
            return self.table.disabled_columns.is_some();
        }
        let disabled = |index: &IndexDef| self.table.disabled.iter().any(|it| it.id == index.id);
        self.index().is_some_and(disabled)
    }

    /// Returns the options that are stored only to be shown; a heap has DATA_COMPRESSION alone.
    pub fn shown(&self) -> ShownOptions {
        let of_heap =
            || ShownOptions { compression: self.table.compression, ..ShownOptions::default() };
        self.index().map_or_else(of_heap, |index| index.shown)
    }

    /// Returns the placement on a partition scheme; `None` if it is not partitioned.
    pub fn on(&self) -> Option<&PartitionedOn> {
        match (self.column_index(), self.index()) {
            (Some(index), _) => index.on.as_ref(),
            (None, Some(index)) => index.on.as_ref(),
            (None, None) => match &self.table.columnstore {
                Some(index) => index.on.as_ref(),
                None => self.table.on.as_ref(),
            },
        }
    }

    /// Returns `data_space_id`: the partition scheme, or 1, the primary filegroup. A memory-optimized
    /// table has 0.
    pub fn data_space(&self) -> i32 {
        self.on().map_or(i32::from(!self.table.memory_optimized), |on| on.scheme)
    }

    /// Returns the nonclustered columnstore index, if this is one.
    pub fn column_index(&self) -> Option<&ColumnIndexDef> {
        self.table.column_index.as_ref().filter(|_| self.is_column_index)
    }

    /// Returns COMPRESSION_DELAY in minutes, for a columnstore index.
    pub fn compression_delay(&self) -> Option<i32> {
        let clustered = self.table.columnstore.as_ref().filter(|_| self.place.is_none());
        let delay = self.column_index().map(|index| index.compression_delay);
        delay.or(clustered.map(|index| index.compression_delay))
    }

    /// Returns `index_id`: 0 is the heap.
    pub fn id(&self) -> i32 {
        if let Some(index) = self.column_index() {
            return index.id;
        }
        self.index().map_or(i32::from(self.table.columnstore.is_some()), |index| index.id)
    }

    /// Returns `name`; `None` (NULL) for the heap.
    pub fn name(&self) -> Option<&str> {
        if let Some(index) = self.column_index() {
            return Some(&index.name);
        }
        let columnstore = self.table.columnstore.as_ref().map(|index| index.name.as_str());
        self.index().map(|index| index.name.as_str()).or(columnstore)
    }

    /// Returns the PRIMARY KEY or UNIQUE constraint that the index enforces.
    pub fn constraint(&self) -> Option<IndexConstraint> {
        self.index().and_then(|i| i.constraint)
    }

    /// Returns the index's memory in pages of 8 KB; rows count for the heap or the clustered index.
    pub fn pages(&self) -> Pages {
        let data = &self.table.rows.data;
        if self.is_column_index {
            let groups = data.column_groups().unwrap_or_default();
            let bytes: usize = groups.iter().map(|group| group.bytes).sum();
            let used = pages(u64::try_from(bytes).unwrap_or(u64::MAX));
            return Pages { data: used, used, reserved: used };
        }
        let index = self.index();
        let own = index.and_then(|i| data.index_memory(i.storage_id())).unwrap_or_default();
        if index.is_some_and(|i| !i.clustered) {
            let used = pages(own.used_indexes_bytes);
            return Pages { data: used, used, reserved: pages(own.allocated_indexes_bytes) };
        }
        let all = data.memory();
        Pages {
            data: pages(all.used_rows_bytes),
            used: pages(all.used_rows_bytes + own.used_indexes_bytes),
            reserved: pages(all.allocated_rows_bytes + own.allocated_indexes_bytes),
        }
    }

    /// Returns the index's memory in pages of 8 KB; for the heap or clustered index, including all
    /// other indexes.
    pub fn pages_with_others(&self) -> Pages {
        let own = self.pages();
        if self.is_column_index || self.index().is_some_and(|i| !i.clustered) {
            return own;
        }
        let all = self.table.rows.data.memory();
        Pages {
            data: own.data,
            used: pages(all.used_rows_bytes + all.used_indexes_bytes),
            reserved: pages(all.allocated_rows_bytes + all.allocated_indexes_bytes),
        }
    }

    /// Returns `type` and `type_desc`, such as 2 and `NONCLUSTERED`.
    pub fn kind(&self) -> (u8, &'static str) {
        match self.index() {
            None if self.is_column_index => (6, "NONCLUSTERED COLUMNSTORE"),
            None if self.table.columnstore.is_some() => (5, "CLUSTERED COLUMNSTORE"),
            None => (0, "HEAP"),
            Some(index) => match index.kind {
                IndexKind::Hash => (7, "NONCLUSTERED HASH"),
                IndexKind::Range if index.clustered => (1, "CLUSTERED"),
                IndexKind::Range => (2, "NONCLUSTERED"),
            },
        }
    }
}

/// Memory in pages of 8 KB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pages {
    /// Pages of rows for a heap or clustered index, of index entries otherwise.
    pub data: u64,
    /// Pages in use by rows or index entries.
    pub used: u64,
    /// Pages allocated, in use or not.
    pub reserved: u64,
}

/// SQL Server's page size in bytes.
const PAGE_BYTES: u64 = 8_192;

fn pages(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE_BYTES)
}

/// Returns the indexes selected by the first three arguments of a table function, with their
/// `database_id`s. The arguments are the ids of database, object and index. NULL selects all; so
/// does 0 for database and object, and a negative number for the index.
///
/// # Errors
/// 262 if the login may not see the state of the database, 300 if it asks for all databases without
/// VIEW SERVER STATE.
pub fn asked_indexes(scope: &Scope<'_>) -> Result<Vec<(i16, IndexRow)>> {
    let argument = |place: usize| match scope.arguments.get(place) {
        Some(Value::SmallInt(id)) => Some(i32::from(*id)),
        Some(Value::Int(id)) => Some(*id),
        _ => None,
    };
    let wanted = |asked: Option<i32>, id: i32| asked.is_none_or(|asked| asked == id);
    let database = argument(0).filter(|id| *id != 0);
    let object = argument(1).filter(|id| *id != 0);
    let index = argument(2).filter(|id| *id >= 0);
    let mut found = Vec::new();
    let rights = &scope.session.identity.rights;
    if database.is_none() && !rights.views_server_state() {
        return Err(Msg::ServerPermissionDenied("VIEW SERVER STATE").into());
    }
    for each in scope.session.catalog.databases.values() {
        if !wanted(database, i32::from(each.id)) {
            continue;
        }
        if database.is_some() {
            rights.check_database_state(each)?;
        }
        let rows = index_rows(scope.session, each).into_iter();
        let rows = rows.filter(|row| wanted(object, row.table.id) && wanted(index, row.id()));
        found.extend(rows.map(|row| (each.id, row)));
    }
    Ok(found)
}

/// Returns the indexes of a database's tables that have data, the heap first where no index is clustered. A disabled
/// index has none, unless it is clustered.
pub fn index_rows(session: &SessionState, database: &Database) -> Vec<IndexRow> {
    let mut rows = index_rows_of(tables(session, database));
    rows.retain(|row| !row.is_disabled() || row.index().is_some_and(|index| index.clustered));
    rows
}

/// Returns the indexes that [`index_rows`] does, disabled ones, and those of table types, which have no rows of data
/// and no partitions.
pub fn index_rows_with_types(session: &SessionState, database: &Database) -> Vec<IndexRow> {
    index_rows_of(tables_and_types(session, database))
}

fn index_rows_of(tables: Vec<Arc<TableDef>>) -> Vec<IndexRow> {
    let mut rows = Vec::new();
    let row = |table: &Arc<TableDef>, place, is_column_index| {
        let table = Arc::clone(table);
        IndexRow { table, place, is_column_index }
    };
    for table in tables {
        if !table.indexes.iter().any(|i| i.clustered) {
            rows.push(row(&table, None, false));
        }
        let places = 0..table.indexes.len();
        rows.extend(places.map(|place| row(&table, Some(place), false)));
        rows.extend(table.column_index.as_ref().map(|_| row(&table, None, true)));
    }
    rows
}
