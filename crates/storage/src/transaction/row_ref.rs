//! `RowRef`: a version of a row as a transaction has read it; `Claim`: the result of claiming.

use crate::spec::{RowId, RowImage};
use crate::store::Table;
use crate::version::{RowHead, Version};

/// One version of a row, as seen by a transaction. Valid as long as the borrow of the transaction:
/// until its next statement, rollback or commit.
#[derive(Clone, Copy)]
pub struct RowRef<'t> {
    pub(crate) table: &'t Table,
    pub(crate) head: &'t RowHead,
    pub(crate) version: &'t Version,
    pub(crate) basis: Basis,
}

/// The snapshot that a row was read from, which decides what it means if the row has changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The statement's snapshot: a writer takes the newer version.
    Statement,
    /// The transaction's snapshot: a change since is a conflict.
    Transaction,
}

impl<'t> RowRef<'t> {
    /// Returns the row's bytes and blobs.
    #[inline]
    pub fn image(&self) -> RowImage<'t> {
        self.version.image()
    }

    /// Returns the row such that a change since it was read is a conflict, also for a statement of
    /// its own, which then starts again: what it did depends on this row being there.
    #[must_use]
    pub fn fixed(self) -> Self {
        Self { basis: Basis::Transaction, ..self }
    }

    /// Returns the row's id, which is the same for all its versions.
    #[inline]
    pub fn id(&self) -> RowId {
        self.head.id()
    }
}

impl std::fmt::Debug for RowRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowRef").field("id", &self.id()).field("image", &self.image()).finish()
    }
}

/// The result of [`crate::Transaction::claim`].
#[derive(Clone, Copy, Debug)]
pub enum Claim<'t> {
    /// The row is owned and has not changed since it was read.
    Current(RowRef<'t>),
    /// The row is owned; this is its newest committed version, which differs from the one read:
    /// evaluate the predicate on it again. Ordinary tables only.
    Changed(RowRef<'t>),
    /// The row has been deleted since it was read. Ordinary tables only.
    Gone,
    /// Another transaction owns the row, and it is skipped ([`crate::WhenOwned::Skip`]).
    Skipped,
}
