//! Definitions of tables and indexes: ids, kinds, specifications; and their statistics.

use std::sync::Arc;

use types::row::Likeness;

use crate::spec::RowImage;

/// The id of a table, given by the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

/// The id of an index within its table, given by the catalog (`sys.indexes.index_id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexId(pub u32);

/// The kind of a table: how its write conflicts are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// `MEMORY_OPTIMIZED = ON`: optimistic; the first writer wins, the other gets 41302.
    MemoryOptimized,
    /// An ordinary table: readers see the statement's snapshot, writers wait for each other.
    Ordinary,
}

/// The structure of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// A hash index: equality on the whole key.
    Hash {
        /// BUCKET_COUNT: a hint that costs no memory until there are rows.
        bucket_count: u64,
    },
    /// A range index: ranges and prefixes, in both directions.
    Range,
}

/// Whether two live rows may have one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uniqueness {
    /// They may not; an insert of a second fails with [`crate::Error::Unique`].
    Unique,
    /// They may: an index that is not unique.
    NotUnique,
}

/// Extracts the key of a row for one index; the engine builds it with `types::key`.
///
/// The key must be a function of the row alone, and keys must be self-delimiting (no key is a
/// proper prefix of another), as those of `types::key` are. A row that a filtered index does not
/// contain has the empty key.
pub trait KeyExtractor: Send + Sync {
    /// Appends the key of `row` to `key`.
    fn key(&self, row: RowImage<'_>, key: &mut Vec<u8>);

    /// Returns whether two rows' keys are equal, if that can be known without extracting them.
    fn likeness(&self, _one: RowImage<'_>, _other: RowImage<'_>) -> Likeness {
        Likeness::Unknown
    }

    /// Returns whether some rows may have the empty key, and so no entry in the index.
    fn is_filtered(&self) -> bool {
        true
    }
}

impl<F: Fn(RowImage<'_>, &mut Vec<u8>) + Send + Sync> KeyExtractor for F {
    fn key(&self, row: RowImage<'_>, key: &mut Vec<u8>) {
        self(row, key);
    }
}

/// The definition of an index.
pub struct IndexSpec {
    /// The id of the index, unique within its table.
    pub id: IndexId,
    /// The structure of the index.
    pub kind: IndexKind,
    /// Whether the index refuses duplicate keys.
    pub uniqueness: Uniqueness,
    /// Extracts the key of a row.
    pub extractor: Box<dyn KeyExtractor>,
}

/// The definition of a table.
pub struct TableSpec {
    /// The id of the table, unique within the store.
    pub id: TableId,
    /// The kind of the table.
    pub kind: TableKind,
    /// The indexes, the primary one first; a table without any is a heap.
    pub indexes: Vec<IndexSpec>,
    /// The column types of a table with a clustered columnstore; its heap is then the delta store.
    /// `None` for a table of rows.
    pub columns: Option<Vec<types::ColumnType>>,
    /// The layout of the rows, if changes of the table are written to the store's log; `None` for a
    /// table whose rows do not survive a restart.
    pub durable: Option<Arc<types::row::RowLayout>>,
}

/// The memory of a table, for `sys.dm_db_xtp_table_memory_stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableMemory {
    /// Bytes of row versions and heads in use.
    pub used_rows_bytes: u64,
    /// Bytes of rows allocated, in use or free for reuse.
    pub allocated_rows_bytes: u64,
    /// Bytes of indexes in use.
    pub used_indexes_bytes: u64,
    /// Bytes of indexes allocated.
    pub allocated_indexes_bytes: u64,
}

/// The statistics of an index, for `sys.dm_db_xtp_hash_index_stats`; computed by walking it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexStatistics {
    /// Buckets allocated: of a range index, its leaves.
    pub buckets: u64,
    /// Buckets without an entry.
    pub buckets_empty: u64,
    /// The longest chain, in entries.
    pub chain_max: u64,
    /// Entries, including those of versions that are not collected yet.
    pub entries: u64,
    /// Trees that are read as one range index: more than one if several threads add rising keys.
    pub trees: u64,
}
