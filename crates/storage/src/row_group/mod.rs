//! Row groups: the encoded segments of up to 1,048,576 rows, and which of their rows count.
//!
//! A row group of a clustered columnstore is a row of an internal table (`store/row_groups.rs`). A
//! group of a nonclustered columnstore index is a copy of rows that stay in the heap
//! (`column_index.rs`). This folder knows neither tables nor transactions: those read and add
//! groups in `columnstore/`.
//!
//! Start with [`RowGroup`].

mod column_index;

use encoding::Segment;

use crate::spec::RowImage;

pub(crate) use column_index::{ColumnIndex, Group, KeptViews, Run, WORD, run_of};
pub use column_index::{ColumnIndexId, ColumnView};

/// Bytes of a group's key, its number. Behind it are the trim reason and `MOVING`, a byte each.
pub(crate) const GROUP_BYTES: usize = 8;
/// Bytes of the key of a deleted row: group number and row number.
pub(crate) const PLACE_BYTES: usize = GROUP_BYTES + 4;
/// The last byte of a group while its rows are still moving from the delta store.
pub(crate) const MOVING: u8 = 1;

/// Why a row group was closed: `trim_reason` of `sys.dm_db_column_store_row_group_physical_stats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trim {
    /// NO_TRIM: the group is full.
    None,
    /// BULKLOAD: the load had no more rows.
    BulkLoad,
    /// REBUILD, or CREATE INDEX, had no more rows.
    Rebuild,
    /// The tuple mover compressed a full delta store.
    Moved,
    /// REORGANIZE compressed a full delta store.
    Reorganize,
    /// MEMORY_LIMITATION: the memory for the load was short.
    Memory,
}

impl Trim {
    const ALL: [Self; 6] =
        [Self::None, Self::BulkLoad, Self::Rebuild, Self::Moved, Self::Reorganize, Self::Memory];
}

/// The place of a compressed row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The number of its row group.
    pub group: u64,
    /// The number of the row within its group.
    pub row: u32,
}

impl Place {
    pub(crate) fn key(self) -> [u8; PLACE_BYTES] {
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

/// Returns the key of a group, which is also the prefix of its rows' keys.
pub(crate) fn group_key(group: u64) -> [u8; GROUP_BYTES] {
    group.to_be_bytes()
}

fn group_of(key: &[u8]) -> u64 {
    u64::from_be_bytes(*key.first_chunk().expect("a key begins with a group's number"))
}

/// A row group that a transaction sees; valid as long as the borrow of the transaction.
#[derive(Clone, Copy, Debug)]
pub struct RowGroup<'t> {
    pub(crate) image: RowImage<'t>,
}

impl<'t> RowGroup<'t> {
    /// Makes the group from its row image.
    pub(crate) const fn of(image: RowImage<'t>) -> Self {
        Self { image }
    }

    /// Returns the number of the group, unique in its table and never reused.
    pub fn id(&self) -> u64 {
        group_of(self.image.bytes)
    }

    /// Returns the number of rows, including deleted ones.
    pub fn rows(&self) -> usize {
        self.image.blobs.first().map_or(0, |bytes| Segment::open(bytes).rows())
    }

    /// Returns why the group was closed.
    pub fn trim(&self) -> Trim {
        Trim::ALL[usize::from(self.image.bytes[GROUP_BYTES])]
    }

    /// Returns whether its rows are still moving from the delta store.
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
