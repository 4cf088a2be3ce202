//! `Table`: the heads of its rows, its indexes, its row locks, its row groups and its counters.
//!
//! What a writer must check is in one set that is replaced as a whole (`index_set.rs`), so one load
//! under a pin gives indexes, gate and columnstore index of the same moment.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::index::Index;
use crate::primitives::{
    AtomicBool, AtomicI64, AtomicU64, Guard, Ordering, Published, Shards, SpinClass, SpinLock, pin,
};
use crate::row_lock::LockBook;
use crate::spec::{
    Error, IndexId, IndexStatistics, Result, RowImage, TableId, TableKind, TableMemory, TableSpec,
};
use crate::store::operations::RowTally;
use crate::store::{ColumnStore, Durable, Gate, IndexSet, Need, Pickers, Shared, TableUses, Trust};
use crate::version::{Begin, Heap, Version, VersionKind, retire_version};

/// A table: rows, indexes, locks and row groups.
pub struct Table {
    id: TableId,
    kind: TableKind,
    /// Whether it is a temporary table or a table variable.
    is_private: AtomicBool,
    pub(crate) heap: Heap,
    indexes: Published<IndexSet>,
    /// Held while the set of indexes is replaced.
    definition: SpinLock<()>,
    /// The locks on rows and key ranges.
    pub(crate) book: LockBook,
    pub(crate) pickers: Pickers,
    pub(crate) shared: Arc<Shared>,
    columnstore: Option<Box<ColumnStore>>,
    /// `None` for a table that does not survive a restart.
    pub(crate) durable: Option<Box<Durable>>,
    /// Since when there have been enough rows outside the columnstore index for another group, in
    /// milliseconds of the machine's clock; 0 if there are not enough.
    loose_since_ms: AtomicU64,
    /// Whether the table was dropped and its garbage notes are purged: no new one may be left.
    forgotten: AtomicBool,
    counts: Shards<Counts>,
    uses: TableUses,
}

/// What one thread has added to the counts of a table.
#[derive(Default)]
struct Counts {
    /// Rows that are committed and not deleted.
    rows: AtomicI64,
    /// Bytes that the row versions take in sum.
    row_bytes: AtomicI64,
    tally: RowTally,
}

impl Table {
    pub(crate) fn new(spec: TableSpec, shared: Arc<Shared>) -> Self {
        let durable = spec.durable.map(|layout| Durable { layout: Some(layout), part: 0 });
        let is_durable = durable.is_some();
        let part = |number, part| {
            let durable = is_durable.then_some(Durable { layout: None, part: number });
            Self::part(TableSpec { id: spec.id, ..part }, durable, Arc::clone(&shared))
        };
        let columns = spec.columns;
        let columnstore = columns.map(|columns| Box::new(ColumnStore::new(columns, part)));
        let spec = TableSpec { columns: None, durable: None, ..spec };
        Self { columnstore, ..Self::part(spec, durable, Arc::clone(&shared)) }
    }

    /// Makes a table of rows: one without columns, or one of the parts of a table with columns.
    fn part(spec: TableSpec, durable: Option<Durable>, shared: Arc<Shared>) -> Self {
        let indexes = spec.indexes.into_iter().map(Index::new).map(Arc::new).collect();
        Self {
            id: spec.id,
            kind: spec.kind,
            is_private: AtomicBool::new(false),
            heap: Heap::new(),
            indexes: Published::new(IndexSet {
                list: indexes,
                trust: Trust::Plan,
                gate: Gate::OPEN,
                has_holds: false,
                columns: None,
            }),
            definition: SpinLock::new(SpinClass::XtpIndex, ()),
            book: LockBook::default(),
            pickers: Pickers::default(),
            shared,
            columnstore: None,
            durable: durable.map(Box::new),
            loose_since_ms: AtomicU64::new(0),
            forgotten: AtomicBool::new(false),
            counts: Shards::default(),
            uses: TableUses::default(),
        }
    }

    /// Returns the id of the table.
    pub fn id(&self) -> TableId {
        self.id
    }

    // Relaxed, here and below: ordered by the locks of the garbage queues.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.forgotten.load(Ordering::Relaxed)
    }

    pub(crate) fn forget(&self) {
        self.forgotten.store(true, Ordering::Relaxed);
    }

    /// Returns how often statements have used its indexes.
    pub fn uses(&self) -> &TableUses {
        &self.uses
    }

    /// Returns the kind of the table.
    pub fn kind(&self) -> TableKind {
        self.kind
    }

    pub(crate) fn indexes<'g>(&'g self, guard: &'g Guard) -> &'g [Arc<Index>] {
        &self.index_set(guard).list
    }

    pub(crate) fn index_set<'g>(&'g self, guard: &'g Guard) -> &'g IndexSet {
        self.indexes.load(guard)
    }

    /// Replaces the set of indexes by what `change` makes of it.
    pub(crate) fn change_indexes(&self, change: impl FnOnce(&IndexSet) -> IndexSet) {
        let guard = pin();
        let _alone = self.definition.lock();
        self.indexes.replace(change(self.indexes.load(&guard)));
    }

    /// Finds an index. [`Error::Closed`] if it was dropped since the statement was planned.
    pub(crate) fn index<'g>(&'g self, id: IndexId, guard: &'g Guard) -> Result<&'g Arc<Index>> {
        self.find_index(id, guard).ok_or(Error::Closed(self.id))
    }

    /// Finds an index that no open transaction has dropped.
    pub(crate) fn find_index<'g>(
        &'g self,
        id: IndexId,
        guard: &'g Guard,
    ) -> Option<&'g Arc<Index>> {
        self.indexes(guard).iter().find(|index| index.id == id && !index.is_suspended())
    }

    /// Allocates a version and adds its memory to the table's.
    pub(crate) fn new_version(
        &self,
        kind: VersionKind,
        (begin, command): (Begin, u32),
        next: *mut Version,
        image: RowImage<'_>,
    ) -> Result<NonNull<Version>> {
        let need = if kind == VersionKind::Data { self.need() } else { Need::Removal };
        need.check()?;
        let version = Version::allocate(kind, begin, command, next, image)?;
        // SAFETY: fresh, owned by the caller.
        self.add_bytes(unsafe { version.as_ref() }.memory());
        Ok(version)
    }

    /// Like [`Self::new_version`], for a row that a start puts back: what was there before the stop
    /// may take a little more memory after it.
    pub(crate) fn restored_version(
        &self,
        begin: Begin,
        image: RowImage<'_>,
    ) -> Result<NonNull<Version>> {
        Need::Work.check()?;
        let none = std::ptr::null_mut();
        let version = Version::allocate(VersionKind::Data, begin, 0, none, image)?;
        // SAFETY: fresh, owned by the caller.
        self.add_bytes(unsafe { version.as_ref() }.memory());
        Ok(version)
    }

    /// Marks the table as one session's: its rows are a part of that session's work.
    pub fn make_private(&self) {
        self.is_private.store(true, Ordering::Relaxed);
    }

    /// Returns as what its rows ask for memory.
    #[inline]
    pub(crate) fn need(&self) -> Need {
        if self.is_private.load(Ordering::Relaxed) { Need::Work } else { Need::Row }
    }

    /// Frees a version that has just been unlinked, once no thread can see it any more.
    pub(crate) fn release_version(&self, version: NonNull<Version>, guard: &Guard) {
        // SAFETY: the caller has unlinked it and is alone in retiring it.
        self.add_bytes(-unsafe { version.as_ref() }.memory());
        // SAFETY: as above.
        unsafe { retire_version(guard, version) };
    }

    /// Adds a committed change to the number of rows.
    pub(crate) fn count_rows(&self, change: i64) {
        self.counts.own().rows.fetch_add(change, Ordering::Relaxed);
    }

    #[inline]
    fn add_bytes(&self, bytes: i64) {
        self.counts.own().row_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds up what all threads have counted; at least 0. Writes at the same time may be missed.
    fn sum(&self, of: fn(&Counts) -> &AtomicI64) -> u64 {
        let sum: i64 = self.counts.iter().map(|own| of(own).load(Ordering::Relaxed)).sum();
        u64::try_from(sum).unwrap_or(0)
    }

    /// Returns what the calling thread counts of operations.
    #[inline]
    pub(super) fn tally(&self) -> &RowTally {
        &self.counts.own().tally
    }

    /// Iterates over what all threads have counted of operations.
    pub(super) fn tallies(&self) -> impl Iterator<Item = &RowTally> {
        self.counts.iter().map(|own| &own.tally)
    }

    /// Returns the number of committed rows outside row groups, like [`Self::row_count`].
    pub fn delta_rows(&self) -> u64 {
        self.sum(|own| &own.rows)
    }

    /// Records whether there are enough rows for another group of the columnstore index; returns
    /// for how long there have been, in milliseconds.
    pub fn note_loose(&self, are_enough: bool, now_ms: u64) -> Option<u64> {
        // Relaxed: it orders no other memory, and only one thread calls this.
        let before = self.loose_since_ms.load(Ordering::Relaxed);
        let since = if before == 0 { now_ms.max(1) } else { before };
        self.loose_since_ms.store(if are_enough { since } else { 0 }, Ordering::Relaxed);
        are_enough.then(|| now_ms.saturating_sub(since))
    }

    /// Returns the row groups of a table with a clustered columnstore; `None` for a table of rows.
    pub fn columnstore(&self) -> Option<&ColumnStore> {
        self.columnstore.as_deref()
    }

    /// Iterates over this table and the internal tables that belong to it.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Self> {
        let parts = self.columnstore().map(ColumnStore::parts);
        std::iter::once(self).chain(parts.into_iter().flatten())
    }

    /// Returns the memory that the table uses.
    pub fn memory(&self) -> TableMemory {
        let guard = pin();
        let heap_bytes = self.heap.memory();
        let row_bytes = self.sum(|own| &own.row_bytes);
        let mut sums = TableMemory {
            used_rows_bytes: row_bytes,
            allocated_rows_bytes: row_bytes + heap_bytes,
            ..TableMemory::default()
        };
        for index in self.indexes(&guard) {
            index.add_memory(&mut sums, &guard);
        }
        if let Some(columns) = &self.index_set(&guard).columns {
            sums.used_indexes_bytes += columns.memory();
            sums.allocated_indexes_bytes += columns.memory();
        }
        for part in self.parts().skip(1) {
            let memory = part.memory();
            sums.used_rows_bytes += memory.used_rows_bytes;
            sums.allocated_rows_bytes += memory.allocated_rows_bytes;
            sums.used_indexes_bytes += memory.used_indexes_bytes;
            sums.allocated_indexes_bytes += memory.allocated_indexes_bytes;
        }
        sums
    }

    /// Returns the memory of one index; `None` if there is no such index.
    pub fn index_memory(&self, index: IndexId) -> Option<TableMemory> {
        let guard = pin();
        let index = self.find_index(index, &guard)?;
        let mut sums = TableMemory::default();
        index.add_memory(&mut sums, &guard);
        Some(sums)
    }

    /// Computes the statistics of an index by walking it; `None` if there is no such index.
    pub fn index_statistics(&self, index: IndexId) -> Option<IndexStatistics> {
        let guard = pin();
        self.find_index(index, &guard).map(|index| index.statistics(&guard))
    }
}
