//! `ColumnIndex`: columns of rows that stay where they are, a nonclustered columnstore index.
//!
//! ```text
//!  heads   0 1 2 3 4 5 6 7 | 8 9 .. of a shard, in the order of their ids
//!          └──── Run ────┘   loose: read as rows
//!  group   0 1 2 3 4 5 6 7   a segment per column; row n is head n
//!  clean   1 1 0 1 1 1 1 1   head 2 has changed since: it is read as a row
//! ```
//!
//! A group says of some heads what their newest version was when it was made. A bit for each says that this is so
//! still; who links a newer version takes the bit away before. So there is nothing to maintain but a bit, once; a
//! snapshot that is not older than the group reads clean rows from segments and the others from their versions,
//! each row in one place, and sees what it would have seen without the index.
//!
//! A group is published before it counts: writers clear its bits from then on. Those who were under way and have not
//! met it have ended when all pins of that time have; only then it is looked at once more which heads are as they were,
//! and readers may use it.

use std::sync::Arc;

use types::Bytes;

use super::store::GROUP_BYTES;
use super::{GROUP_ROWS_MAX, RowGroup, Trim};
use crate::chain::{Holder, newest};
use crate::error::{Error, Result};
use crate::head::{HeapPosition, RowHead};
use crate::reclaim::{pin, wait_for_pins};
use crate::row::{RowId, RowImage};
use crate::sync::{AtomicU64, Mutant, Ordering, is_mutant};
use crate::table::{Table, TableId};
use crate::time::Timestamp;
use crate::transaction::{Isolation, Read, Transaction};
use crate::version::{Version, VersionKind};

/// Bits of a word.
const WORD: usize = 64;
/// Heads that are looked at under one pin.
const BATCH: usize = 256;
/// `Group::since` of a group that no reader may use yet.
const NOT_YET: u64 = u64::MAX;

/// Heads with ids that follow each other, and the number of the first one's row in a group.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u64,
    len: usize,
    group: usize,
    row: usize,
}

impl Run {
    fn end(&self) -> u64 {
        self.first + self.len as u64
    }
}

/// A row group of an index.
pub(crate) struct Group {
    /// Number and reason, as those of a [`RowGroup`].
    bytes: [u8; GROUP_BYTES + 2],
    segments: Vec<Bytes>,
    runs: Vec<Run>,
    rows: usize,
    clean: Box<[AtomicU64]>,
    /// The oldest snapshot that may use it.
    since: AtomicU64,
}

impl Group {
    fn clear(&self, row: usize) {
        let (word, bit) = (&self.clean[row / WORD], 1_u64 << (row % WORD));
        if word.load(Ordering::Relaxed) & bit != 0 {
            // SeqCst: gone before the new version is linked, and so before that has a time.
            word.fetch_and(!bit, Ordering::SeqCst);
        }
    }

    fn clean_rows(&self) -> usize {
        let words = self.clean.iter().map(|word| word.load(Ordering::Relaxed));
        words.map(|word| word.count_ones() as usize).sum()
    }
}

/// Which definition of an index groups were made for: another one may have other columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnIndexId(pub u32);

/// The groups of an index at one time; replaced as a whole.
pub(crate) struct ColumnIndex {
    id: ColumnIndexId,
    groups: Vec<Arc<Group>>,
    /// Those of all groups, by id.
    runs: Vec<Run>,
    next: u64,
}

impl ColumnIndex {
    fn of(id: ColumnIndexId, groups: Vec<Arc<Group>>, next: u64) -> Self {
        let runs_of = |(group, each): (usize, &Arc<Group>)| {
            each.runs.iter().map(|run| Run { group, ..*run }).collect::<Vec<Run>>()
        };
        let mut runs: Vec<Run> = groups.iter().enumerate().flat_map(runs_of).collect();
        runs.sort_unstable_by_key(|run| run.first);
        Self { id, groups, runs, next }
    }

    /// Tells whether some of the heads of a new group are in one already.
    fn overlaps(&self, runs: &[Run]) -> bool {
        runs.iter().any(|new| {
            let before = self.runs.partition_point(|run| run.end() <= new.first);
            self.runs.get(before).is_some_and(|run| run.first < new.end())
        })
    }

    fn with(&self, group: Arc<Group>) -> Self {
        let groups = self.groups.iter().cloned().chain([group]).collect();
        Self::of(self.id, groups, self.next + 1)
    }

    fn without(&self, gone: impl Fn(&Arc<Group>) -> bool) -> Self {
        let left = self.groups.iter().filter(|group| !gone(group)).cloned().collect();
        Self::of(self.id, left, self.next)
    }

    /// Notes that a row is about to get another version.
    #[inline]
    pub(crate) fn note_change(&self, head: &RowHead) {
        if is_mutant(Mutant::ColumnsNotTold) {
            return;
        }
        let id = head.id().0;
        if let Some(run) = run_of(&self.runs, id) {
            self.groups[run.group].clear(run.row + place_in(run, id));
        }
    }

    /// Returns the bytes of all segments.
    pub(crate) fn memory(&self) -> u64 {
        let bytes = self.groups.iter().flat_map(|group| &group.segments).map(|bytes| bytes.len());
        u64::try_from(bytes.sum::<usize>()).unwrap_or(u64::MAX)
    }
}

/// Finds the run that an id lies in.
fn run_of(runs: &[Run], id: u64) -> Option<&Run> {
    let after = runs.partition_point(|run| run.first <= id);
    runs[..after].last().filter(|run| id < run.end())
}

fn place_in(run: &Run, id: u64) -> usize {
    usize::try_from(id - run.first).expect("a run is not longer than a group")
}

/// What one statement sees of an index: which rows it reads from which place is decided once.
pub struct ColumnView {
    groups: Vec<(Arc<Group>, Box<[u64]>)>,
    runs: Vec<Run>,
}

impl ColumnView {
    fn new(index: &ColumnIndex, snapshot: Timestamp) -> Self {
        // Acquire: pairs with the Release that lets readers use the group.
        let is_ready = |group: &&Arc<Group>| group.since.load(Ordering::Acquire) <= snapshot.0;
        let groups: Vec<_> = index.groups.iter().filter(is_ready).cloned().collect();
        let runs = ColumnIndex::of(index.id, groups.clone(), 0).runs;
        // SeqCst: a bit that is seen was there when the snapshot was taken; see `clear`.
        let bits =
            |group: &Arc<Group>| group.clean.iter().map(|w| w.load(Ordering::SeqCst)).collect();
        let groups = groups.into_iter().map(|group| (Arc::clone(&group), bits(&group))).collect();
        Self { groups, runs }
    }

    /// Returns the row groups.
    pub fn groups(&self) -> impl Iterator<Item = RowGroup<'_>> {
        self.groups.iter().map(|(group, _)| {
            RowGroup::of(RowImage { bytes: &group.bytes, blobs: &group.segments })
        })
    }

    /// Returns the rows of the group of this place that are to be read elsewhere, in order.
    pub fn changed_rows(&self, place: usize) -> Vec<u32> {
        let (group, clean) = &self.groups[place];
        let mut changed = Vec::new();
        for (number, word) in clean.iter().enumerate() {
            let mut left = !word;
            while left != 0 {
                let row = number * WORD + left.trailing_zeros() as usize;
                if row < group.rows {
                    changed.push(u32::try_from(row).expect("a group has at most 2^20 rows"));
                }
                left &= left - 1;
            }
        }
        changed
    }

    /// Tells whether a head's row is read from a group.
    pub(crate) fn covers(&self, id: RowId) -> bool {
        run_of(&self.runs, id.0).is_some_and(|run| {
            let row = run.row + place_in(run, id.0);
            self.groups[run.group].1[row / WORD] >> (row % WORD) & 1 == 1
        })
    }

    /// Returns the first ids from `first` on, before `end`, whose rows are read as rows, up to the next that is not.
    pub(crate) fn loose(&self, first: u64, end: u64) -> Option<std::ops::Range<u64>> {
        let mut start = first;
        while start < end && self.covers(RowId(start)) {
            start = self.clean_until(start).min(end);
        }
        if start == end {
            return None;
        }
        let mut stop = start + 1;
        while stop < end && !self.covers(RowId(stop)) {
            stop += 1;
        }
        Some(start..stop)
    }

    /// Returns an id up to which all are clean, from one that is.
    fn clean_until(&self, id: u64) -> u64 {
        let Some(run) = run_of(&self.runs, id) else { return id };
        let row = run.row + place_in(run, id);
        let word = self.groups[run.group].1[row / WORD] >> (row % WORD);
        let ones = u64::from(word.trailing_ones()).max(1);
        (id + ones).min(run.end())
    }
}

/// Rows that no group covers, as one group is to have them: place by place of the heap.
pub struct LooseRows<'t> {
    id: ColumnIndexId,
    rows: Vec<(&'t RowHead, Option<&'t Version>)>,
    runs: Vec<Run>,
    snapshot: Timestamp,
}

impl<'t> LooseRows<'t> {
    /// Returns the rows; none where there is no row, or one that is being changed.
    pub fn images(&self) -> impl Iterator<Item = Option<RowImage<'t>>> {
        self.rows.iter().map(|(_, version)| version.map(Version::image))
    }

    fn push(&mut self, head: &'t RowHead, version: Option<&'t Version>) {
        let (id, row) = (head.id().0, self.rows.len());
        match self.runs.last_mut().filter(|run| run.end() == id) {
            Some(run) => run.len += 1,
            None => self.runs.push(Run { first: id, len: 1, group: 0, row }),
        }
        self.rows.push((head, version));
    }
}

/// The row groups of an index, for who shows them.
#[derive(Clone, Debug)]
pub struct ColumnGroupRow {
    /// Its number.
    pub id: u64,
    /// Rows, those that have changed since included.
    pub rows: usize,
    /// Rows that are read from it.
    pub clean: usize,
    /// Bytes of its segments.
    pub bytes: usize,
    /// Why it was closed.
    pub trim: Trim,
}

impl Transaction {
    /// Returns what the statement sees of a table's columnstore index; none if that has nothing for it, or is of
    /// another definition.
    pub fn column_view<'t>(
        &'t self,
        table: &'t Table,
        index: ColumnIndexId,
        isolation: Isolation,
    ) -> Option<&'t ColumnView> {
        let known = self.known_view((table.id(), index));
        // Readers share what the transaction's own thread has decided: else a row might be read twice, or by nobody.
        let view = known.or_else(|| {
            if self.is_lent() {
                return None;
            }
            let (from, _) = self.view(table, isolation);
            let found = table.column_index().filter(|found| found.id == index)?;
            Some(self.keep_view((table.id(), index), ColumnView::new(&found, from.snapshot)))
        });
        // What had nothing for the statement at first has nothing for all of it.
        view.filter(|view| !view.groups.is_empty())
    }

    /// Takes rows that no group of a table's index covers, as many as go into one; none if there are fewer than
    /// `rows_min`.
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
    /// Gives the table a columnstore index without groups: all its rows are loose. Whatever groups there were are
    /// gone.
    pub fn add_column_index(&self, id: ColumnIndexId) {
        self.change_columns(|index| {
            Some(ColumnIndex::of(id, Vec::new(), index.map_or(0, |index| index.next)))
        });
    }

    /// Takes the columnstore index away.
    pub fn drop_column_index(&self) {
        self.change_columns(|_| None);
    }

    /// Tells whether the table has a columnstore index of this definition.
    pub fn has_column_index(&self, id: ColumnIndexId) -> bool {
        self.column_index().is_some_and(|index| index.id == id)
    }

    /// Adds a group of these rows; `segments` hold them in their order, each a place of the heap, with any value
    /// where there is no row. `false` if another group has some of them by now, or the index is of another
    /// definition.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the wait for writers was.
    ///
    /// # Panics
    /// If the segments are not of these rows.
    pub fn add_column_group(
        &self,
        rows: &LooseRows<'_>,
        segments: Vec<Bytes>,
        trim: Trim,
    ) -> Result<bool> {
        assert!(segments.iter().all(|s| super::Segment::open(s).rows() == rows.rows.len()));
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
            let group = Arc::new(Group {
                bytes,
                segments: segments.clone(),
                runs: rows.runs.clone(),
                rows: rows.rows.len(),
                clean: words.iter().copied().map(AtomicU64::new).collect(),
                since: AtomicU64::new(NOT_YET),
            });
            added = Some(Arc::clone(&group));
            Some(index.with(group))
        });
        let Some(group) = added else { return Ok(false) };
        let patience = crate::wait::Patience::default();
        if !is_mutant(Mutant::ColumnsWithoutWait) && !wait_for_pins(&patience) {
            self.change_columns(|index| index.map(|i| i.without(|one| Arc::ptr_eq(one, &group))));
            return Err(Error::Cancelled);
        }
        for (row, (head, version)) in rows.rows.iter().enumerate() {
            let top = version.map_or(std::ptr::null(), std::ptr::from_ref);
            if version.is_some() && !std::ptr::eq(head.latest(), top) {
                group.clear(row);
            }
        }
        // Release: pairs with the Acquire in `ColumnView::new`.
        group.since.store(rows.snapshot.0, Ordering::Release);
        Ok(true)
    }

    /// Drops the groups of which less than half is clean: their rows are loose then.
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

/// The views that a transaction keeps for its statement.
pub(crate) type KeptViews = Vec<((TableId, ColumnIndexId), Arc<ColumnView>)>;
