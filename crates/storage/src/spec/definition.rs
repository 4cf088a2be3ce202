//! Definitions of tables and indexes: ids, kinds, specifications; and the figures that describe them.

use types::row::Likeness;

use crate::spec::row::RowImage;

/// A table, by the id that the catalog gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

/// An index of a table, by the id that the catalog gave it (`sys.indexes.index_id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexId(pub u32);

/// Decides how conflicts with explicit transactions are handled.
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
    /// Equality on the whole key.
    Hash {
        /// BUCKET_COUNT: a hint that costs no memory until there are rows.
        bucket_count: u64,
    },
    /// Ranges and prefixes, in both directions.
    Range,
}

/// Whether two live rows may have one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uniqueness {
    /// They may not: [`crate::Error::Unique`].
    Unique,
    /// They may.
    NotUnique,
}

/// Writes the key of a row for one index; the engine makes it of `types::row` and `types::key`.
///
/// The key must be a function of the row alone, and keys must end themselves (no key is a proper
/// prefix of another), as those of `types::key` do. A row that the index leaves out has the empty key.
pub trait KeyExtractor: Send + Sync {
    /// Appends the key of `row` to `key`.
    fn key(&self, row: RowImage<'_>, key: &mut Vec<u8>);

    /// Tells what can be known of two rows' keys without making them.
    fn likeness(&self, _one: RowImage<'_>, _other: RowImage<'_>) -> Likeness {
        Likeness::Unknown
    }
}

impl<F: Fn(RowImage<'_>, &mut Vec<u8>) + Send + Sync> KeyExtractor for F {
    fn key(&self, row: RowImage<'_>, key: &mut Vec<u8>) {
        self(row, key);
    }
}

/// What an index shall be.
pub struct IndexSpec {
    /// Its id, unique within the table.
    pub id: IndexId,
    /// Its structure.
    pub kind: IndexKind,
    /// Whether it refuses duplicates.
    pub uniqueness: Uniqueness,
    /// Its key.
    pub extractor: Box<dyn KeyExtractor>,
}

/// What a table shall be.
pub struct TableSpec {
    /// Its id, unique within the store.
    pub id: TableId,
    /// Its kind.
    pub kind: TableKind,
    /// Its indexes, the primary one first; none makes a heap.
    pub indexes: Vec<IndexSpec>,
    /// The types of its columns, if its rows are compressed by column; what lies in the heap then is the
    /// delta store.
    pub columns: Option<Vec<types::ColumnType>>,
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

/// The figures of a hash index, for `sys.dm_db_xtp_hash_index_stats`; found by walking it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexStatistics {
    /// Buckets allocated.
    pub buckets: u64,
    /// Buckets without an entry.
    pub buckets_empty: u64,
    /// The longest chain, in entries.
    pub chain_max: u64,
    /// Entries, those of versions not yet collected included.
    pub entries: u64,
}
