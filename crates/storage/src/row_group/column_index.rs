//! `ColumnIndex`: a nonclustered columnstore index. Its groups copy columns of rows in the heap.
//!
//! ```text
//!  heads   0 1 2 3 4 5 6 7 | 8 9 .. of a shard, in the order of their ids
//!          └──── Run ────┘   loose: read as rows
//!  group   0 1 2 3 4 5 6 7   a segment per column; row n is head n
//!  clean   1 1 0 1 1 1 1 1   head 2 has changed since: it is read as a row
//! ```
//!
//! A group has the newest versions, at the time it was made, of a set of heads. A clean bit per
//! head says that this is still its newest version; a writer clears the bit before it links a newer
//! one. So maintenance is one bit per changed row, once. A snapshot that is not older than the
//! group reads clean rows from segments and the others from their versions: each row from one
//! place, with the same result as without the index.
//!
//! A group is published before readers may use it: from then on writers clear its bits. Writers
//! that began earlier and did not see the group have ended when all pins of that time have ended.
//! Only then are the heads compared once more with what the group has, and readers may use it.

use std::sync::Arc;

use types::Bytes;

use crate::primitives::{AtomicU64, Mutant, Ordering, Timestamp, is_mutant};
use crate::row_group::{GROUP_BYTES, RowGroup};
use crate::spec::{RowId, RowImage, TableId};
use crate::version::RowHead;

/// Bits per word of clean bits.
pub(crate) const WORD: usize = 64;

/// `Group::since` of a group that no reader may use yet.
const NOT_YET: u64 = u64::MAX;

/// Heads with consecutive ids, and the row number of the first one in its group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    first: u64,
    len: usize,
    group: usize,
    row: usize,
}

impl Run {
    /// Adds a head, which is row `row` of a group, to the group's runs. Ids must ascend.
    pub(crate) fn push(runs: &mut Vec<Self>, id: u64, row: usize) {
        match runs.last_mut().filter(|run| run.end() == id) {
            Some(run) => run.len += 1,
            None => runs.push(Self { first: id, len: 1, group: 0, row }),
        }
    }

    fn end(&self) -> u64 {
        self.first + self.len as u64
    }
}

/// One row group of a columnstore index.
pub(crate) struct Group {
    /// The number and trim reason, as the bytes of a [`RowGroup`].
    pub(crate) bytes: [u8; GROUP_BYTES + 2],
    pub(crate) segments: Vec<Bytes>,
    runs: Vec<Run>,
    pub(crate) rows: usize,
    clean: Box<[AtomicU64]>,
    /// The oldest snapshot that may use the group.
    since: AtomicU64,
}

impl Group {
    /// Makes a group that no reader may use before [`Self::open_for`]; `clean` has a bit per row.
    pub(crate) fn new(
        bytes: [u8; GROUP_BYTES + 2],
        segments: Vec<Bytes>,
        runs: Vec<Run>,
        clean: &[u64],
        rows: usize,
    ) -> Self {
        let clean = clean.iter().copied().map(AtomicU64::new).collect();
        Self { bytes, segments, runs, rows, clean, since: AtomicU64::new(NOT_YET) }
    }

    /// Lets readers use the group whose snapshots are not older than this one.
    pub(crate) fn open_for(&self, snapshot: Timestamp) {
        // Release: pairs with the Acquire in `ColumnView::new`.
        self.since.store(snapshot.0, Ordering::Release);
    }

    pub(crate) fn clear(&self, row: usize) {
        let (word, bit) = (&self.clean[row / WORD], 1_u64 << (row % WORD));
        if word.load(Ordering::Relaxed) & bit != 0 {
            // SeqCst: cleared before the new version is linked, and so before that has a time.
            word.fetch_and(!bit, Ordering::SeqCst);
        }
    }

    pub(crate) fn clean_rows(&self) -> usize {
        let words = self.clean.iter().map(|word| word.load(Ordering::Relaxed));
        words.map(|word| word.count_ones() as usize).sum()
    }
}

/// The definition of an index that groups were made for: another definition may have other columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnIndexId(pub u32);

/// The groups of an index at one moment; replaced as a whole.
pub(crate) struct ColumnIndex {
    pub(crate) id: ColumnIndexId,
    pub(crate) groups: Vec<Arc<Group>>,
    /// The runs of all groups, sorted by head id.
    pub(crate) runs: Vec<Run>,
    pub(crate) next: u64,
}

impl ColumnIndex {
    pub(crate) fn of(id: ColumnIndexId, groups: Vec<Arc<Group>>, next: u64) -> Self {
        let runs_of = |(group, each): (usize, &Arc<Group>)| {
            each.runs.iter().map(|run| Run { group, ..*run }).collect::<Vec<Run>>()
        };
        let mut runs: Vec<Run> = groups.iter().enumerate().flat_map(runs_of).collect();
        runs.sort_unstable_by_key(|run| run.first);
        Self { id, groups, runs, next }
    }

    /// Returns whether a group has some of these heads already.
    pub(crate) fn overlaps(&self, runs: &[Run]) -> bool {
        runs.iter().any(|new| {
            let before = self.runs.partition_point(|run| run.end() <= new.first);
            self.runs.get(before).is_some_and(|run| run.first < new.end())
        })
    }

    pub(crate) fn with(&self, group: Arc<Group>) -> Self {
        let groups = self.groups.iter().cloned().chain([group]).collect();
        Self::of(self.id, groups, self.next + 1)
    }

    pub(crate) fn without(&self, gone: impl Fn(&Arc<Group>) -> bool) -> Self {
        let left = self.groups.iter().filter(|group| !gone(group)).cloned().collect();
        Self::of(self.id, left, self.next)
    }

    /// Clears the clean bit of a row that is about to get another version.
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

    /// Returns the bytes of all segments of all groups.
    pub(crate) fn memory(&self) -> u64 {
        let bytes = self.groups.iter().flat_map(|group| &group.segments).map(|bytes| bytes.len());
        u64::try_from(bytes.sum::<usize>()).unwrap_or(u64::MAX)
    }
}

/// Finds the run that contains a head id.
pub(crate) fn run_of(runs: &[Run], id: u64) -> Option<&Run> {
    let after = runs.partition_point(|run| run.first <= id);
    runs[..after].last().filter(|run| id < run.end())
}

fn place_in(run: &Run, id: u64) -> usize {
    usize::try_from(id - run.first).expect("a run is not longer than a group")
}

/// What one statement sees of an index. It is fixed once, so every row is read from one place.
pub struct ColumnView {
    pub(crate) groups: Vec<(Arc<Group>, Box<[u64]>)>,
    runs: Vec<Run>,
}

impl ColumnView {
    pub(crate) fn new(index: &ColumnIndex, snapshot: Timestamp) -> Self {
        // Acquire: pairs with the Release that lets readers use the group.
        let is_ready = |group: &&Arc<Group>| group.since.load(Ordering::Acquire) <= snapshot.0;
        let groups: Vec<_> = index.groups.iter().filter(is_ready).cloned().collect();
        let runs = ColumnIndex::of(index.id, groups.clone(), 0).runs;
        // SeqCst: a bit that is set here was set when the snapshot was taken; see `clear`.
        let bits =
            |group: &Arc<Group>| group.clean.iter().map(|w| w.load(Ordering::SeqCst)).collect();
        let groups = groups.into_iter().map(|group| (Arc::clone(&group), bits(&group))).collect();
        Self { groups, runs }
    }

    /// Iterates over the row groups that the statement reads.
    pub fn groups(&self) -> impl Iterator<Item = RowGroup<'_>> {
        self.groups.iter().map(|(group, _)| {
            RowGroup::of(RowImage { bytes: &group.bytes, blobs: &group.segments })
        })
    }

    /// Returns the rows of the `place`-th group to be read from the heap instead, in order.
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

    /// Returns whether the row of a head is read from a group.
    pub(crate) fn covers(&self, id: RowId) -> bool {
        run_of(&self.runs, id.0).is_some_and(|run| {
            let row = run.row + place_in(run, id.0);
            self.groups[run.group].1[row / WORD] >> (row % WORD) & 1 == 1
        })
    }

    /// Returns the first range of ids within `first..end` whose rows are read from the heap.
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

    /// Returns an id up to which all heads are clean, starting from a clean one.
    fn clean_until(&self, id: u64) -> u64 {
        let Some(run) = run_of(&self.runs, id) else { return id };
        let row = run.row + place_in(run, id);
        let word = self.groups[run.group].1[row / WORD] >> (row % WORD);
        let ones = u64::from(word.trailing_ones()).max(1);
        (id + ones).min(run.end())
    }
}

/// The views that a transaction keeps until its statement ends.
pub(crate) type KeptViews = Vec<((TableId, ColumnIndexId), Arc<ColumnView>)>;
