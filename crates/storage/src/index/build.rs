//! `Builder`: fills an empty index with the rows of a table that was put back.
//!
//! A range index is built from the bottom up from sorted items, which needs no descent and no
//! split. A hash index gets its size first, and takes its entries one by one, each some rows after
//! its bucket was prefetched: the buckets are in no cache, and each is far from the one before.

use std::collections::VecDeque;
use std::ptr::NonNull;

use crate::index::hash::HashIndex;
use crate::index::node::{Item, Node, Prefix, prefix};
use crate::index::{Entries, Index, has_key, with_buffer};
use crate::primitives::{Guard, booked};
use crate::spec::Uniqueness;
use crate::version::{RowHead, Version};

/// Two rows have this key, in a unique index.
pub(crate) struct Duplicate(pub(crate) Box<[u8]>);

/// Rows whose buckets are being prefetched while the entry of one is added.
const BUCKETS_AHEAD: usize = if cfg!(test) { 2 } else { 16 };

/// The entries of an index that is being built.
pub(crate) struct Builder<'i> {
    index: &'i Index,
    /// Of a range index: the items, each with the start of its key.
    items: Vec<(Prefix, Box<Item>)>,
    /// Of a hash index: the hashes and heads of the last rows, whose entries are still to be added.
    ahead: VecDeque<(u32, NonNull<RowHead>)>,
}

impl Index {
    /// Begins to fill an empty index with about this many rows.
    pub(crate) fn builder(&self, rows: usize) -> Builder<'_> {
        let items = match &self.entries {
            Entries::Range(_) => Vec::with_capacity(rows),
            Entries::Hash(hash) => {
                hash.reserve(rows as u64);
                Vec::new()
            }
        };
        Builder { index: self, items, ahead: VecDeque::new() }
    }
}

impl Builder<'_> {
    /// Adds the entry of a row that has one version. The entry of a hash index is added later, and
    /// so is a duplicate found.
    pub(crate) fn push(
        &mut self,
        head: &RowHead,
        version: &Version,
        guard: &Guard,
    ) -> Result<(), Duplicate> {
        let index = self.index;
        let hash = with_buffer(|key| {
            index.extractor.key(version.image(), key);
            match &index.entries {
                // A row that a filtered index leaves out has the empty key.
                _ if key.is_empty() => None,
                Entries::Range(_) => {
                    let item = booked(|| Box::new(Item::new(key, head)));
                    self.items.push((prefix(key), item));
                    None
                }
                Entries::Hash(hash) => Some((hash, hash.hash(key))),
            }
        });
        let Some((entries, hash)) = hash else { return Ok(()) };
        entries.prefetch(hash);
        self.ahead.push_back((hash, NonNull::from(head)));
        if self.ahead.len() > BUCKETS_AHEAD { self.add_first(entries, guard) } else { Ok(()) }
    }

    /// Adds the first of the entries that wait for their buckets.
    fn add_first(&mut self, entries: &HashIndex, guard: &Guard) -> Result<(), Duplicate> {
        let Some((hash, head)) = self.ahead.pop_front() else { return Ok(()) };
        // SAFETY: heads live as long as the table, which owns the index.
        let head = unsafe { head.as_ref() };
        let check = |other: &RowHead| match self.index.uniqueness {
            Uniqueness::NotUnique => Ok(()),
            Uniqueness::Unique => self.check_other(head, other, guard),
        };
        // The table has its size already. If it is nearly full it doubles with later entries, not here.
        entries.add_hashed(hash, head, check, || {}).map(drop)
    }

    /// Fails if another row, whose key has the same hash, has the same key.
    fn check_other(&self, head: &RowHead, other: &RowHead, guard: &Guard) -> Result<(), Duplicate> {
        let index = self.index;
        with_buffer(|key| {
            let version = only_version(head, guard).expect("a row that was pushed has a version");
            index.extractor.key(version.image(), key);
            let is_same = only_version(other, guard)
                .is_some_and(|version| has_key(index, version.image(), key));
            if is_same { Err(Duplicate(Box::from(&**key))) } else { Ok(()) }
        })
    }

    /// Builds the index from the entries.
    pub(crate) fn finish(mut self, guard: &Guard) -> Result<(), Duplicate> {
        let range = match &self.index.entries {
            Entries::Range(range) => range,
            Entries::Hash(entries) => {
                while !self.ahead.is_empty() {
                    self.add_first(entries, guard)?;
                }
                return Ok(());
            }
        };
        self.items.sort_unstable_by(|(one, a), (other, b)| {
            one.cmp(other).then_with(|| a.key.cmp(&b.key)).then(a.id.cmp(&b.id))
        });
        let is_same =
            |two: &[(Prefix, Box<Item>)]| two[0].0 == two[1].0 && two[0].1.key == two[1].1.key;
        if self.index.uniqueness == Uniqueness::Unique
            && let Some(two) = self.items.windows(2).find(|two| is_same(two))
        {
            return Err(Duplicate(Box::from(two[0].1.key.as_slice())));
        }
        if !self.items.is_empty() {
            range.main().replace_empty(tree(self.items), guard);
        }
        Ok(())
    }
}

/// Returns the only version of a row of a table that no other thread uses yet.
fn only_version<'g>(head: &RowHead, _guard: &'g Guard) -> Option<&'g Version> {
    // SAFETY: a linked version is freed only through `epoch`, so it is alive under the guard.
    unsafe { head.latest().as_ref() }
}

/// Items of a new leaf, and children of a new inner node: some room is left for later entries.
const FILL: usize = super::node::ITEMS - super::node::ITEMS / 8;

/// Builds a tree of sorted items, at least one, and returns its root.
fn tree(items: Vec<(Prefix, Box<Item>)>) -> Box<Node> {
    let count = items.len();
    let mut items = items.into_iter();
    let mut level: Vec<Box<Node>> = shares(count)
        .map(|share| booked(|| Box::new(Node::leaf_of(items.by_ref().take(share)))))
        .collect();
    while level.len() > 1 {
        let count = level.len();
        let mut children = level.into_iter();
        level = shares(count)
            .map(|share| booked(|| Box::new(Node::inner_of(children.by_ref().take(share)))))
            .collect();
    }
    level.pop().expect("there is an item")
}

/// Divides `count` things among nodes, as evenly as possible. So no inner node has one child only.
fn shares(count: usize) -> impl Iterator<Item = usize> {
    let nodes = count.div_ceil(FILL);
    let (least, more) = (count / nodes, count % nodes);
    (0..nodes).map(move |node| least + usize::from(node < more))
}
