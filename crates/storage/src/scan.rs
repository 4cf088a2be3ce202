//! Scans: the rows of a table that a transaction sees, in heap or index order.

use std::ops::Bound;

use crate::error::Result;
use crate::row::RowRef;
use crate::table::{IndexId, Table};
use crate::transaction::{Read, Transaction};

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Smallest key first.
    Forward,
    /// Largest key first.
    Backward,
}

/// A range of keys. A bound is compared with the first bytes of a key, as many as the bound has: so
/// the key of the first n columns bounds a range of whole keys, and `Included(p)..=Included(p)` is
/// every key that starts with `p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds<'a> {
    /// The smallest keys.
    pub lower: Bound<&'a [u8]>,
    /// The largest keys.
    pub upper: Bound<&'a [u8]>,
}

impl<'a> Bounds<'a> {
    /// Every key.
    pub const ALL: Self = Self { lower: Bound::Unbounded, upper: Bound::Unbounded };

    /// Every key that starts with `prefix`; for a whole key, that key.
    pub const fn prefix(prefix: &'a [u8]) -> Self {
        Self { lower: Bound::Included(prefix), upper: Bound::Included(prefix) }
    }
}

/// What to scan.
#[derive(Clone, Copy, Debug)]
pub struct ScanSpec<'a> {
    /// The index, or `None` for heap order. A hash index takes whole-key equality only
    /// (`Bounds::prefix(key)`).
    pub index: Option<IndexId>,
    /// The range of keys; must be [`Bounds::ALL`] in heap order.
    pub bounds: Bounds<'a>,
    /// The direction; a heap and a hash index know only [`Order::Forward`].
    pub order: Order,
    /// Isolation and locks.
    pub read: Read,
}

/// A scan under way. It sees the state as of the statement in which it was opened: neither rows
/// that others commit later nor those its own statement writes.
pub struct Scan<'t> {
    table: &'t Table,
    transaction: &'t Transaction,
}

/// Where a scan stands, without borrowing anything: for a cursor that outlives its request.
#[derive(Clone, Debug)]
pub struct ScanPosition {}

impl<'t> Scan<'t> {
    /// Moves to the next row.
    #[expect(
        clippy::should_implement_trait,
        reason = "it fails, and iterating a Result hides that"
    )]
    pub fn next(&mut self) -> Result<Option<RowRef<'t>>> {
        let _ = (self.table, self.transaction);
        todo!()
    }

    /// Ends the borrow; [`Transaction::resume`] goes on behind the last row returned.
    pub fn suspend(self) -> ScanPosition {
        todo!()
    }
}
