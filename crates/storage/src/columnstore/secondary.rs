//! Building and reading a nonclustered columnstore index: groups of rows that stay in the heap.
//!
//! `row_group/column_index.rs` has the picture and says why a reader sees the same rows with and
//! without the index. Here rows that no group covers are gathered, a group of them is published,
//! and groups with few clean rows are dropped.

use std::sync::Arc;

use encoding::{GROUP_ROWS_MAX, Segment};
use types::Bytes;

use crate::primitives::{Mutant, PinWait, Timestamp, is_mutant, pin, wait_for_pins};
use crate::row_group::{
    ColumnIndex, ColumnIndexId, ColumnView, GROUP_BYTES, Group, RowGroup, Run, Trim, WORD, run_of,
};
use crate::spec::{Error, Isolation, Read, Result, RowImage};
use crate::store::Table;
use crate::transaction::Transaction;
use crate::version::{HeapPosition, Holder, RowHead, Version, VersionKind, newest};

/// Heads that are read under one pin.
const BATCH: usize = 256;

/// Rows that no group covers, in heap order, as one group will have them.
pub struct LooseRows<'t> {
    id: ColumnIndexId,
    rows: Vec<(&'t RowHead, Option<&'t Version>)>,
    runs: Vec<Run>,
    snapshot: Timestamp,
}

impl<'t> LooseRows<'t> {
    /// Iterates over the rows; `None` for a head without a row, or with one that is being changed.
    pub fn images(&self) -> impl Iterator<Item = Option<RowImage<'t>>> {
        self.rows.iter().map(|(_, version)| version.map(Version::image))
    }

    fn push(&mut self, head: &'t RowHead, version: Option<&'t Version>) {
        let (id, row) = (head.id().0, self.rows.len());
        Run::push(&mut self.runs, id, row);
        self.rows.push((head, version));
    }
}

/// A row group of a nonclustered columnstore index, for views.
#[derive(Clone, Debug)]
pub struct ColumnGroupRow {
    /// The number of the group.
    pub id: u64,
    /// Rows, including those that have changed since.
    pub rows: usize,
    /// Clean rows, which are read from the group.
    pub clean: usize,
    /// The size of its segments in bytes.
    pub bytes: usize,
    /// Why the group was closed.
    pub trim: Trim,
}

impl Transaction {
    /// Returns the statement's view of a table's columnstore index; `None` if no group can be used,
    /// or the index has another definition.
    pub fn column_view<'t>(
        &'t self,
        table: &'t Table,
        index: ColumnIndexId,
        isolation: Isolation,
    ) -> Option<&'t ColumnView> {
        let known = self.known_view((table.id(), index));
        // Readers share the view that the transaction's own thread has fixed: else a row might be
        // read twice or not at all.
        let view = known.or_else(|| {
            if self.is_lent() {
                return None;
            }
            let (from, _) = self.view(table, isolation);
            let found = table.column_index().filter(|found| found.id == index)?;
            Some(self.keep_view((table.id(), index), ColumnView::new(&found, from.snapshot)))
        });
        // A view that was empty at first stays empty for the whole statement.
        view.filter(|view| !view.groups.is_empty())
    }

    /// Gathers rows that no group of a table's index covers, at most as many as fit one group;
    /// `None` if there are fewer than `rows_min`.
    ///
    /// # Errors
    /// [`Error::Closed`] if there is no such index.
    pub fn loose_rows<'t>(
        &'t self,
        table: &'t Table,
        index: ColumnIndexId,
        rows_min: usize,
    ) -> Result<Option<LooseRows<'t>>> {
        let snapshot = self.view(table, Read::COMMITTED.isolation).0.snapshot;
        let found = table.column_index().filter(|found| found.id == index);
        let Some(index) = found else { return Err(Error::Closed(table.id())) };
        let mut position = HeapPosition::default();
        let (mut heads, mut found) = (Vec::new(), 0);
        let (rows, runs, id) = (Vec::new(), Vec::new(), index.id);
        let mut loose = LooseRows { id, rows, runs, snapshot };
        while loose.rows.len() < GROUP_ROWS_MAX {
            heads.clear();
            table.heap.walk(&mut position, &mut heads, BATCH);
            if heads.is_empty() {
                break;
            }
            let guard = pin();
            for head in &heads {
                if loose.rows.len() == GROUP_ROWS_MAX || run_of(&index.runs, head.id().0).is_some()
                {
                    continue;
                }
                let row = newest(head, std::ptr::null(), self.clock(), &guard);
                let settled = row.content.filter(|content| {
                    let is_top = std::ptr::eq(std::ptr::from_ref(*content), row.top);
                    let is_free = matches!(row.holder, Holder::Nobody);
                    let is_old = row.content_ts.is_some_and(|ts| ts <= snapshot);
                    is_top && is_free && is_old && content.kind == VersionKind::Data
                });
                // SAFETY: the transaction's snapshot sees it, so it stays as long as the borrow.
                let version = settled.map(|version| unsafe { &*std::ptr::from_ref(version) });
                found += usize::from(version.is_some());
                loose.push(head, version);
            }
        }
        Ok((found >= rows_min.max(1)).then_some(loose))
    }
}

impl Table {
    /// Gives the table a columnstore index without groups, so all its rows are read from the heap.
    /// Groups of an earlier index are dropped.
    pub fn add_column_index(&self, id: ColumnIndexId) {
        self.change_columns(|index| {
            Some(ColumnIndex::of(id, Vec::new(), index.map_or(0, |index| index.next)))
        });
    }

    /// Removes the columnstore index of the table.
    pub fn drop_column_index(&self) {
        self.change_columns(|_| None);
    }

    /// Returns whether the table has a columnstore index of this definition.
    pub fn has_column_index(&self, id: ColumnIndexId) -> bool {
        self.column_index().is_some_and(|index| index.id == id)
    }

    /// Adds a group of these rows; `segments` have them in their order, with an arbitrary value
    /// where there is no row. Returns `false` if another group has some of them by now, or the
    /// index has another definition.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the wait for writers was cancelled.
    ///
    /// # Panics
    /// If the segments have another number of rows.
    pub fn add_column_group(
        &self,
        rows: &LooseRows<'_>,
        segments: Vec<Bytes>,
        trim: Trim,
    ) -> Result<bool> {
        assert!(segments.iter().all(|s| Segment::open(s).rows() == rows.rows.len()));
        let mut words = vec![0_u64; rows.rows.len().div_ceil(WORD)];
        for (row, (_, version)) in rows.rows.iter().enumerate() {
            words[row / WORD] |= u64::from(version.is_some()) << (row % WORD);
        }
        let mut added = None;
        self.change_columns(|index| {
            let Some(index) = index.filter(|i| i.id == rows.id && !i.overlaps(&rows.runs)) else {
                return index.map(|index| index.without(|_| false));
            };
            let mut bytes = [0; GROUP_BYTES + 2];
            bytes[..GROUP_BYTES].copy_from_slice(&index.next.to_be_bytes());
            bytes[GROUP_BYTES] = trim as u8;
            let (segments, runs) = (segments.clone(), rows.runs.clone());
            let group = Arc::new(Group::new(bytes, segments, runs, &words, rows.rows.len()));
            added = Some(Arc::clone(&group));
            Some(index.with(group))
        });
        let Some(group) = added else { return Ok(false) };
        if !is_mutant(Mutant::ColumnsWithoutWait) && !wait_for_pins(PinWait::Definition, None) {
            self.change_columns(|index| index.map(|i| i.without(|one| Arc::ptr_eq(one, &group))));
            return Err(Error::Cancelled);
        }
        for (row, (head, version)) in rows.rows.iter().enumerate() {
            let top = version.map_or(std::ptr::null(), std::ptr::from_ref);
            if version.is_some() && !std::ptr::eq(head.latest(), top) {
                group.clear(row);
            }
        }
        group.open_for(rows.snapshot);
        Ok(true)
    }

    /// Drops the groups of which less than half is clean; their rows are read from the heap then.
    pub fn shed_column_groups(&self) {
        let is_worn = |group: &Arc<Group>| group.clean_rows() * 2 < group.rows;
        let any = self.column_index().is_some_and(|index| index.groups.iter().any(is_worn));
        if any {
            self.change_columns(|index| index.map(|index| index.without(is_worn)));
        }
    }

    /// Returns the row groups of the columnstore index; none if there is no such index.
    pub fn column_groups(&self) -> Option<Vec<ColumnGroupRow>> {
        let row = |group: &Arc<Group>| {
            let known = RowGroup::of(RowImage { bytes: &group.bytes, blobs: &[] });
            ColumnGroupRow {
                id: known.id(),
                rows: group.rows,
                clean: group.clean_rows(),
                bytes: group.segments.iter().map(|bytes| bytes.len()).sum(),
                trim: known.trim(),
            }
        };
        self.column_index().map(|index| index.groups.iter().map(row).collect())
    }

    fn column_index(&self) -> Option<Arc<ColumnIndex>> {
        self.index_set(&pin()).columns.clone()
    }

    fn change_columns(&self, change: impl FnOnce(Option<&ColumnIndex>) -> Option<ColumnIndex>) {
        self.change_indexes(|set| {
            let columns = change(set.columns.as_deref()).map(Arc::new);
            set.beside(columns)
        });
    }
}
