//! Nodes of the range index: sorted arrays of pointers to immutable items. They can be read while a
//! writer shifts them; a reader validates the node's version afterwards.

use std::cmp::Ordering as Order;
use std::ptr::NonNull;

use sos::lock::VersionLatch;
use types::Bytes;

use crate::index::crowd::Turns;
use crate::primitives::{AtomicPtr, AtomicU32, AtomicU64, Ordering, booked};
use crate::version::RowHead;

/// The largest number of items in a node.
pub(super) const ITEMS: usize = if cfg!(any(test, shuttle)) { 4 } else { 32 };

/// An entry of a leaf, or a separator: the largest entry below its left child.
pub(super) struct Item {
    pub(super) key: Bytes,
    /// The row's id: orders the rows that have the same key.
    pub(super) id: i64,
    pub(super) head: *const RowHead,
}

// SAFETY: the pointer is to a head, which is shared by threads and lives as long as the table.
unsafe impl Send for Item {}

impl Item {
    pub(super) fn new(key: &[u8], head: &RowHead) -> Self {
        Self { key: Bytes::copy_from(key), id: rank(head), head }
    }

    fn copy(&self) -> Self {
        Self { key: self.key.clone(), id: self.id, head: self.head }
    }
}

/// Returns the position of a head among the rows of one key; at least 0.
pub(super) fn rank(head: &RowHead) -> i64 {
    i64::try_from(head.id().0).expect("row ids have 63 bits")
}

/// A position in the order of items: `id` -1 is before every row of the key, `i64::MAX` behind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe<'a> {
    pub(super) key: &'a [u8],
    pub(super) id: i64,
}

impl Probe<'_> {
    fn compare(&self, item: &Item) -> Order {
        self.key.cmp(item.key.as_slice()).then(self.id.cmp(&item.id))
    }
}

/// Whether a search stops at an item that equals the probe or behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    At,
    Behind,
}

/// A reader met a writer and must start again.
#[derive(Debug)]
pub(super) struct Torn;

/// A node: a leaf if it has no children.
pub(super) struct Node {
    pub(super) latch: VersionLatch,
    count: AtomicU32,
    /// Of a leaf that was the last one: how often another thread wrote it.
    pub(super) turns: Turns,
    /// The first word of each key's [`Prefix`], which decides most comparisons.
    prefixes: [AtomicU64; ITEMS],
    /// The second word, which decides nearly all others: keys of several columns often start alike
    /// in a whole leaf, and an item is a separate cache line.
    seconds: [AtomicU64; ITEMS],
    items: [AtomicPtr<Item>; ITEMS],
    /// One more child than there are items; empty in a leaf.
    children: Box<[AtomicPtr<Node>]>,
}

/// The start of a key as two numbers, which compare as the keys do as far as they reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Prefix {
    first: u64,
    second: u64,
}

/// Returns the start of a key as numbers: of two keys, the smaller never has the larger ones.
///
/// Nearly all keys start with the byte 0 or 1, which distinguishes NULL from a value. It takes two
/// bits here, so the first word includes the next eight bytes except for two bits: a whole `bigint`
/// or `datetime`, whose last byte differs between neighbours. The second word begins with these two
/// bits. Keys of two or three numbers end within it.
pub(super) fn prefix(key: &[u8]) -> Prefix {
    const OTHER: u64 = 2;
    let (class, rest) = match key {
        [] => (0, key),
        [first @ (0 | 1), rest @ ..] => (u64::from(*first), rest),
        [..] => (OTHER, key),
    };
    let (start, rest) = word(rest);
    let (next, _) = word(rest);
    Prefix { first: class << 62 | start >> 2, second: start << 62 | next >> 2 }
}

/// Returns the first eight bytes as a number, filled with zeros, and the bytes after them.
fn word(bytes: &[u8]) -> (u64, &[u8]) {
    match bytes.split_first_chunk::<8>() {
        Some((start, rest)) => (u64::from_be_bytes(*start), rest),
        None => {
            let mut start = [0; 8];
            start[..bytes.len()].copy_from_slice(bytes);
            (u64::from_be_bytes(start), &[])
        }
    }
}

impl Node {
    fn empty(children: Box<[AtomicPtr<Node>]>) -> Self {
        Self {
            latch: VersionLatch::new(),
            count: AtomicU32::new(0),
            turns: Turns::default(),
            prefixes: std::array::from_fn(|_| AtomicU64::new(0)),
            seconds: std::array::from_fn(|_| AtomicU64::new(0)),
            items: std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut())),
            children,
        }
    }

    pub(super) fn leaf() -> Self {
        Self::empty(Box::default())
    }

    fn inner() -> Self {
        Self::empty((0..=ITEMS).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect())
    }

    /// Makes a root above the two halves of a split.
    pub(super) fn root(left: *mut Self, separator: *mut Item, right: *mut Self) -> Self {
        let root = Self::inner();
        root.set_item(0, separator);
        root.children[0].store(left, Ordering::Release);
        root.children[1].store(right, Ordering::Release);
        root.set_count(1);
        root
    }

    /// Makes a leaf of some sorted items, each with the start of its key.
    pub(super) fn leaf_of(items: impl Iterator<Item = (Prefix, Box<Item>)>) -> Self {
        let leaf = Self::leaf();
        let mut count = 0;
        for (prefix, item) in items {
            leaf.put_item(count, prefix, Box::into_raw(item));
            count += 1;
        }
        leaf.set_count(count);
        leaf
    }

    /// Makes an inner node above some nodes in order, which are not empty.
    pub(super) fn inner_of(children: impl Iterator<Item = Box<Self>>) -> Self {
        let node = Self::inner();
        let mut count = 0;
        for child in children {
            if count > 0 {
                let left = node.children[count - 1].load(Ordering::Relaxed);
                // SAFETY: put there just now, and owned by this node.
                let separator = unsafe { &*left }.largest().copy();
                node.set_item(count - 1, Box::into_raw(booked(|| Box::new(separator))));
            }
            node.children[count].store(Box::into_raw(child), Ordering::Release);
            count += 1;
        }
        node.set_count(count - 1);
        node
    }

    /// Returns the largest entry below a node that only the caller has.
    fn largest(&self) -> &Item {
        let count = self.count();
        let largest = match self.is_leaf() {
            true => self.item(count - 1),
            false => self.child(count).map(Self::largest),
        };
        largest.unwrap_or_else(|Torn| unreachable!("no other thread has the node"))
    }

    pub(super) fn is_leaf(&self) -> bool {
        self.children.is_empty()
    }

    /// Returns the number of items; for an optimistic reader, never more than the capacity.
    pub(super) fn count(&self) -> usize {
        let count = self.count.load(Ordering::Relaxed);
        usize::try_from(count).unwrap_or(ITEMS).min(ITEMS)
    }

    fn set_count(&self, count: usize) {
        self.count.store(u32::try_from(count).expect("at most ITEMS"), Ordering::Relaxed);
    }

    pub(super) fn is_full(&self) -> bool {
        self.count() == ITEMS
    }

    /// Returns the item at a position.
    pub(super) fn item(&self, position: usize) -> Result<&Item, Torn> {
        // Acquire: pairs with the Release in `set_item`.
        let item = self.items.get(position).ok_or(Torn)?.load(Ordering::Acquire);
        // SAFETY: items are immutable, freed through `epoch` only, and callers are pinned.
        unsafe { item.as_ref() }.ok_or(Torn)
    }

    /// Returns the child at a position.
    pub(super) fn child(&self, position: usize) -> Result<&Self, Torn> {
        let child = self.children.get(position).ok_or(Torn)?.load(Ordering::Acquire);
        // SAFETY: nodes are freed through `epoch` only: the tree's callers are pinned.
        unsafe { child.as_ref() }.ok_or(Torn)
    }

    fn set_item(&self, position: usize, item: *mut Item) {
        // SAFETY: the writer's own item, or one it moves within nodes that it has latched.
        let key = unsafe { &*item }.key.as_slice();
        self.put_item(position, prefix(key), item);
    }

    fn put_item(&self, position: usize, prefix: Prefix, item: *mut Item) {
        self.prefixes[position].store(prefix.first, Ordering::Relaxed);
        self.seconds[position].store(prefix.second, Ordering::Relaxed);
        // Release: pairs with the Acquire in `item`.
        self.items[position].store(item, Ordering::Release);
    }

    /// Copies an item within latched nodes, with its prefix: its key is not read, since that is in
    /// another cache line.
    fn copy_item(&self, position: usize, source: &Self, from: usize) {
        let prefix = Prefix {
            first: source.prefixes[from].load(Ordering::Relaxed),
            second: source.seconds[from].load(Ordering::Relaxed),
        };
        self.put_item(position, prefix, source.items[from].load(Ordering::Relaxed));
    }

    /// Returns how many items are smaller than `probe`, or not larger with [`Stop::Behind`].
    pub(super) fn seek(&self, probe: Probe<'_>, stop: Stop) -> Result<usize, Torn> {
        self.seek_within(probe, stop, (0, self.count()))
    }

    /// As [`Node::seek`], for a writer: looks at the last item first, since new keys often rise, and
    /// then at the first, since old ones often leave in their order.
    pub(super) fn seek_from_ends(&self, probe: Probe<'_>, stop: Stop) -> Result<usize, Torn> {
        let wanted = prefix(probe.key);
        let count = self.count();
        if count < 2 {
            return self.seek(probe, stop);
        }
        if self.is_before(count - 1, (probe, wanted), stop)? {
            return Ok(count);
        }
        if !self.is_before(0, (probe, wanted), stop)? {
            return Ok(0);
        }
        self.seek_within(probe, stop, (1, count - 1))
    }

    /// Finds the place of `probe` between two positions.
    fn seek_within(
        &self,
        probe: Probe<'_>,
        stop: Stop,
        (mut low, mut high): (usize, usize),
    ) -> Result<usize, Torn> {
        let wanted = prefix(probe.key);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.is_before(middle, (probe, wanted), stop)? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Returns whether the item at a position is smaller than `probe`, or not larger with
    /// [`Stop::Behind`].
    #[inline]
    fn is_before(
        &self,
        position: usize,
        (probe, wanted): (Probe<'_>, Prefix),
        stop: Stop,
    ) -> Result<bool, Torn> {
        let order = match wanted.first.cmp(&self.prefixes[position].load(Ordering::Relaxed)) {
            Order::Equal => wanted.second.cmp(&self.seconds[position].load(Ordering::Relaxed)),
            order => order,
        };
        let order = match order {
            Order::Equal => probe.compare(self.item(position)?),
            order => order,
        };
        Ok(match order {
            Order::Greater => true,
            Order::Equal => stop == Stop::Behind,
            Order::Less => false,
        })
    }

    /// Inserts an item, and in an inner node the child behind it. The node is latched and not full.
    pub(super) fn insert(&self, position: usize, item: *mut Item, right: *mut Self) {
        let count = self.count();
        for at in (position..count).rev() {
            self.copy_item(at + 1, self, at);
        }
        self.set_item(position, item);
        if !self.is_leaf() {
            for at in (position + 1..=count).rev() {
                let child = self.children[at].load(Ordering::Relaxed);
                self.children[at + 1].store(child, Ordering::Release);
            }
            self.children[position + 1].store(right, Ordering::Release);
        }
        self.set_count(count + 1);
    }

    /// Takes an item out of a latched leaf.
    pub(super) fn remove(&self, position: usize) -> Option<NonNull<Item>> {
        let removed = NonNull::new(self.items[position].load(Ordering::Relaxed));
        self.close_gap(position);
        removed
    }

    /// Takes a child and a separator beside it out of a latched inner node of two children or more.
    pub(super) fn remove_child(&self, position: usize) -> Option<NonNull<Item>> {
        let count = self.count();
        // The range right of the last child's separator belongs to the child before it from now on.
        let separator = position.min(count - 1);
        let removed = NonNull::new(self.items[separator].load(Ordering::Relaxed));
        self.close_gap(separator);
        for at in position..count {
            let child = self.children[at + 1].load(Ordering::Relaxed);
            self.children[at].store(child, Ordering::Release);
        }
        removed
    }

    fn close_gap(&self, position: usize) {
        let count = self.count();
        for at in position..count - 1 {
            self.copy_item(at, self, at + 1);
        }
        self.set_count(count - 1);
    }

    /// Moves the upper half of a latched, full node to a new one; returns it and the separator.
    pub(super) fn split(&self) -> (*mut Item, *mut Self) {
        let count = self.count();
        let middle = count / 2;
        let right = if self.is_leaf() { Self::leaf() } else { Self::inner() };
        let separator = self.items[middle - 1].load(Ordering::Relaxed);
        for at in middle..count {
            right.copy_item(at - middle, self, at);
        }
        right.set_count(count - middle);
        if self.is_leaf() {
            // SAFETY: an item of the latched node exists; a leaf keeps it: the separator copies.
            let separator = unsafe { &*separator };
            let separator = Box::into_raw(booked(|| Box::new(separator.copy())));
            self.set_count(middle);
            return (separator, Box::into_raw(booked(|| Box::new(right))));
        }
        for at in middle..=count {
            let child = self.children[at].load(Ordering::Relaxed);
            right.children[at - middle].store(child, Ordering::Release);
        }
        // An inner node gives its separator to the parent.
        self.set_count(middle - 1);
        (separator, Box::into_raw(booked(|| Box::new(right))))
    }

    /// Frees the node's items and all nodes below, which only the caller can reach.
    pub(super) fn free_all(&mut self) {
        for at in 0..self.count() {
            let item = self.items[at].load(Ordering::Relaxed);
            // SAFETY: made by `Box::into_raw`, reachable from here only.
            drop(unsafe { Box::from_raw(item) });
        }
        let children = if self.is_leaf() { 0 } else { self.count() + 1 };
        for child in &self.children[..children] {
            // SAFETY: as above.
            let mut child = unsafe { Box::from_raw(child.load(Ordering::Relaxed)) };
            child.free_all();
        }
    }
}

#[cfg(test)]
mod tests;
