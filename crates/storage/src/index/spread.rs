//! `SpreadIndex`: a range index that is not unique, as one tree or as several that are read as one.
//!
//! Keys that rise with time (`Expires`, an identity value, a time of creation) all go to the last leaf
//! of a tree, so every scheduler would write the lines of that leaf with each row. Once an index
//! notices that, each thread adds its entries to its own tree, and readers merge the trees:
//!
//! ```text
//! part 0: main   ├── 10  12  15 ──┤               entries from before, and rows that were put back
//! part 1         .                ├── 17  19 ──   of the first thread
//! part 2         .                ├── 16  18 ──   of the second
//!                                                 a scan: 10  12  15  16  17  18  19
//! ```
//!
//! Which tree has an entry is a fact of the version that needs it ([`Version::part`]): an entry (key,
//! head) is in the tree of a part as long as some version in the head's chain has that key and that
//! part. So each tree keeps the rule of `mod.rs` by itself, under its own latches, and a row whose key
//! comes back may have one entry in two trees. Readers show such a pair once.
//!
//! An index is never made into one tree again: it is when it is built again. A lookup descends as many
//! trees as threads have written, which is why an index whose keys do not rise stays one tree:
//! `tree.rs` says how that is noticed. Partitioned B-trees are described by Graefe ("Sorting and
//! indexing with partitioned B-trees", 2003).
//!
//! [`Version::part`]: crate::version::Version::part

use std::collections::VecDeque;
use std::ops::ControlFlow;

use types::Bytes;

use crate::index::node::Item;
use crate::index::tree::{Finger, RangeIndex};
use crate::index::{Entry, Growth};
use crate::primitives::own_number;
use crate::primitives::{AtomicPtr, AtomicU32, Guard, Mutant, Ordering, booked, is_mutant};
use crate::spec::{Bounds, IndexStatistics, Order, RowId};
use crate::version::RowHead;

/// Trees beside the main one. With more threads than this, some share a tree.
const MORE: usize = 255;

/// A range index of one tree, or of several that are read as one.
pub(crate) struct SpreadIndex {
    main: RangeIndex,
    /// Null as long as there is the main tree only.
    more: AtomicPtr<More>,
}

/// The trees beside the main one, by part - 1.
struct More {
    trees: [AtomicPtr<RangeIndex>; MORE],
    /// No tree at this place or behind.
    end: AtomicU32,
}

/// What a walk has read of each tree and not returned yet, so that it reads no leaf twice.
#[derive(Default)]
pub(crate) struct Ahead<'a> {
    runs: Vec<Run<'a>>,
    /// How often entries of a tree were read.
    #[cfg(test)]
    pub(super) reads: usize,
}

/// Entries of one tree in the order of the walk, and whether it has more behind them.
#[derive(Default)]
struct Run<'a> {
    part: usize,
    entries: VecDeque<Entry<'a>>,
    is_last: bool,
}

/// Returns the part to which the calling thread adds the entries of an index that is spread.
pub(crate) fn own_part() -> u8 {
    u8::try_from(own_number() % MORE + 1).expect("at most 255")
}

impl SpreadIndex {
    pub(crate) fn new() -> Self {
        Self { main: RangeIndex::new(), more: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Returns the tree of part 0.
    pub(crate) fn main(&self) -> &RangeIndex {
        &self.main
    }

    /// Returns whether each thread should add to its own tree.
    pub(crate) fn is_spread(&self) -> bool {
        self.main.is_crowded()
    }

    /// Returns the tree of a part, making it if it is not there yet.
    pub(crate) fn tree(&self, part: u8) -> &RangeIndex {
        let Some(place) = usize::from(part).checked_sub(1) else { return &self.main };
        let more = self.more().unwrap_or_else(|| self.add_more());
        more.tree(place).unwrap_or_else(|| more.add(place))
    }

    fn more(&self) -> Option<&More> {
        // SeqCst: an entry is added after its tree is shown, and a reader that must see the entry
        // looks for trees afterwards; see `row_lock/` for what orders the two.
        let more = self.more.load(Ordering::SeqCst);
        // SAFETY: made by `Box::into_raw`, and freed with the index.
        unsafe { more.as_ref() }
    }

    #[cold]
    fn add_more(&self) -> &More {
        let empty = || AtomicPtr::new(std::ptr::null_mut());
        let more = More { trees: std::array::from_fn(|_| empty()), end: AtomicU32::new(0) };
        add_once(&self.more, more)
    }

    /// Iterates over all trees.
    fn trees(&self) -> impl Iterator<Item = &RangeIndex> {
        self.parts().map(|(_, tree)| tree)
    }

    /// Iterates over all trees, each with its part.
    fn parts(&self) -> impl Iterator<Item = (usize, &RangeIndex)> {
        let more = self.more().into_iter().flat_map(More::iter);
        std::iter::once((0, &self.main)).chain(more)
    }

    /// Returns whether there is the main tree only.
    fn is_one(&self) -> bool {
        self.more().is_none()
    }

    /// Shows every head that has this key; a head whose key came back, perhaps twice.
    pub(crate) fn find<'a>(
        &'a self,
        key: &[u8],
        guard: &Guard,
        mut show: impl FnMut(&'a RowHead) -> ControlFlow<()>,
    ) {
        for tree in self.trees() {
            let mut flow = ControlFlow::Continue(());
            tree.find(key, guard, |head| {
                flow = show(head);
                flow
            });
            if flow.is_break() {
                return;
            }
        }
    }

    /// Finds a key in all trees, as [`RangeIndex::find_near`] does in one.
    pub(crate) fn find_near<'a, 'g>(
        &'a self,
        key: &[u8],
        guard: &'g Guard,
        finger: &mut Finger<'g>,
        show: impl FnMut(&'a RowHead) -> ControlFlow<()>,
    ) where
        'a: 'g,
    {
        if self.is_one() {
            self.main.find_near(key, guard, finger, show);
        } else {
            self.find(key, guard, show);
        }
    }

    /// Finds what is under a prefix in all trees, as [`RangeIndex::find_under`] does in one.
    pub(crate) fn find_under<'a, 'g>(
        &'a self,
        prefix: &[u8],
        from: Option<(&[u8], RowId)>,
        guard: &'g Guard,
        finger: &mut Finger<'g>,
        mut show: impl FnMut(&'g [u8], &'a RowHead),
    ) -> Option<(&'g [u8], RowId)>
    where
        'a: 'g,
    {
        if self.is_one() {
            return self.main.find_under(prefix, from, guard, finger, show);
        }
        let mut found: Vec<(&'g [u8], &'a RowHead)> = Vec::new();
        let mut rest: Option<(&'g [u8], RowId)> = None;
        for (place, tree) in self.trees().enumerate() {
            // Only the main tree is large enough to be worth remembering a leaf of.
            let mut other = Finger::default();
            let finger = if place == 0 { &mut *finger } else { &mut other };
            let more =
                tree.find_under(prefix, from, guard, finger, |key, head| found.push((key, head)));
            // Behind the end of the leaf that ends first, a tree may have more.
            rest = match (rest, more) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        found.sort_unstable_by_key(|(key, head)| (*key, head.id()));
        found.dedup_by_key(|(key, head)| (*key, head.id()));
        for (key, head) in found {
            if rest.is_none_or(|rest| (key, head.id()) <= rest) {
                show(key, head);
            }
        }
        rest
    }

    /// Walks all trees in order, as [`RangeIndex::walk`] does one.
    pub(crate) fn walk<'a>(
        &'a self,
        bounds: Bounds<'_>,
        order: Order,
        after: Option<(&[u8], RowId)>,
        guard: &Guard,
        batch: &mut Vec<Entry<'a>>,
    ) -> bool {
        self.walk_on((bounds, order), after, guard, &mut Ahead::default(), batch)
    }

    /// Continues a walk behind `after`, as [`Self::walk`]. `ahead` keeps what was read of trees that
    /// have more than this batch takes.
    pub(crate) fn walk_on<'a>(
        &'a self,
        (bounds, order): (Bounds<'_>, Order),
        after: Option<(&[u8], RowId)>,
        guard: &Guard,
        ahead: &mut Ahead<'a>,
        batch: &mut Vec<Entry<'a>>,
    ) -> bool {
        let mut items: Vec<&Item> = Vec::new();
        let entry = |item: &&Item| {
            // SAFETY: heads live as long as the table, which owns this index.
            Entry { key: item.key.clone(), head: unsafe { &*item.head } }
        };
        if self.is_one() && ahead.runs.is_empty() {
            let is_last = self.main.walk(bounds, order, after, guard, &mut items);
            batch.extend(items.iter().map(entry));
            return is_last;
        }
        for (part, tree) in self.parts() {
            let run = ahead.run(part);
            if run.is_last || !run.entries.is_empty() {
                continue;
            }
            items.clear();
            run.is_last = tree.walk(bounds, order, after, guard, &mut items);
            run.entries.extend(items.iter().map(entry));
            #[cfg(test)]
            {
                ahead.reads += 1;
            }
        }
        ahead.merge(order, batch)
    }

    /// Returns how often nodes of all trees were added and removed.
    pub(crate) fn growth(&self) -> Growth {
        let mut sums = Growth::default();
        self.trees().for_each(|tree| tree.add_growth(&mut sums));
        sums
    }

    /// Computes the statistics by walking all trees; a row whose key came back may count twice.
    pub(crate) fn statistics(&self, guard: &Guard) -> IndexStatistics {
        let mut sums = IndexStatistics::default();
        for tree in self.trees() {
            let own = tree.statistics(guard);
            sums.buckets += own.buckets;
            sums.entries += own.entries;
            sums.trees += 1;
            sums.chain_max = sums.chain_max.max(own.chain_max);
        }
        sums
    }

    /// Returns the bytes of all trees, as [`RangeIndex::memory`].
    pub(crate) fn memory(&self, guard: &Guard) -> u64 {
        self.trees().map(|tree| tree.memory(guard)).sum()
    }
}

impl<'a> Ahead<'a> {
    /// Returns the run of a tree, which is empty at first.
    fn run(&mut self, part: usize) -> &mut Run<'a> {
        let place = self.runs.iter().position(|run| run.part == part).unwrap_or_else(|| {
            self.runs.push(Run { part, ..Run::default() });
            self.runs.len() - 1
        });
        &mut self.runs[place]
    }

    /// Moves the entries up to the end of the run that ends first with more behind it to `batch`.
    /// Returns whether these are the last.
    fn merge(&mut self, order: Order, batch: &mut Vec<Entry<'a>>) -> bool {
        if let [only] = self.runs.as_mut_slice() {
            batch.extend(only.entries.drain(..));
            return only.is_last;
        }
        let open = self.runs.iter().filter(|run| !run.is_last);
        let ends = open.filter_map(|run| run.entries.back()).map(place);
        let end = match order {
            Order::Forward => ends.min(),
            Order::Backward => ends.max(),
        };
        let end = end.map(|(key, id)| (Bytes::copy_from(key), id));
        let is_inside = |entry: &Entry<'_>| {
            is_mutant(Mutant::RunsUncut)
                || end.as_ref().is_none_or(|(key, id)| match order {
                    Order::Forward => place(entry) <= (key.as_slice(), *id),
                    Order::Backward => place(entry) >= (key.as_slice(), *id),
                })
        };
        for run in &mut self.runs {
            let inside = run.entries.partition_point(is_inside);
            batch.extend(run.entries.drain(..inside));
        }
        batch.sort_unstable_by(|one, other| match order {
            Order::Forward => place(one).cmp(&place(other)),
            Order::Backward => place(other).cmp(&place(one)),
        });
        batch.dedup_by(|one, other| place(one) == place(other));
        self.runs.iter().all(|run| run.is_last)
    }
}

/// Returns the place of an entry in the order of all.
fn place<'e>(entry: &'e Entry<'_>) -> (&'e [u8], RowId) {
    (entry.key.as_slice(), entry.head.id())
}

impl More {
    fn tree(&self, place: usize) -> Option<&RangeIndex> {
        let tree = self.trees[place].load(Ordering::SeqCst);
        // SAFETY: made by `Box::into_raw`, and freed with the index.
        unsafe { tree.as_ref() }
    }

    #[cold]
    fn add(&self, place: usize) -> &RangeIndex {
        let end = u32::try_from(place + 1).expect("at most 255");
        // Before the tree is there, so that no reader misses it.
        if is_mutant(Mutant::TreesCutOff) {
            self.end.store(end, Ordering::SeqCst);
        } else {
            self.end.fetch_max(end, Ordering::SeqCst);
        }
        add_once(&self.trees[place], RangeIndex::new())
    }

    fn iter(&self) -> impl Iterator<Item = (usize, &RangeIndex)> {
        let end = usize::try_from(self.end.load(Ordering::SeqCst)).unwrap_or(MORE).min(MORE);
        (0..end).filter_map(|place| self.tree(place).map(|tree| (place + 1, tree)))
    }
}

/// Puts a new value behind a pointer that is null, unless another thread was faster.
fn add_once<T>(place: &AtomicPtr<T>, value: T) -> &T {
    let new = Box::into_raw(booked(|| Box::new(value)));
    let order = (Ordering::SeqCst, Ordering::SeqCst);
    match place.compare_exchange(std::ptr::null_mut(), new, order.0, order.1) {
        // SAFETY: made just now, and freed with the index.
        Ok(_) => unsafe { &*new },
        Err(other) => {
            // SAFETY: this thread lost the race, so no other has seen `new`.
            drop(unsafe { Box::from_raw(new) });
            // SAFETY: made by the thread that won, and freed with the index.
            unsafe { &*other }
        }
    }
}

impl Drop for SpreadIndex {
    fn drop(&mut self) {
        let more = self.more.load(Ordering::Relaxed);
        if !more.is_null() {
            // SAFETY: made by `Box::into_raw`, and no other thread has the index.
            drop(unsafe { Box::from_raw(more) });
        }
    }
}

impl Drop for More {
    fn drop(&mut self) {
        for tree in &self.trees {
            let tree = tree.load(Ordering::Relaxed);
            if !tree.is_null() {
                // SAFETY: made by `Box::into_raw`, and no other thread has the index.
                drop(unsafe { Box::from_raw(tree) });
            }
        }
    }
}
