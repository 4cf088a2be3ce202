//! Nodes of the range index: sorted arrays of pointers to immutable items. They can be read while a
//! writer shifts them; a reader validates the node's version afterwards.
//!
//! Beside each pointer are two words of the item's key, which decide most comparisons without reading
//! the item. What all keys of the node start with is kept once, and the two words are those behind it
//! (docs/decisions/0413, 0456).

use std::cmp::Ordering as Order;
use std::ptr::NonNull;

use sos::lock::VersionLatch;
use types::Bytes;

use crate::index::crowd::Turns;
use crate::primitives::{AtomicPtr, AtomicU32, AtomicU64, Mutant, Ordering, booked, is_mutant};
use crate::version::RowHead;

/// The largest number of items in a node.
pub(super) const ITEMS: usize = if cfg!(any(test, shuttle)) { 4 } else { 32 };

/// The largest number of words that a node keeps once for all its keys: 64 bytes, such as
/// `Company.Shop:session:` as `nvarchar`.
const COMMON: usize = 8;

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
#[derive(Clone, Copy)]
pub(super) struct Probe<'a> {
    pub(super) key: &'a [u8],
    pub(super) id: i64,
    /// Of the key: made once for a descent, whose nodes share some of them or none.
    words: [u64; COMMON + 2],
}

impl<'a> Probe<'a> {
    pub(super) fn new(key: &'a [u8], id: i64) -> Self {
        let mut words = [0; COMMON + 2];
        let mut all = Words::of(key);
        for word in &mut words {
            if all.is_at_end() {
                break;
            }
            *word = all.take();
        }
        Self { key, id, words }
    }

    /// Returns the two words behind the first `shared` ones.
    fn behind(&self, shared: usize) -> Prefix {
        Prefix { first: self.words[shared], second: self.words[shared + 1] }
    }

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
    /// How many words the keys of all items start with together, as far as the node knows.
    shared: AtomicU32,
    /// These words. Keys often start alike in a whole node, and most of all those that are texts.
    common: [AtomicU64; COMMON],
    /// The first word of each key behind those, which decides most comparisons.
    prefixes: [AtomicU64; ITEMS],
    /// The second word, which decides nearly all others: an item is a separate cache line.
    seconds: [AtomicU64; ITEMS],
    items: [AtomicPtr<Item>; ITEMS],
    /// One more child than there are items; empty in a leaf.
    children: Box<[AtomicPtr<Node>]>,
}

/// Two words of a key one after the other, which compare as keys do whose words before are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Prefix {
    first: u64,
    second: u64,
}

/// Returns the first two words of a key.
pub(super) fn prefix(key: &[u8]) -> Prefix {
    start(key, 0)
}

/// Returns the two words of a key behind its first `shared` ones.
fn start(key: &[u8], shared: usize) -> Prefix {
    let mut words = Words::of(key);
    for _ in 0..shared {
        words.take();
    }
    words.take_two()
}

/// A key as numbers of eight bytes, filled with zeros at the end: of two keys, the smaller never has
/// the larger words.
///
/// Nearly all keys start with the byte 0 or 1, which distinguishes NULL from a value. It takes two
/// bits here, so the first word includes the next eight bytes except for two bits: a whole `bigint`
/// or `datetime`, whose last byte differs between neighbours. The next word begins with these two
/// bits.
struct Words<'a> {
    key: &'a [u8],
    /// Where the next word's bytes begin.
    at: usize,
    /// Its first two bits.
    carry: u64,
}

impl<'a> Words<'a> {
    fn of(key: &'a [u8]) -> Self {
        const OTHER: u64 = 2;
        let (carry, at) = match key.first() {
            None => (0, 0),
            Some(first @ (0 | 1)) => (u64::from(*first), 1),
            Some(_) => (OTHER, 0),
        };
        Self { key, at, carry }
    }

    /// Returns whether the words that follow are zeros.
    #[inline]
    fn is_at_end(&self) -> bool {
        self.at >= self.key.len() && self.carry & 3 == 0
    }

    #[inline]
    fn take(&mut self) -> u64 {
        let bytes = word_at(self.key, self.at);
        let word = self.carry << 62 | bytes >> 2;
        self.carry = bytes;
        self.at += 8;
        word
    }

    #[inline]
    fn take_two(&mut self) -> Prefix {
        Prefix { first: self.take(), second: self.take() }
    }
}

/// Returns the eight bytes at a position as a number, with zeros for what is behind the end.
#[inline]
fn word_at(key: &[u8], at: usize) -> u64 {
    let rest = key.get(at..).unwrap_or_default();
    if let Some(bytes) = rest.first_chunk::<8>() {
        return u64::from_be_bytes(*bytes);
    }
    if rest.is_empty() {
        return 0;
    }
    // The last bytes of a key are read with those before them, where there are any: no copy.
    if let Some(bytes) = key.last_chunk::<8>() {
        return u64::from_be_bytes(*bytes) << (8 * (8 - rest.len()));
    }
    rest.iter().enumerate().fold(0, |word, (at, byte)| word | u64::from(*byte) << (56 - 8 * at))
}

impl Node {
    fn empty(children: Box<[AtomicPtr<Node>]>) -> Self {
        Self {
            latch: VersionLatch::new(),
            count: AtomicU32::new(0),
            turns: Turns::default(),
            shared: AtomicU32::new(0),
            common: std::array::from_fn(|_| AtomicU64::new(0)),
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
        // SAFETY: the separator of the two halves, which no other thread has yet.
        let key = unsafe { &*separator }.key.as_slice();
        root.put_item(0, prefix(key), separator);
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
        leaf.share_words();
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
                let start = prefix(&separator.key);
                node.put_item(count - 1, start, Box::into_raw(booked(|| Box::new(separator))));
            }
            node.children[count].store(Box::into_raw(child), Ordering::Release);
            count += 1;
        }
        node.set_count(count - 1);
        node.share_words();
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
        // Acquire: pairs with the Release in `put_item`.
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

    fn put_item(&self, position: usize, prefix: Prefix, item: *mut Item) {
        self.prefixes[position].store(prefix.first, Ordering::Relaxed);
        self.seconds[position].store(prefix.second, Ordering::Relaxed);
        // Release: pairs with the Acquire in `item`.
        self.items[position].store(item, Ordering::Release);
    }

    /// Copies an item within latched nodes that share the same words, with its words behind those:
    /// its key is not read, since that is in another cache line.
    fn copy_item(&self, position: usize, source: &Self, from: usize) {
        let prefix = Prefix {
            first: source.prefixes[from].load(Ordering::Relaxed),
            second: source.seconds[from].load(Ordering::Relaxed),
        };
        self.put_item(position, prefix, source.items[from].load(Ordering::Relaxed));
    }

    /// Returns how many items are smaller than `probe`, or not larger with [`Stop::Behind`].
    pub(super) fn seek(&self, probe: &Probe<'_>, stop: Stop) -> Result<usize, Torn> {
        let count = self.count();
        match self.words_behind_common(probe) {
            Ok(wanted) => self.seek_within((probe, wanted), stop, (0, count)),
            Err(Order::Less) => Ok(0),
            Err(_) => Ok(count),
        }
    }

    /// As [`Node::seek`], for a writer: looks at the last item first, since new keys often rise, and
    /// then at the first, since old ones often leave in their order.
    pub(super) fn seek_from_ends(&self, probe: &Probe<'_>, stop: Stop) -> Result<usize, Torn> {
        let count = self.count();
        if count < 2 {
            return self.seek(probe, stop);
        }
        let wanted = match self.words_behind_common(probe) {
            Ok(wanted) => wanted,
            Err(order) => return Ok(if order == Order::Less { 0 } else { count }),
        };
        if self.is_before(count - 1, (probe, wanted), stop)? {
            return Ok(count);
        }
        if !self.is_before(0, (probe, wanted), stop)? {
            return Ok(0);
        }
        self.seek_within((probe, wanted), stop, (1, count - 1))
    }

    /// Finds the place of `probe` between two positions.
    fn seek_within(
        &self,
        probe: (&Probe<'_>, Prefix),
        stop: Stop,
        (low, high): (usize, usize),
    ) -> Result<usize, Torn> {
        let first = probe.1.first;
        let mut low = low + self.count_below(first, (low, high));
        let mut high = high;
        if low == high || self.prefixes[low].load(Ordering::Relaxed) != first {
            return Ok(low);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.is_before(middle, probe, stop)? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Returns how many of the keys from one position to another have a smaller first word. Without
    /// a branch for each comparison, whose result no CPU can foresee.
    #[inline]
    fn count_below(&self, first: u64, (from, to): (usize, usize)) -> usize {
        // A power of two: no check of the position.
        let is_below = |at: usize| self.prefixes[at % ITEMS].load(Ordering::Relaxed) < first;
        let (mut at, mut left) = (from, to - from);
        while left > 1 {
            let half = left / 2;
            at = std::hint::select_unpredictable(is_below(at + half - 1), at + half, at);
            left -= half;
        }
        at - from + usize::from(left == 1 && is_below(at))
    }

    /// Returns the two words of a key behind those that all keys of the node share; or how the key
    /// compares with all of them, if it does not share these.
    #[inline]
    fn words_behind_common(&self, probe: &Probe<'_>) -> Result<Prefix, Order> {
        let shared = self.shared();
        for (own, common) in probe.words.iter().zip(&self.common).take(shared) {
            match own.cmp(&common.load(Ordering::Relaxed)) {
                Order::Equal => {}
                order => return Err(order),
            }
        }
        Ok(probe.behind(shared))
    }

    /// Returns how many words all keys share; for an optimistic reader, never more than there are.
    fn shared(&self) -> usize {
        let shared = self.shared.load(Ordering::Relaxed);
        usize::try_from(shared).unwrap_or(COMMON).min(COMMON)
    }

    fn set_shared(&self, shared: usize) {
        self.shared.store(u32::try_from(shared).expect("at most COMMON"), Ordering::Relaxed);
    }

    /// Keeps once what all keys of the latched node start with, and the two words of each key behind
    /// that. Reads the items only if there is more in common than before.
    fn share_words(&self) {
        let count = self.count();
        let mut shared = self.shared();
        let first = |word: &AtomicU64| word.load(Ordering::Relaxed);
        // The keys are in order: what the first and the last start with, all do.
        if count < 2
            || shared == COMMON
            || first(&self.prefixes[0]) != first(&self.prefixes[count - 1])
        {
            return;
        }
        // Where the two words have the whole key, as they have a time's, more words say no more.
        let longest = self.key(0).len().max(self.key(count - 1).len());
        if longest <= 8 * (shared + 2) {
            return;
        }
        let mut least = Words::of(self.key(0));
        let mut largest = Words::of(self.key(count - 1));
        for known in 0..COMMON {
            let word = least.take();
            if word != largest.take() {
                break;
            }
            self.common[known].store(word, Ordering::Relaxed);
            shared = known + 1;
        }
        self.start_behind(shared);
    }

    /// Returns the two words of a new key of the latched node. If it lacks words that the node's keys
    /// share, they share fewer from now on.
    fn admit(&self, probe: &Probe<'_>) -> Prefix {
        let own = self.common[..self.shared()].iter().zip(&probe.words);
        let same = own.take_while(|(common, word)| common.load(Ordering::Relaxed) == **word);
        let known = same.count();
        if known < self.shared() && !is_mutant(Mutant::SharedWordsKept) {
            self.start_behind(known);
        }
        probe.behind(self.shared())
    }

    /// Sets how many words the keys share, and each key's two words behind those.
    fn start_behind(&self, shared: usize) {
        self.set_shared(shared);
        for position in 0..self.count() {
            let Prefix { first, second } = start(self.key(position), shared);
            self.prefixes[position].store(first, Ordering::Relaxed);
            self.seconds[position].store(second, Ordering::Relaxed);
        }
    }

    /// Returns the key of an item of a latched node.
    fn key(&self, position: usize) -> &[u8] {
        self.item(position)
            .unwrap_or_else(|Torn| unreachable!("the node is latched"))
            .key
            .as_slice()
    }

    /// Returns how the words of an item with the probe's key are kept here; `None` if none can have
    /// the key.
    pub(super) fn start_of(&self, probe: &Probe<'_>) -> Option<Prefix> {
        self.words_behind_common(probe).ok()
    }

    /// Returns whether the key at a position has these words. Reads no item.
    pub(super) fn starts_at(&self, position: usize, start: Prefix) -> bool {
        self.prefixes[position].load(Ordering::Relaxed) == start.first
            && self.seconds[position].load(Ordering::Relaxed) == start.second
    }

    /// Returns whether the item at a position is smaller than `probe`, or not larger with
    /// [`Stop::Behind`].
    #[inline]
    fn is_before(
        &self,
        position: usize,
        (probe, wanted): (&Probe<'_>, Prefix),
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

    /// Inserts an item at the place of its probe, and in an inner node the child behind it. The node
    /// is latched and not full.
    pub(super) fn insert(
        &self,
        (position, probe): (usize, &Probe<'_>),
        item: *mut Item,
        right: *mut Self,
    ) {
        let count = self.count();
        let prefix = self.admit(probe);
        for at in (position..count).rev() {
            self.copy_item(at + 1, self, at);
        }
        self.put_item(position, prefix, item);
        if !self.is_leaf() {
            for at in (position + 1..=count).rev() {
                let child = self.children[at].load(Ordering::Relaxed);
                self.children[at + 1].store(child, Ordering::Release);
            }
            self.children[position + 1].store(right, Ordering::Release);
        }
        self.set_count(count + 1);
        // A root and the last leaf are not split for long: some looks in between, each at two words.
        if (count + 1).is_power_of_two() {
            self.share_words();
        }
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
        right.set_shared(self.shared());
        for (own, other) in right.common.iter().zip(&self.common) {
            own.store(other.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        for at in middle..count {
            right.copy_item(at - middle, self, at);
        }
        right.set_count(count - middle);
        if self.is_leaf() {
            // SAFETY: an item of the latched node exists; a leaf keeps it: the separator copies.
            let separator = unsafe { &*separator };
            let separator = Box::into_raw(booked(|| Box::new(separator.copy())));
            self.set_count(middle);
            self.share_words();
            right.share_words();
            return (separator, Box::into_raw(booked(|| Box::new(right))));
        }
        for at in middle..=count {
            let child = self.children[at].load(Ordering::Relaxed);
            right.children[at - middle].store(child, Ordering::Release);
        }
        // An inner node gives its separator to the parent.
        self.set_count(middle - 1);
        self.share_words();
        right.share_words();
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
