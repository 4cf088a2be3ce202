//! Reading and adding the row groups of a table, as a transaction sees them.

use encoding::Segment;
use types::Bytes;

use crate::access::ScanSpec;
use crate::primitives::Ordering;
use crate::row_group::{MOVING, Place, RowGroup, Trim, group_key};
use crate::spec::{Bounds, Order, Read, Result, RowImage, TransactionOptions};
use crate::store::{BY_KEY, ColumnStore, Store, Table};
use crate::transaction::Transaction;

/// Rows that are read per call.
const BATCH: usize = 1_024;

impl ColumnStore {
    /// Returns the number of committed rows in groups, without deleted ones.
    pub(crate) fn row_count(&self) -> u64 {
        let reader = Store::of(&self.groups.shared).begin(TransactionOptions::STATEMENT);
        let groups = groups_of(&reader, self, Read::COMMITTED).unwrap_or_default();
        let rows: usize = groups.iter().map(|group| self.shown_rows(&reader, *group)).sum();
        u64::try_from(rows).unwrap_or(u64::MAX).saturating_sub(self.deleted.row_count())
    }

    /// Returns the number of rows of a group, without those that are not shown yet.
    fn shown_rows(&self, reader: &Transaction, group: RowGroup<'_>) -> usize {
        let mut hidden = Vec::new();
        // A group that cannot be read counts as empty.
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
    /// Returns the row groups that the transaction sees, by number; none without a columnstore.
    ///
    /// # Errors
    /// As [`Transaction::scan`].
    pub fn row_groups<'t>(&'t self, table: &'t Table, read: Read) -> Result<Vec<RowGroup<'t>>> {
        table.columnstore().map_or(Ok(Vec::new()), |store| groups_of(self, store, read))
    }

    /// Returns, in order, the rows of a group that the transaction does not see: deleted ones, and
    /// ones that are still in the delta store.
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

    /// Publishes a row group, one segment per column.
    ///
    /// # Errors
    /// As [`Transaction::insert`].
    ///
    /// # Panics
    /// If the table has no clustered columnstore, or another number of columns.
    pub fn add_row_group(&self, table: &Table, segments: &[Bytes], trim: Trim) -> Result<()> {
        self.add_group(table, segments, [trim as u8, 0]).map(|_| ())
    }

    /// Publishes a row group whose rows are all hidden; returns its number.
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
        // Relaxed: the number need only be unique.
        let id = store.next.fetch_add(1, Ordering::Relaxed);
        let bytes = [&group_key(id)[..], &note[..]].concat();
        self.insert(&store.groups, RowImage { bytes: &bytes, blobs: segments }).map(|_| id)
    }
}

impl Table {
    /// Returns the number of committed rows, including those of row groups.
    pub fn row_count(&self) -> u64 {
        self.delta_rows() + self.columnstore().map_or(0, ColumnStore::row_count)
    }
}
