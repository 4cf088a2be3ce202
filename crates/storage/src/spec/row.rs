//! Rows as callers see them: an encoded image, an id, and what an update may change.

use types::Bytes;
use types::row::RowBuffer;

use crate::spec::IndexId;

/// An encoded row: its bytes (laid out by `types::row`) and the large values beside them.
#[derive(Clone, Copy, Debug)]
pub struct RowImage<'a> {
    /// The bytes of the row.
    pub bytes: &'a [u8],
    /// Large values. Versions share them with the image they were made from.
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

/// Which index keys an update may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// None: by the plan, no column of an index key is assigned, so no index is looked at.
    Same,
    /// Only columns of the keys of these indexes are assigned: storage compares those keys.
    In(IndexMask),
    /// Some key may differ: storage extracts both keys of every index and compares.
    MayDiffer,
}

/// A set of a table's indexes. An id too high for its 64 bits counts as a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexMask(u64);

impl IndexMask {
    /// Adds an index to the set.
    #[inline]
    pub fn insert(&mut self, index: IndexId) {
        self.0 |= 1_u64.checked_shl(index.0).unwrap_or(0);
    }

    pub(crate) fn contains(self, index: IndexId) -> bool {
        1_u64.checked_shl(index.0).is_none_or(|bit| self.0 & bit != 0)
    }
}

/// What [`crate::Table::change_point`] does with the row that it showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Leave the row: it does not qualify.
    Keep,
    /// Replace it by the row that the closure left in the buffer.
    Update(Keys),
    /// Delete the row that was shown.
    Delete,
}
