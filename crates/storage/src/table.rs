//! `Table`: the heads of its rows, its indexes, and its books.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::chain::versions;
use crate::error::{Error, Result};
use crate::head::{Heap, HeapPosition, RowHead};
use crate::index::Index;
use crate::keys::{KeyTaken, check_free, has_key, with_buffer};
use crate::reclaim::{Guard, Published, pin, retire_version};
use crate::row::RowImage;
use crate::store::Shared;
use crate::sync::ShardedCounter;
use crate::version::{Begin, Version, VersionKind};

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
    pub(crate) heap: Heap,
    indexes: Published<Vec<Arc<Index>>>,
    pub(crate) shared: Arc<Shared>,
    rows: ShardedCounter,
    row_bytes: ShardedCounter,
}

impl Table {
    pub(crate) fn new(spec: TableSpec, shared: Arc<Shared>) -> Self {
        Self {
            id: spec.id,
            kind: spec.kind,
            heap: Heap::new(),
            indexes: Published::new(
                spec.indexes.into_iter().map(Index::new).map(Arc::new).collect(),
            ),
            shared,
            rows: ShardedCounter::default(),
            row_bytes: ShardedCounter::default(),
        }
    }

    /// Returns the table's id.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// Returns the table's kind.
    pub fn kind(&self) -> TableKind {
        self.kind
    }

    pub(crate) fn indexes<'g>(&'g self, guard: &'g Guard) -> &'g [Arc<Index>] {
        self.indexes.load(guard)
    }

    /// Finds an index.
    ///
    /// # Panics
    /// The catalog and the table agree on the indexes there are.
    pub(crate) fn index<'g>(&'g self, id: IndexId, guard: &'g Guard) -> &'g Arc<Index> {
        let index = self.indexes(guard).iter().find(|index| index.id == id);
        index.expect("the catalog asks for indexes that are there")
    }

    /// Allocates a version and books its memory.
    pub(crate) fn new_version(
        &self,
        kind: VersionKind,
        (begin, command): (Begin, u32),
        next: *mut Version,
        image: RowImage<'_>,
    ) -> Result<NonNull<Version>> {
        let version = Version::allocate(kind, begin, command, next, image)?;
        // SAFETY: fresh, owned by the caller.
        self.row_bytes.add(unsafe { version.as_ref() }.memory());
        Ok(version)
    }

    /// Frees a version that has just been unlinked, when nobody can see it any more.
    pub(crate) fn release_version(&self, version: NonNull<Version>, guard: &Guard) {
        // SAFETY: the caller has unlinked it and is alone in retiring it.
        self.row_bytes.add(-unsafe { version.as_ref() }.memory());
        // SAFETY: as above.
        unsafe { retire_version(guard, version) };
    }

    /// Books a committed change of the number of rows.
    pub(crate) fn count_rows(&self, change: i64) {
        self.rows.add(change);
    }

    /// Returns the number of committed rows, folded from shards.
    pub fn row_count(&self) -> u64 {
        self.rows.sum()
    }

    /// Returns the memory the table uses, folded from shards.
    pub fn memory(&self) -> TableMemory {
        let guard = pin();
        let heap_bytes = self.heap.memory();
        let mut sums = TableMemory {
            used_rows_bytes: self.row_bytes.sum(),
            allocated_rows_bytes: self.row_bytes.sum() + heap_bytes,
            ..TableMemory::default()
        };
        for index in self.indexes(&guard) {
            index.add_memory(&mut sums, &guard);
        }
        sums
    }

    /// Walks an index and returns its figures; `None` if there is no such index.
    pub fn index_statistics(&self, index: IndexId) -> Option<IndexStatistics> {
        let guard = pin();
        self.indexes(&guard).iter().find(|i| i.id == index).map(|index| index.statistics(&guard))
    }

    /// Builds an index over the rows there are, while others read and write.
    /// Fails with [`Error::Unique`] if two live rows have one key.
    pub fn add_index(&self, spec: IndexSpec) -> Result<()> {
        let guard = pin();
        let index = Arc::new(Index::new(spec));
        let mut position = HeapPosition::default();
        let mut heads = Vec::new();
        loop {
            heads.clear();
            self.heap.walk(&mut position, &mut heads, 64);
            if heads.is_empty() {
                break;
            }
            for head in &heads {
                self.index_row(&index, head, &guard)?;
            }
        }
        let mut indexes = self.indexes(&guard).to_vec();
        indexes.push(index);
        self.indexes.replace(indexes);
        Ok(())
    }

    fn index_row(&self, index: &Index, head: &RowHead, guard: &Guard) -> Result<()> {
        let mut first: Option<RowImage<'_>> = None;
        for version in versions(head.latest(), guard) {
            if version.kind != VersionKind::Data {
                continue;
            }
            let image = version.image();
            let added = with_buffer(|key| {
                index.extractor.key(image, key);
                if first.is_some_and(|first| !has_key(index, first, key)) {
                    head.note_keys_changed();
                }
                first = first.or(Some(image));
                let me = std::ptr::null();
                let clock = &self.shared.clock;
                let check = |other: &RowHead| check_free(index, key, other, me, clock, guard);
                index.add(key, head, guard, check, || {})
            });
            match added {
                Ok(()) => {}
                Err(KeyTaken::Duplicate { index, key }) => {
                    return Err(Error::Unique { table: self.id, index, key });
                }
                Err(KeyTaken::Busy { .. }) => return Err(Error::Restart),
            }
        }
        Ok(())
    }

    /// Removes an index; returns `false` if there is none with this id.
    pub fn drop_index(&self, index: IndexId) -> bool {
        let guard = pin();
        let mut indexes = self.indexes(&guard).to_vec();
        let before = indexes.len();
        indexes.retain(|other| other.id != index);
        let is_dropped = indexes.len() < before;
        if is_dropped {
            self.indexes.replace(indexes);
        }
        is_dropped
    }
}
