//! Creates the storage of a table from its definition: row layout, key extractors and indexes.

use std::sync::Arc;

use sos::memory::{MemoryClerk, with_clerk};
use storage::{IndexId, IndexSpec, KeyExtractor, RowImage, TableKind, TableSpec, Uniqueness};
use types::Collation;
use types::key::{Direction, KeyPart, encode_column};
use types::row::{Likeness, RowLayout};
use types::value::ColumnType;

use super::{
    CatalogCell, ColumnDef, IdentityCounter, IdentitySpec, IndexDef, IndexFilter, IndexKind,
    TableDef, TableRows,
};

/// Buckets of a hash index declared without BUCKET_COUNT.
const BUCKET_COUNT_DEFAULT: u64 = 1_024;

/// Storage is charged to this clerk, not to the one for definitions.
const CLERK_OF_ROWS: MemoryClerk = MemoryClerk::StorageEngine;

/// Returns the row layout of a table with these columns.
pub fn layout_of(columns: &[ColumnDef]) -> Arc<RowLayout> {
    let types: Vec<ColumnType> = columns.iter().map(|c| c.ty).collect();
    with_clerk(CLERK_OF_ROWS, || Arc::new(RowLayout::new(&types)))
}

/// What storage needs to know of a table.
pub struct RowShape<'a> {
    /// Columns, indexed by ordinal.
    pub columns: &'a [ColumnDef],
    /// Indexes, hash and range.
    pub indexes: &'a [IndexDef],
    /// Offset of each column in an encoded row.
    pub layout: &'a Arc<RowLayout>,
    /// Whether MEMORY_OPTIMIZED = ON.
    pub memory_optimized: bool,
    /// Whether it has a clustered columnstore index.
    pub has_columns: bool,
    /// Whether its rows survive a restart.
    pub durable: bool,
    /// The id that storage had for it before a restart; `None` for a new table.
    pub restored: Option<storage::TableId>,
}

/// Creates an empty storage table for a definition's columns and indexes.
pub fn create_rows(
    store: &Arc<storage::Store>,
    cell: &CatalogCell,
    shape: &RowShape<'_>,
) -> types::Result<Arc<TableRows>> {
    let make = || {
        let indexes = shape.indexes.iter().map(|i| index_spec(i, shape.columns, shape.layout));
        store.create_table(TableSpec {
            id: shape.restored.unwrap_or_else(|| cell.next_storage_id()),
            kind: if shape.memory_optimized {
                TableKind::MemoryOptimized
            } else {
                TableKind::Ordinary
            },
            indexes: indexes.collect(),
            columns: shape.has_columns.then(|| shape.columns.iter().map(|c| c.ty).collect()),
            durable: shape.durable.then(|| Arc::clone(shape.layout)),
        })
    };
    let data = with_clerk(CLERK_OF_ROWS, make).map_err(|_| types::Msg::OutOfMemory)?;
    let counted = shape.columns.iter().find(|column| column.identity.is_some());
    let identity = IdentityCounter::new(&IdentitySpec {
        identity: counted.and_then(|column| column.identity),
        data_type: counted.map(|column| &column.ty.data_type),
        table: data.id(),
        log: cell.counter_log().filter(|_| shape.durable),
    });
    let statistics = super::StatisticsCell::default();
    Ok(Arc::new(TableRows { data, identity, statistics }))
}

/// Id of tempdb, which is empty after each start.
pub const TEMPDB: i16 = 2;

/// Returns whether the rows of a table survive a restart; see [`TableDef::is_durable`].
pub fn is_durable(id: i32, database_id: i16, schema_only: bool) -> bool {
    id > 0 && database_id != TEMPDB && !schema_only
}

/// Returns the first identity value of a table with these columns; 0 without an identity column.
pub fn identity_seed(columns: &[ColumnDef]) -> i64 {
    columns.iter().find_map(|c| c.identity).map_or(0, |(seed, _)| seed)
}

/// Returns storage's description of an index.
pub fn index_spec(index: &IndexDef, columns: &[ColumnDef], layout: &Arc<RowLayout>) -> IndexSpec {
    let layout = Arc::clone(layout);
    let parts: Box<[(usize, KeyPart)]> = index
        .keys
        .iter()
        .map(|&(c, d)| (usize::from(c), key_part(&columns[usize::from(c)], d)))
        .collect();
    let filter = index.filter.clone();
    IndexSpec {
        id: index.storage_id(),
        kind: match index.kind {
            IndexKind::Hash => storage::IndexKind::Hash {
                bucket_count: index.bucket_count.unwrap_or(BUCKET_COUNT_DEFAULT),
            },
            IndexKind::Range => storage::IndexKind::Range,
        },
        uniqueness: if index.unique { Uniqueness::Unique } else { Uniqueness::NotUnique },
        extractor: Box::new(RowKey { layout, parts, filter }),
    }
}

/// Computes the keys of an index from rows.
struct RowKey {
    layout: Arc<RowLayout>,
    /// Ordinal and encoding of each key column.
    parts: Box<[(usize, KeyPart)]>,
    filter: Option<Arc<IndexFilter>>,
}

impl KeyExtractor for RowKey {
    fn key(&self, row: RowImage<'_>, key: &mut Vec<u8>) {
        let view = self.layout.view(row.bytes, row.blobs);
        if self.filter.as_ref().is_some_and(|filter| !filter.admits(&view)) {
            return;
        }
        for &(ordinal, part) in &self.parts {
            encode_column(&view, ordinal, part, key);
        }
    }

    fn likeness(&self, one: RowImage<'_>, other: RowImage<'_>) -> Likeness {
        if self.filter.is_some() {
            return Likeness::Unknown;
        }
        let one = self.layout.view(one.bytes, one.blobs);
        let other = self.layout.view(other.bytes, other.blobs);
        let mut likeness = Likeness::Same;
        for &(ordinal, _) in &self.parts {
            match one.likeness(&other, ordinal) {
                Likeness::Same => {}
                Likeness::Differs => return Likeness::Differs,
                Likeness::Unknown => likeness = Likeness::Unknown,
            }
        }
        likeness
    }

    fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }
}

/// Returns how a column is encoded in a key.
pub fn key_part(column: &ColumnDef, descending: bool) -> KeyPart {
    let direction = if descending { Direction::Descending } else { Direction::Ascending };
    let collation =
        if column.ty.data_type.is_string() { column.ty.collation } else { Collation::default() };
    KeyPart { collation, direction }
}

impl IndexDef {
    /// Returns the id that storage has for the index.
    pub fn storage_id(&self) -> IndexId {
        IndexId(self.id.unsigned_abs())
    }

    /// Returns whether no two rows of the table have equal values in its columns.
    pub fn is_key(&self) -> bool {
        self.unique && self.filter.is_none()
    }
}

impl TableDef {
    /// Returns whether it has a clustered columnstore index of this name.
    pub fn has_columnstore(&self, name: &str) -> bool {
        let is_same = |index: &super::ColumnstoreDef| super::name::Name::same(&index.name, name);
        self.columnstore.as_ref().is_some_and(is_same)
    }

    /// Returns whether it has a nonclustered columnstore index of this name.
    pub fn has_column_index(&self, name: &str) -> bool {
        let is_same = |index: &super::ColumnIndexDef| super::name::Name::same(&index.name, name);
        self.column_index.as_ref().is_some_and(is_same)
    }

    /// Returns how the columns of an index's key are encoded.
    pub fn key_parts(&self, index: usize) -> impl Iterator<Item = KeyPart> {
        self.indexes[index]
            .keys
            .iter()
            .map(|&(ordinal, descending)| key_part(&self.columns[usize::from(ordinal)], descending))
    }

    /// Returns whether its rows survive a restart: not those of temporary tables, of tables in
    /// tempdb, and of memory-optimized tables with DURABILITY = SCHEMA_ONLY.
    pub fn is_durable(&self) -> bool {
        is_durable(self.id, self.database_id, self.schema_only)
    }

    /// Returns an empty table with the same definition: a table variable in one execution.
    pub fn instantiate(
        &self,
        store: &Arc<storage::Store>,
        cell: &CatalogCell,
    ) -> types::Result<Arc<TableRows>> {
        let shape = RowShape {
            columns: &self.columns,
            indexes: &self.indexes,
            layout: &self.layout,
            memory_optimized: self.memory_optimized,
            has_columns: self.columnstore.is_some(),
            durable: false,
            restored: None,
        };
        let rows = create_rows(store, cell, &shape)?;
        rows.data.make_private();
        Ok(rows)
    }
}
