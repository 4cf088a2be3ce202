//! `Table`: the heads of its rows, its indexes, and its books.

use std::sync::Arc;

use types::row::RowBuffer;

use crate::error::{Error, Result};
use crate::row::{Decision, RowId, RowImage};
use crate::transaction::TransactionOptions;

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
    /// They may not: [`Error::Unique`].
    Unique,
    /// They may.
    NotUnique,
}

/// Writes the key of a row for one index; the engine makes it of `types::row` and `types::key`.
///
/// The key must be a function of the row alone, and keys must end themselves (no key is a proper
/// prefix of another), as those of `types::key` do.
pub trait KeyExtractor: Send + Sync {
    /// Appends the key of `row` to `key`.
    fn key(&self, row: RowImage<'_>, key: &mut Vec<u8>);
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

/// A table.
pub struct Table {
    id: TableId,
    kind: TableKind,
}

impl Table {
    /// Returns the table's id.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// Returns the table's kind.
    pub fn kind(&self) -> TableKind {
        self.kind
    }

    /// Shows the newest committed row with this key to `show`. `index` must be unique, `key` whole.
    /// Writes nothing shared and never waits. `show` should copy what it needs and return at once,
    /// because no memory is reclaimed while it runs.
    pub fn read_point<R>(
        &self,
        index: IndexId,
        key: &[u8],
        show: impl FnOnce(RowImage<'_>) -> R,
    ) -> Option<R> {
        let _ = (index, key, show);
        todo!()
    }

    /// Changes the row with this key, as an autocommit statement of its own.
    ///
    /// `change` sees the newest committed row and decides; for [`Decision::Update`] it leaves the new
    /// row in `buffer` (which it receives cleared). It is called again whenever another writer got in
    /// between, so it must have no effect but on what it captured and will overwrite. Waits, holding
    /// nothing, while an active transaction owns the row. Returns `false` if there is no such row or
    /// the decision was to keep it.
    pub fn change_point<E: From<Error>>(
        &self,
        index: IndexId,
        key: &[u8],
        options: &TransactionOptions,
        buffer: &mut RowBuffer,
        change: impl FnMut(RowImage<'_>, &mut RowBuffer) -> Result<Decision, E>,
    ) -> Result<bool, E> {
        let _ = (index, key, options, buffer, change);
        todo!()
    }

    /// Inserts a row, as an autocommit statement of its own.
    pub fn insert_point(&self, options: &TransactionOptions, row: RowImage<'_>) -> Result<RowId> {
        let _ = (options, row);
        todo!()
    }

    /// Returns the number of committed rows, folded from shards.
    pub fn row_count(&self) -> u64 {
        todo!()
    }

    /// Returns the memory the table uses, folded from shards.
    pub fn memory(&self) -> TableMemory {
        todo!()
    }

    /// Walks an index and returns its figures; `None` if there is no such index.
    pub fn index_statistics(&self, index: IndexId) -> Option<IndexStatistics> {
        let _ = index;
        todo!()
    }

    /// Builds an index over the rows there are, while others read and write.
    /// Fails with [`Error::Unique`] if two live rows have one key.
    pub fn add_index(&self, spec: IndexSpec) -> Result<()> {
        let _ = spec;
        todo!()
    }

    /// Removes an index; returns `false` if there is none with this id.
    pub fn drop_index(&self, index: IndexId) -> bool {
        let _ = index;
        todo!()
    }
}

/// A shared table.
pub type TableHandle = Arc<Table>;
