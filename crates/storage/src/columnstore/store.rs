//! The row groups of a table, as rows of three tables of storage's own.
//!
//! ```text
//!  Table ── heap: the delta store, rows as in any table
//!        └─ ColumnStore ── groups:  (group) with its segments as blobs; a row is published as one pointer
//!                       ├─ deleted: (group, row), unique: the delete bitmap
//!                       └─ shown:   (group, row), the first of each part that has moved: `moving.rs`
//! ```
//!
//! So a row group is visible from the commit of its transaction on, never in part, to those snapshots that see
//! the commit; and who deletes a compressed row competes for a key, as for any other. A compressed row that is
//! changed moves to the delta store first ([`Transaction::take_compressed`]); nothing changes a segment.

use types::{Bytes, ColumnType};

use super::Segment;
use crate::error::{Error, Result};
use crate::row::{RowImage, RowRef};
use crate::scan::{Bounds, Order, ScanSpec};
use crate::store::Store;
use crate::sync::{AtomicU64, Ordering, SpinClass, SpinLock};
use crate::table::{IndexId, IndexKind, IndexSpec, Table, TableKind, TableSpec, Uniqueness};
use crate::transaction::{Read, Transaction, TransactionOptions};

/// The one index of each table.
pub(super) const BY_KEY: IndexId = IndexId(1);
/// Bytes of a group's number, and of its key; behind it lie why it was closed and whether it is `MOVING`.
pub(super) const GROUP_BYTES: usize = 8;
/// Bytes of the key of a deleted row.
pub(super) const PLACE_BYTES: usize = GROUP_BYTES + 4;
/// What the last byte of a group says while its rows come from the delta store.
const MOVING: u8 = 1;
/// Rows that are read at once.
const BATCH: usize = 1_024;

/// Why a row group was closed: `trim_reason` of `sys.dm_db_column_store_row_group_physical_stats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trim {
    /// It is full.
    None,
    /// The load had no more rows.
    BulkLoad,
    /// REBUILD, or the index was made, and there were no more rows.
    Rebuild,
    /// It was full, and the tuple mover compressed it.
    Moved,
    /// It was full, and REORGANIZE compressed it.
    Reorganize,
    /// Memory was short.
    Memory,
}

impl Trim {
    const ALL: [Self; 6] =
        [Self::None, Self::BulkLoad, Self::Rebuild, Self::Moved, Self::Reorganize, Self::Memory];
}

/// A compressed row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Its group.
    pub group: u64,
    /// Its number within.
    pub row: u32,
}

impl Place {
    pub(super) fn key(self) -> [u8; PLACE_BYTES] {
        let mut key = [0; PLACE_BYTES];
        key[..GROUP_BYTES].copy_from_slice(&self.group.to_be_bytes());
        key[GROUP_BYTES..].copy_from_slice(&self.row.to_be_bytes());
        key
    }

    pub(crate) fn of_key(key: &[u8]) -> Self {
        let row = key[GROUP_BYTES..].first_chunk().expect("a place has a row's number");
        Self { group: group_of(key), row: u32::from_be_bytes(*row) }
    }
}

/// The key of a group, and the beginning of those of its rows.
pub(super) fn group_key(group: u64) -> [u8; GROUP_BYTES] {
    group.to_be_bytes()
}

fn group_of(key: &[u8]) -> u64 {
    u64::from_be_bytes(*key.first_chunk().expect("a key begins with a group's number"))
}

/// A row group that a transaction sees; valid as long as the borrow of the transaction.
#[derive(Clone, Copy, Debug)]
pub struct RowGroup<'t> {
    image: RowImage<'t>,
}

impl<'t> RowGroup<'t> {
    /// The group that an image is of.
    pub(super) const fn of(image: RowImage<'t>) -> Self {
        Self { image }
    }

    /// Returns its number: unique in its table, given out once.
    pub fn id(&self) -> u64 {
        group_of(self.image.bytes)
    }

    /// Returns the number of rows, deleted ones included.
    pub fn rows(&self) -> usize {
        self.image.blobs.first().map_or(0, |bytes| Segment::open(bytes).rows())
    }

    /// Returns why it was closed.
    pub fn trim(&self) -> Trim {
        Trim::ALL[usize::from(self.image.bytes[GROUP_BYTES])]
    }

    /// Tells whether its rows are still on their way from the delta store.
    pub fn is_moving(&self) -> bool {
        self.image.bytes[GROUP_BYTES + 1] == MOVING
    }

    /// Returns the segment of a column.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn segment(&self, column: usize) -> Segment<'t> {
        Segment::open(&self.image.blobs[column])
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.image.blobs.len()
    }
}

/// What a table has beside its delta store.
pub struct ColumnStore {
    columns: Vec<ColumnType>,
    pub(super) groups: Table,
    pub(super) deleted: Table,
    pub(super) shown: Table,
    next: AtomicU64,
    mover: SpinLock<MoverState>,
}

/// What the tuple mover knows of a table.
#[derive(Clone, Copy, Debug, Default)]
struct MoverState {
    /// Whether it is at work.
    is_busy: bool,
    /// Whether a move may have been given up: some group may hold rows that are not shown.
    is_unsettled: bool,
    /// When it first saw that the delta store is full, in milliseconds of the machine's clock.
    full_since_ms: Option<u64>,
}

/// The right to move rows of a table, which one has at a time.
pub struct Mover<'t>(&'t ColumnStore);

impl Drop for Mover<'_> {
    fn drop(&mut self) {
        let mut state = self.0.mover.lock();
        *state = MoverState { is_unsettled: state.is_unsettled, ..MoverState::default() };
    }
}

impl ColumnStore {
    /// Makes the tables; they are known by the same id as the table that they are part of.
    pub(crate) fn new(columns: Vec<ColumnType>, part: impl Fn(TableSpec) -> Table) -> Self {
        let by_first = |bytes: usize| TableSpec {
            // The table that this is part of gives its own.
            id: crate::table::TableId(0),
            kind: TableKind::Ordinary,
            indexes: vec![IndexSpec {
                id: BY_KEY,
                kind: IndexKind::Range,
                uniqueness: Uniqueness::Unique,
                extractor: Box::new(move |row: RowImage<'_>, key: &mut Vec<u8>| {
                    key.extend_from_slice(&row.bytes[..bytes]);
                }),
            }],
            columns: None,
        };
        let [deleted, shown] = [PLACE_BYTES; 2].map(|bytes| part(by_first(bytes)));
        let mover = SpinLock::new(SpinClass::XtpTransaction, MoverState::default());
        let next = AtomicU64::new(0);
        Self { columns, groups: part(by_first(GROUP_BYTES)), deleted, shown, next, mover }
    }

    /// Takes the right to move rows; none while another has it.
    pub fn try_move(&self) -> Option<Mover<'_>> {
        let mut state = self.mover.lock();
        (!std::mem::replace(&mut state.is_busy, true)).then_some(Mover(self))
    }

    /// Tells whether a move may have been given up half-way.
    pub(super) fn is_unsettled(&self) -> bool {
        self.mover.lock().is_unsettled
    }

    pub(super) fn note_unsettled(&self) {
        self.mover.lock().is_unsettled = true;
    }

    pub(super) fn note_settled(&self) {
        self.mover.lock().is_unsettled = false;
    }

    /// Notes whether the delta store is full; returns for how long it has been so, in milliseconds.
    pub fn note_full(&self, is_full: bool, now_ms: u64) -> Option<u64> {
        let mut state = self.mover.lock();
        let since = is_full.then(|| state.full_since_ms.unwrap_or(now_ms));
        state.full_since_ms = since;
        since.map(|since| now_ms.saturating_sub(since))
    }

    /// Returns the types of the columns.
    pub fn columns(&self) -> &[ColumnType] {
        &self.columns
    }

    pub(crate) fn parts(&self) -> [&Table; 3] {
        [&self.groups, &self.deleted, &self.shown]
    }

    /// Returns the number of committed rows in groups, without those that are deleted.
    pub(crate) fn row_count(&self) -> u64 {
        let reader = Store::of(&self.groups.shared).begin(TransactionOptions::STATEMENT);
        let groups = groups_of(&reader, self, Read::COMMITTED).unwrap_or_default();
        let rows: usize = groups.iter().map(|group| self.shown_rows(&reader, *group)).sum();
        u64::try_from(rows).unwrap_or(u64::MAX).saturating_sub(self.deleted.row_count())
    }

    /// Returns the number of rows of a group, without those that are not shown yet.
    fn shown_rows(&self, reader: &Transaction, group: RowGroup<'_>) -> usize {
        let mut hidden = Vec::new();
        // A count that can't be read counts nothing.
        let read = reader.add_hidden_rows(self, group, Read::COMMITTED, &mut hidden);
        if read.is_ok() { group.rows() - hidden.len() } else { 0 }
    }
}

fn groups_of<'t>(
    transaction: &'t Transaction,
    store: &'t ColumnStore,
    read: Read,
) -> Result<Vec<RowGroup<'t>>> {
    let mut images = Vec::new();
    let spec = ScanSpec { index: Some(BY_KEY), bounds: Bounds::ALL, order: Order::Forward, read };
    let mut scan = transaction.scan(&store.groups, spec)?;
    loop {
        let before = images.len();
        scan.next_images(&mut images, before + BATCH)?;
        if images.len() == before {
            return Ok(images.into_iter().map(|image| RowGroup { image }).collect());
        }
    }
}

impl Transaction {
    /// Returns the row groups of a table that the transaction sees, by number; none if it has no columns.
    ///
    /// # Errors
    /// As [`Transaction::scan`].
    pub fn row_groups<'t>(&'t self, table: &'t Table, read: Read) -> Result<Vec<RowGroup<'t>>> {
        table.columnstore().map_or(Ok(Vec::new()), |store| groups_of(self, store, read))
    }

    /// Returns the rows of a group that the transaction does not see, in order: those that are deleted, and
    /// those that lie in the delta store still.
    ///
    /// # Errors
    /// As [`Transaction::scan`].
    pub fn deleted_rows(&self, table: &Table, group: u64, read: Read) -> Result<Vec<u32>> {
        let Some(store) = table.columnstore() else { return Ok(Vec::new()) };
        let key = group_key(group);
        let bounds = Bounds::prefix(&key);
        let spec = ScanSpec { index: Some(BY_KEY), bounds, order: Order::Forward, read };
        let mut scan = self.scan(&store.deleted, spec)?;
        let (mut rows, mut images) = (Vec::new(), Vec::new());
        loop {
            images.clear();
            scan.next_images(&mut images, BATCH)?;
            if images.is_empty() {
                break;
            }
            rows.extend(images.iter().map(|image| Place::of_key(image.bytes).row));
        }
        if let Some(row) = self.get(&store.groups, BY_KEY, &key, read)? {
            self.add_hidden_rows(store, RowGroup { image: row.image() }, read, &mut rows)?;
        }
        Ok(rows)
    }

    /// Publishes a row group: its segments, one per column.
    ///
    /// # Errors
    /// As [`Transaction::insert`].
    ///
    /// # Panics
    /// If the table has no columns, or not so many.
    pub fn add_row_group(&self, table: &Table, segments: &[Bytes], trim: Trim) -> Result<()> {
        self.add_group(table, segments, [trim as u8, 0]).map(|_| ())
    }

    /// Publishes a row group none of whose rows is shown; returns its number.
    pub(super) fn add_hidden_group(
        &self,
        table: &Table,
        segments: &[Bytes],
        trim: Trim,
    ) -> Result<u64> {
        self.add_group(table, segments, [trim as u8, MOVING])
    }

    fn add_group(&self, table: &Table, segments: &[Bytes], note: [u8; 2]) -> Result<u64> {
        let store = table.columnstore().expect("row groups are added to tables that have columns");
        assert_eq!(segments.len(), store.columns.len(), "a group has a segment per column");
        let rows = segments.iter().map(|bytes| Segment::open(bytes).rows());
        assert!(rows.clone().min() == rows.max(), "the segments of a group are equally long");
        // Relaxed: only uniqueness is asked for.
        let id = store.next.fetch_add(1, Ordering::Relaxed);
        let bytes = [&group_key(id)[..], &note[..]].concat();
        self.insert(&store.groups, RowImage { bytes: &bytes, blobs: segments }).map(|_| id)
    }

    /// Moves a compressed row that is to be changed to the delta store: there it is the transaction's, until
    /// its end. `image` is the row as it is.
    ///
    /// # Errors
    /// [`Error::Restart`] or [`Error::UpdateConflict`] if another transaction has changed it since it was read;
    /// else as [`Transaction::insert`].
    ///
    /// # Panics
    /// If the table has no columns.
    pub fn take_compressed<'t>(
        &'t self,
        table: &'t Table,
        place: Place,
        image: RowImage<'_>,
    ) -> Result<RowRef<'t>> {
        let store = table.columnstore().expect("only tables that have columns compress rows");
        let key = place.key();
        match self.insert(&store.deleted, RowImage { bytes: &key, blobs: &[] }) {
            Ok(_) => self.insert(table, image),
            Err(Error::Unique { .. }) => Err(self.lose(table)),
            Err(other) => Err(other),
        }
    }
}
