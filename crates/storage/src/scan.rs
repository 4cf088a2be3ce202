//! Scans: the rows of a table that a transaction sees, in heap or index order.

mod batch;
mod parts;

pub(crate) use batch::{look, prefetch_version};
pub use parts::Parts;

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use types::Bytes;

use crate::chain::View;
use crate::columnstore::ColumnView;
use crate::error::Result;
use crate::head::{HeadRun, HeapPosition, RowHead};
use crate::index::Index;
use crate::reclaim::pin;
use crate::row::{Basis, RowId, RowRef};
use crate::sync::{Label, labelled};
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

    /// Tells whether `key` lies within.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let lower = match self.lower {
            Bound::Unbounded => true,
            Bound::Included(bound) => prefix_of(key, bound) >= bound,
            Bound::Excluded(bound) => prefix_of(key, bound) > bound,
        };
        lower
            && match self.upper {
                Bound::Unbounded => true,
                Bound::Included(bound) => prefix_of(key, bound) <= bound,
                Bound::Excluded(bound) => prefix_of(key, bound) < bound,
            }
    }

    /// Every key that starts with `prefix`; for a whole key, that key.
    pub const fn prefix(prefix: &'a [u8]) -> Self {
        Self { lower: Bound::Included(prefix), upper: Bound::Included(prefix) }
    }
}

fn prefix_of<'a>(key: &'a [u8], bound: &[u8]) -> &'a [u8] {
    &key[..key.len().min(bound.len())]
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
    view: View,
    basis: Basis,
    index: Option<&'t Index>,
    position: ScanPosition,
    /// Entries read ahead, last one next. Index keys are kept for the position behind a row.
    batch: VecDeque<(Option<Bytes>, &'t RowHead)>,
    /// Where its parts of the heap come from, if others walk it too.
    parts: Option<Arc<Parts>>,
    /// Whether no entry comes behind those read ahead. Not of the position: who goes on from there looks
    /// again.
    is_last: bool,
    /// What is read elsewhere, and passed over here.
    passed: Option<&'t ColumnView>,
}

/// Where a scan stands, without borrowing anything: for a cursor that outlives its request.
#[derive(Clone, Debug)]
pub struct ScanPosition {
    index: Option<IndexId>,
    lower: Bound<Box<[u8]>>,
    upper: Bound<Box<[u8]>>,
    order: Order,
    read: Read,
    /// The entry last read into a batch (index order).
    after: Option<(Bytes, RowId)>,
    heap: HeapPosition,
    is_done: bool,
}

const HEAP_BATCH: usize = if cfg!(test) { 3 } else { 64 };

impl ScanPosition {
    pub(crate) fn new(spec: &ScanSpec<'_>) -> Self {
        let own = |bound: Bound<&[u8]>| bound.map(Box::from);
        Self {
            index: spec.index,
            lower: own(spec.bounds.lower),
            upper: own(spec.bounds.upper),
            order: spec.order,
            read: spec.read,
            after: None,
            heap: HeapPosition::default(),
            is_done: false,
        }
    }

    pub(crate) fn index(&self) -> Option<IndexId> {
        self.index
    }

    pub(crate) fn read(&self) -> Read {
        self.read
    }

    fn bounds(&self) -> Bounds<'_> {
        Bounds { lower: borrow(&self.lower), upper: borrow(&self.upper) }
    }
}

fn borrow(bound: &Bound<Box<[u8]>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}

impl<'t> Scan<'t> {
    pub(crate) fn new(
        transaction: &'t Transaction,
        table: &'t Table,
        (view, basis): (View, Basis),
        index: Option<&'t Index>,
        position: ScanPosition,
    ) -> Self {
        Self {
            table,
            transaction,
            view,
            basis,
            index,
            position,
            batch: VecDeque::new(),
            parts: None,
            is_last: false,
            passed: None,
        }
    }

    /// Passes over the rows, in heap order, that a view of the table's columnstore index has.
    ///
    /// # Panics
    /// If it is a scan of an index.
    pub fn pass_over(&mut self, view: &'t ColumnView) {
        assert!(self.index.is_none(), "rows are passed over in heap order");
        self.passed = Some(view);
    }

    /// Moves to the next row.
    #[expect(
        clippy::should_implement_trait,
        reason = "it fails, and iterating a Result hides that"
    )]
    pub fn next(&mut self) -> Result<Option<RowRef<'t>>> {
        loop {
            let Some((key, head)) = self.batch.front() else {
                if self.position.is_done || self.is_last {
                    return Ok(None);
                }
                self.fill();
                continue;
            };
            let index = self.index.zip(key.as_deref());
            let head = *head;
            let row = self.transaction.look(
                (self.table, head),
                (self.view, self.basis),
                index,
                self.position.read,
            )?;
            if let Some((Some(key), head)) = self.batch.pop_front() {
                self.position.after = Some((key, head.id()));
            }
            if row.is_some() {
                return Ok(row);
            }
        }
    }

    fn fill(&mut self) {
        let _label = labelled(Label::Index);
        let Some(index) = self.index else {
            let run = self.next_run(HEAP_BATCH);
            self.position.is_done = run.is_none();
            let passed = self.passed;
            let heads = run.iter().flat_map(HeadRun::heads);
            let heads = heads.filter(|head| passed.is_none_or(|view| !view.covers(head.id())));
            self.batch.extend(heads.map(|head| (None, head)));
            return;
        };
        let position = &self.position;
        let mut entries = Vec::new();
        let after = position.after.as_ref().map(|(key, id)| (&**key, *id));
        let bounds = position.bounds();
        self.is_last = index.walk(bounds, position.order, after, &pin(), &mut entries);
        self.position.is_done = entries.is_empty();
        self.batch.extend(entries.into_iter().map(|entry| (Some(entry.key), entry.head)));
    }

    /// Ends the borrow; [`Transaction::resume`] goes on behind the last row returned.
    pub fn suspend(mut self) -> ScanPosition {
        assert!(self.passed.is_none(), "a position counts all rows");
        if self.index.is_none() {
            self.position.heap.step_back(self.batch.len());
        }
        if !self.batch.is_empty() {
            self.position.is_done = false;
        }
        self.position
    }
}
