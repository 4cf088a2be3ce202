//! Validation at commit on memory-optimized tables: REPEATABLE READ and SERIALIZABLE.

use std::ops::Bound;

use types::Bytes;

use crate::index::has_key;
use crate::primitives::{Clock, Guard, Timestamp, pin};
use crate::spec::{Bounds, Error, IndexId, Order, Result, RowId};
use crate::store::Table;
use crate::version::{
    HeapPosition, Owner, RowHead, TxState, TxStatus, Version, VersionKind, owner, versions,
};

/// A row that was read, and the version that was seen.
pub(crate) struct RowRead {
    pub(crate) head: *const RowHead,
    pub(crate) version: *const Version,
}

/// A range that was read, and the snapshot that it was read at.
pub(crate) struct RangeRead {
    table: *const Table,
    /// The index; `None` for all rows, in heap order.
    index: Option<IndexId>,
    lower: Bound<Box<[u8]>>,
    upper: Bound<Box<[u8]>>,
    snapshot: Timestamp,
}

impl RangeRead {
    pub(crate) fn new(
        table: &Table,
        index: Option<IndexId>,
        bounds: Bounds<'_>,
        snapshot: Timestamp,
    ) -> Self {
        let own = |bound: Bound<&[u8]>| bound.map(Box::from);
        Self { table, index, lower: own(bounds.lower), upper: own(bounds.upper), snapshot }
    }

    fn bounds(&self) -> Bounds<'_> {
        Bounds {
            lower: self.lower.as_ref().map(|key| &**key),
            upper: self.upper.as_ref().map(|key| &**key),
        }
    }
}

/// The validating transaction and its commit time.
type Me = (*const TxState, Timestamp);

/// Validates rows and ranges as of the commit time.
pub(crate) fn validate(
    reads: &[RowRead],
    ranges: &[RangeRead],
    me: Me,
    clock: &Clock,
) -> Result<()> {
    let guard = pin();
    for read in reads {
        // SAFETY: the transaction's snapshot keeps the row and its table.
        let head = unsafe { &*read.head };
        let now = foreign_version(head, me, clock, &guard)?;
        if !now.is_some_and(|(version, _)| std::ptr::eq(version, read.version)) {
            return Err(Error::RepeatableReadFailure);
        }
    }
    for range in ranges {
        validate_range(range, me, clock, &guard)?;
    }
    Ok(())
}

/// Returns the newest version of others committed by the commit time of `me`, and its time.
fn foreign_version<'g>(
    head: &RowHead,
    (me, ts_me): Me,
    clock: &Clock,
    guard: &'g Guard,
) -> Result<Option<(&'g Version, Timestamp)>> {
    for version in versions(head.latest(), guard) {
        if version.kind == VersionKind::Lock {
            continue;
        }
        match owner(version, me, clock, guard) {
            Owner::Committed(ts) if ts <= ts_me => return Ok(Some((version, ts))),
            // It is validating too, with an earlier time: one of the two must fail.
            Owner::Other(state) if may_come_first(state, ts_me) => {
                return Err(Error::RepeatableReadFailure);
            }
            Owner::Committed(_) | Owner::Own | Owner::Other(_) | Owner::Nobody => {}
        }
    }
    Ok(None)
}

fn may_come_first(state: &TxState, ts_me: Timestamp) -> bool {
    match state.status() {
        TxStatus::Validating(ts) | TxStatus::Committed(ts) => ts <= ts_me,
        // A transaction without a time will get a later one.
        TxStatus::Active | TxStatus::Committing | TxStatus::ValidatingSoon | TxStatus::Aborted => {
            false
        }
    }
}

fn validate_range(range: &RangeRead, me: Me, clock: &Clock, guard: &Guard) -> Result<()> {
    // SAFETY: a dropped table stays until every transaction that began before has ended.
    let table = unsafe { &*range.table };
    let Some(index) = range.index else { return validate_heap(range, table, me, (clock, guard)) };
    // An index that has been dropped since cannot show which rows were added.
    let index = table.index(index, guard).map_err(|_| Error::SerializableFailure)?;
    let check = |head: &RowHead, key: &[u8]| -> Result<()> {
        let Some((version, ts)) = foreign_version(head, me, clock, guard)? else { return Ok(()) };
        let is_new = ts > range.snapshot && version.kind == VersionKind::Data;
        if is_new && has_key(index, version.image(), key) {
            return Err(Error::SerializableFailure);
        }
        Ok(())
    };
    let mut after: Option<(Bytes, RowId)> = None;
    loop {
        let mut batch = Vec::new();
        let from = after.as_ref().map(|(key, id)| (&**key, *id));
        index.walk(range.bounds(), Order::Forward, from, guard, &mut batch);
        let Some(last) = batch.last() else { return Ok(()) };
        let next = Some((last.key.clone(), last.head.id()));
        for entry in &batch {
            check(entry.head, &entry.key)?;
        }
        after = next;
    }
}

/// Like [`validate_range`], for all rows of a table.
fn validate_heap(
    range: &RangeRead,
    table: &Table,
    me: Me,
    (clock, guard): (&Clock, &Guard),
) -> Result<()> {
    let mut position = HeapPosition::default();
    let mut heads = Vec::new();
    loop {
        heads.clear();
        table.heap.walk(&mut position, &mut heads, HEAP_BATCH);
        if heads.is_empty() {
            return Ok(());
        }
        for head in &heads {
            let now = foreign_version(head, me, clock, guard)?;
            let is_new = |(version, ts): (&Version, Timestamp)| {
                ts > range.snapshot && version.kind == VersionKind::Data
            };
            if now.is_some_and(is_new) {
                return Err(Error::SerializableFailure);
            }
        }
    }
}

/// Rows that are validated per step of the walk over the heap.
const HEAP_BATCH: usize = 64;
