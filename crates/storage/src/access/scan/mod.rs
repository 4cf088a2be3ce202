//! Scans: the rows of a table that a transaction sees, in heap or index order.

mod batch;
mod parts;

pub use parts::Parts;

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use types::Bytes;

use crate::index::{Ahead, Index};
use crate::primitives::{Label, labelled, pin};
use crate::row_group::ColumnView;
use crate::spec::{Bounds, IndexId, Order, Read, Result, RowId};
use crate::store::Table;
use crate::transaction::{Basis, RowRef, Transaction};
use crate::version::{HeadRun, HeapPosition, RowHead, View};

/// The table access that a scan makes.
#[derive(Clone, Copy, Debug)]
pub struct ScanSpec<'a> {
    /// The index; `None` for heap order. A hash index takes whole keys only
    /// (`Bounds::prefix(key)`).
    pub index: Option<IndexId>,
    /// The range of keys; must be [`Bounds::ALL`] in heap order.
    pub bounds: Bounds<'a>,
    /// The direction; a heap and a hash index support only [`Order::Forward`].
    pub order: Order,
    /// The isolation level and the row lock.
    pub read: Read,
}

/// A scan in progress. It sees the state of the statement in which it was opened: neither rows that
/// others commit later nor those that its own statement writes.
pub struct Scan<'t> {
    table: &'t Table,
    transaction: &'t Transaction,
    view: View,
    basis: Basis,
    index: Option<&'t Index>,
    position: ScanPosition,
    /// Entries read ahead, next one first; with index keys, so that the scan can be resumed.
    batch: VecDeque<(Option<Bytes>, &'t RowHead)>,
    /// Entries behind those, of an index of several trees.
    ahead: Ahead<'t>,
    /// The parts of the heap that are left, if several scans share it.
    parts: Option<Arc<Parts>>,
    /// Whether no entry follows those read ahead. A scan that is resumed looks again.
    is_last: bool,
    /// Rows that are read from the columnstore index and skipped here.
    passed: Option<&'t ColumnView>,
    /// As what its beginning is to be counted, if it has not been.
    to_count: Option<Opening>,
}

/// The position of a scan, which borrows nothing: for a cursor that outlives its request.
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

/// As what a scan counts in `sys.dm_db_index_operational_stats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// A look-up of a whole key: a range of an index that is not unique.
    Key,
    /// A range of keys, or all rows.
    Range,
}

const HEAP_BATCH: usize = if cfg!(test) { 3 } else { 64 };
/// Rows that are not visible, and batches read ahead, between two pauses of a call.
const UNSEEN_PER_PAUSE: usize = if cfg!(test) { 2 } else { 256 };

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
            ahead: Ahead::default(),
            parts: None,
            is_last: false,
            passed: None,
            to_count: None,
        }
    }

    /// Skips the rows that a view of the table's columnstore index has; in heap order only.
    ///
    /// # Panics
    /// If this is a scan of an index.
    pub fn pass_over(&mut self, view: &'t ColumnView) {
        assert!(self.index.is_none(), "rows are passed over in heap order");
        self.passed = Some(view);
    }

    /// Makes it count when its first rows are read, as an operator of a statement does. Scans that
    /// share the parts of a heap count as one.
    #[must_use]
    pub fn counted(mut self, opening: Opening) -> Self {
        self.to_count = Some(opening);
        self
    }

    /// Counts the beginning of the scan.
    fn count(&mut self) {
        match (self.to_count.take(), self.index) {
            (None, _) => {}
            (Some(_), None) => self.table.count_scan(),
            (Some(Opening::Key), Some(index)) => index.count_seeks(1),
            (Some(Opening::Range), Some(index)) => index.counts.count_scans(1),
        }
    }

    /// Returns the next visible row; `None` at the end.
    #[expect(
        clippy::should_implement_trait,
        reason = "it fails, and iterating a Result hides that"
    )]
    pub fn next(&mut self) -> Result<Option<RowRef<'t>>> {
        let mut unseen = 0_usize;
        loop {
            // The caller counts the rows that it gets; of the others it knows nothing.
            unseen += 1;
            if unseen.is_multiple_of(UNSEEN_PER_PAUSE) {
                self.transaction.pause()?;
            }
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
        self.count();
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
        let way = (bounds, position.order);
        self.is_last = index.walk_on(way, after, &pin(), &mut self.ahead, &mut entries);
        self.position.is_done = entries.is_empty();
        self.batch.extend(entries.into_iter().map(|entry| (Some(entry.key), entry.head)));
    }

    /// Ends the borrow; [`Transaction::resume`] continues behind the last row returned.
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

impl Transaction {
    /// Opens a scan of a table.
    pub fn scan<'t>(&'t self, table: &'t Table, spec: ScanSpec<'_>) -> Result<Scan<'t>> {
        self.hold_range(table, spec.index, spec.bounds, spec.read)?;
        self.note_range(table, spec.index, spec.bounds, spec.read.isolation);
        self.resume(table, ScanPosition::new(&spec))
    }

    /// Continues a suspended scan of the same table.
    pub fn resume<'t>(&'t self, table: &'t Table, position: ScanPosition) -> Result<Scan<'t>> {
        let from = self.noted_view(table, position.read());
        let index = position.index().map(|index| self.index_of(table, index)).transpose()?;
        Ok(Scan::new(self, table, from, index, position))
    }
}
