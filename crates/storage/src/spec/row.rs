//! Rows as callers see them: an encoded image, an id, and what an update may change.

use types::Bytes;
use types::row::RowBuffer;

use crate::spec::definition::IndexId;

/// The encoded row: its bytes (`types::row` lays them out) and the big values beside them.
#[derive(Clone, Copy, Debug)]
pub struct RowImage<'a> {
    /// The row's bytes.
    pub bytes: &'a [u8],
    /// Big values. A version shares them with the image they came from; none is copied.
    pub blobs: &'a [Bytes],
}

impl<'a> From<&'a RowBuffer> for RowImage<'a> {
    #[inline]
    fn from(buffer: &'a RowBuffer) -> Self {
        Self { bytes: &buffer.bytes, blobs: &buffer.blobs }
    }
}

/// The place of a row in its table. Stable while the row lives, reused after it is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowId(pub u64);

/// Whether an update may change the key of some index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// No column of any index key is assigned (known from the plan): no index is looked at.
    Same,
    /// Columns of the keys of these indexes are assigned, of no others: storage compares those.
    In(IndexMask),
    /// Some key may differ: storage extracts both keys of every index and compares.
    MayDiffer,
}

/// Some of a table's indexes. Those whose ids are too high for it count as in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexMask(u64);

impl IndexMask {
    /// Adds an index.
    #[inline]
    pub fn insert(&mut self, index: IndexId) {
        self.0 |= 1_u64.checked_shl(index.0).unwrap_or(0);
    }

    pub(crate) fn contains(self, index: IndexId) -> bool {
        1_u64.checked_shl(index.0).is_none_or(|bit| self.0 & bit != 0)
    }
}

/// What [`crate::Table::change_point`] shall do with the row it showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing: the row does not qualify after all.
    Keep,
    /// Replace it by what the closure left in the buffer.
    Update(Keys),
    /// Delete it.
    Delete,
}
