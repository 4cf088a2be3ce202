//! Rows as callers see them: an image (bytes and blobs), an id, and a reference to one version.

use types::Bytes;
use types::row::RowBuffer;

use crate::head::RowHead;
use crate::table::Table;
use crate::version::Version;

/// The encoded row: its bytes (`types::row` lays them out) and the big values beside them.
#[derive(Clone, Copy, Debug)]
pub struct RowImage<'a> {
    /// The row's bytes.
    pub bytes: &'a [u8],
    /// Big values. A version shares them with the image they came from; none is copied.
    pub blobs: &'a [Bytes],
}

impl<'a> From<&'a RowBuffer> for RowImage<'a> {
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
    /// Some key may differ: storage extracts both keys of every index and compares.
    MayDiffer,
}

/// What [`Table::change_point`] shall do with the row it showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing: the row does not qualify after all.
    Keep,
    /// Replace it by what the closure left in the buffer.
    Update(Keys),
    /// Delete it.
    Delete,
}

/// One version of a row, as seen by a transaction. Valid as long as the borrow of the transaction,
/// that is until its next statement, rollback or commit.
#[derive(Clone, Copy)]
pub struct RowRef<'t> {
    pub(crate) table: &'t Table,
    pub(crate) head: &'t RowHead,
    pub(crate) version: &'t Version,
    pub(crate) basis: Basis,
}

/// What a row was read from, which decides what it means that it has changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The statement's snapshot: take the newer version.
    Statement,
    /// The transaction's snapshot: a conflict.
    Transaction,
}

impl<'t> RowRef<'t> {
    /// Returns the row's bytes and blobs.
    pub fn image(&self) -> RowImage<'t> {
        self.version.image()
    }

    /// Returns the row's id, which is the same for all its versions.
    pub fn id(&self) -> RowId {
        self.head.id()
    }
}

impl std::fmt::Debug for RowRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowRef").field("id", &self.id()).field("image", &self.image()).finish()
    }
}
