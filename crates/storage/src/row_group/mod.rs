//! Row groups: the encoded segments of up to 1,048,576 rows, their number, and which of their rows count.
//!
//! A row group of a clustered columnstore is a row of a table of storage's own (`store/row_groups.rs`); one
//! of a nonclustered columnstore index stands beside rows that stay where they are (`column_index.rs`).
//! This folder knows neither tables nor transactions: those read and add groups in `columnstore/`.
//!
//! Start with [`RowGroup`].

pub(crate) mod column_index;

use crate::encoding::Segment;
use crate::spec::row::RowImage;

/// Bytes of a group's number, and of its key; behind it lie why it was closed and whether it is `MOVING`.
pub(crate) const GROUP_BYTES: usize = 8;
/// Bytes of the key of a deleted row.
pub(crate) const PLACE_BYTES: usize = GROUP_BYTES + 4;
/// What the last byte of a group says while its rows come from the delta store.
pub(crate) const MOVING: u8 = 1;

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

/// The key of a group, and the beginning of those of its rows.
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
    /// The group that an image is of.
    pub(crate) const fn of(image: RowImage<'t>) -> Self {
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
