//! `RangeIndex`: a B+tree with optimistic lock coupling.
//!
//! Readers write nothing: they read a node's version, the node, and the version again. Writers
//! latch the one leaf that they change; full nodes are split on the way down, so a split never
//! propagates upwards. Items are ordered by key and then by row, so rows with one key need no
//! lists. There are no links between leaves: a scan seeks again behind the fence it has passed,
//! which costs one descent per leaf and makes both directions alike.
//!
//! Adding a key to a unique index latches the key's home, the leaf where its first row would be. So
//! checking and adding are one step, even if rows with the key spill into later leaves. Lock
//! coupling is described in "Optimistic Lock Coupling: A Scalable and Efficient General-Purpose
//! Synchronization Method" (Leis et al., 2019).

use std::ops::{Bound, ControlFlow};
use std::ptr::NonNull;

use smallvec::SmallVec;
use sos::lock::{ObsoleteError, RawSpin, VersionGuard};

use crate::index::counts::{Growth, GrowthTally};
use crate::index::crowd::Crowd;
use crate::index::node::{Item, Node, Probe, Stop, Torn, rank};
use crate::primitives::{
    AtomicPtr, Guard, Mutant, Ordering, SpinClass, booked, is_mutant, retire_box,
};
use crate::spec::{Bounds, IndexStatistics, Order, RowId, Uniqueness};
use crate::version::RowHead;

/// A descent met a writer and must start again.
struct Restart;

impl From<Torn> for Restart {
    fn from(_: Torn) -> Self {
        Self
    }
}

impl From<ObsoleteError> for Restart {
    fn from(_: ObsoleteError) -> Self {
        Self
    }
}

/// A leaf found by an optimistic descent, and its neighbourhood.
struct Place<'g> {
    leaf: &'g Node,
    version: u64,
    parent: Option<(&'g Node, u64)>,
    /// The separator left of the leaf: everything in it is larger.
    lower: Option<&'g Item>,
    /// The separator right of the leaf: everything in it is smaller or equal.
    upper: Option<&'g Item>,
}

/// Remembers the leaf of the last lookup, for a next key that is near.
#[derive(Default)]
pub(crate) struct Finger<'g>(Option<Place<'g>>);

impl<'g> Finger<'g> {
    /// Returns the leaf if the probe belongs to it and it has not changed.
    fn take(&mut self, probe: &Probe<'_>) -> Option<Place<'g>> {
        let place = self.0.take()?;
        let is_above = place.lower.is_none_or(|lower| is_before(lower, probe));
        let is_below =
            place.upper.is_none_or(|upper| !is_before(upper, probe) && !is_at(upper, probe));
        (is_above && is_below && place.leaf.latch.validate(place.version)).then_some(place)
    }
}

/// The home leaf of a key, latched.
struct Home<'g> {
    place: Place<'g>,
    _latch: VersionGuard<'g>,
    _spill: Option<Spill<'g>>,
}

/// Items of a leaf, collected before the leaf's version is validated.
type Items<'g> = SmallVec<[&'g Item; 8]>;

/// Proof that no leaf is removed from the tree while this is held.
struct Spill<'a>(&'a RawSpin);

impl Drop for Spill<'_> {
    fn drop(&mut self) {
        self.0.free();
    }
}

/// Where a descent goes.
#[derive(Clone, Copy)]
enum Target<'a> {
    First,
    Last,
    To(Probe<'a>, Stop),
    /// As `To` with [`Stop::At`], for a writer: keys are added and removed at the ends more often
    /// than they are looked up there.
    Write(Probe<'a>),
}

/// The keys that a look-up is for.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Key(&'a [u8]),
    /// Those that start with this.
    Under(&'a [u8]),
}

impl Wanted<'_> {
    fn has(self, key: &[u8]) -> bool {
        match self {
            Self::Key(whole) => key == whole,
            Self::Under(prefix) => key.starts_with(prefix),
        }
    }
}

/// A range index: a B+ tree over (key, row).
pub(crate) struct RangeIndex {
    root: AtomicPtr<Node>,
    /// Held while a leaf is removed, and by a thread that needs the leaves behind a home to stay.
    spill: RawSpin,
    /// Whether several threads keep writing the last leaf.
    crowd: Crowd,
    growth: GrowthTally,
}

impl RangeIndex {
    pub(crate) fn new() -> Self {
        let root = Box::into_raw(booked(|| Box::new(Node::leaf())));
        Self {
            root: AtomicPtr::new(root),
            spill: RawSpin::new(),
            crowd: Crowd::default(),
            growth: GrowthTally::default(),
        }
    }

    /// Adds how often its nodes were added and removed.
    pub(super) fn add_growth(&self, sums: &mut Growth) {
        self.growth.add_to(sums);
    }

    /// Returns whether keys rise and several threads add them, so that all write the last leaf.
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowd.is_seen()
    }

    /// Adds the entry unless it exists. If the index is unique, `check` sees every other head with
    /// this key and may refuse, and no other row can add the key until then. `publish` runs when
    /// the entry is in, before other threads can add the key.
    pub(crate) fn add<E>(
        &self,
        (key, head): (&[u8], &RowHead),
        uniqueness: Uniqueness,
        guard: &Guard,
        check: impl FnMut(&RowHead) -> Result<(), E>,
        publish: impl FnOnce(),
    ) -> Result<(), E> {
        let probe = Probe::new(key, rank(head));
        let home = match uniqueness {
            Uniqueness::NotUnique => None,
            Uniqueness::Unique => {
                let home = self.latch_home(key, guard);
                self.check_others(&home.place, &probe, check, guard)?;
                if home.place.upper.is_none_or(|upper| !is_before(upper, &probe)) {
                    put(home.place.leaf, &probe, head);
                    publish();
                    return Ok(());
                }
                Some(home)
            }
        };
        // Not the home leaf, which a descent would wait for: `spill` keeps their fence.
        let (place, latch) = self.latch_with_room(&probe, guard);
        put(place.leaf, &probe, head);
        if place.upper.is_none() {
            place.leaf.turns.note();
        }
        publish();
        drop(latch);
        drop(home);
        Ok(())
    }

    /// Latches the home leaf of a key; if its rows spill into later leaves, no leaf is removed
    /// until the latch is dropped.
    fn latch_home<'g>(&'g self, key: &[u8], guard: &'g Guard) -> Home<'g> {
        let first = Probe::new(key, -1);
        let (place, latch) = self.latch_with_room(&first, guard);
        if place.upper.is_none_or(|upper| *upper.key != *key) {
            return Home { place, _latch: latch, _spill: None };
        }
        drop(latch);
        self.spill.take(SpinClass::XtpIndex);
        let spill = Some(Spill(&self.spill));
        let (place, latch) = self.latch_with_room(&first, guard);
        Home { place, _latch: latch, _spill: spill }
    }

    /// Shows `check` the other rows with the probe's key, from the latched home leaf on.
    fn check_others<E>(
        &self,
        home: &Place<'_>,
        probe: &Probe<'_>,
        mut check: impl FnMut(&RowHead) -> Result<(), E>,
        guard: &Guard,
    ) -> Result<(), E> {
        let key = probe.key;
        let mut check_item = |item: &Item| {
            if item.id == probe.id {
                return Ok(());
            }
            // SAFETY: heads live as long as the table, which owns this index.
            check(unsafe { &*item.head })
        };
        let from = home.leaf.seek(&Probe::new(key, -1), Stop::At);
        let from = from.unwrap_or_else(|Torn| unreachable!("the leaf is latched"));
        for position in from..home.leaf.count() {
            let Ok(item) = home.leaf.item(position) else { unreachable!("the leaf is latched") };
            if *item.key != *key {
                return Ok(());
            }
            check_item(item)?;
        }
        // Rows with the key may spill into the leaves behind; no other thread can add one now.
        let Some(upper) = home.upper.filter(|upper| *upper.key == *key) else { return Ok(()) };
        let mut items = Vec::new();
        let mut probe = Probe::new(key, upper.id);
        loop {
            self.batch(Target::To(probe, Stop::Behind), Order::Forward, guard, &mut items);
            if items.is_empty() {
                return Ok(());
            }
            for item in items.drain(..) {
                if *item.key != *key {
                    return Ok(());
                }
                probe.id = item.id;
                check_item(item)?;
            }
        }
    }

    /// Removes the entry if, under its leaf's latch, `is_dead` says that no version has the key.
    pub(crate) fn remove(
        &self,
        key: &[u8],
        head: &RowHead,
        guard: &Guard,
        is_dead: impl FnOnce() -> bool,
    ) {
        let probe = Probe::new(key, rank(head));
        let (place, latch) = self.latch(&probe, guard);
        let position = seek_latched(place.leaf, &probe);
        let is_there = position < place.leaf.count()
            && place.leaf.item(position).is_ok_and(|item| is_at(item, &probe));
        if !is_there || !is_dead() {
            return;
        }
        if let Some(item) = place.leaf.remove(position) {
            // SAFETY: made by `Box::into_raw`, and taken out of the tree under the latch.
            unsafe { retire_box(guard, item) };
        }
        let is_empty = place.leaf.count() == 0;
        drop(latch);
        if is_empty {
            self.remove_empty(&probe, guard);
        }
    }

    /// Shows every head that has this key.
    pub(crate) fn find<'a>(
        &'a self,
        key: &[u8],
        guard: &Guard,
        show: impl FnMut(&'a RowHead) -> ControlFlow<()>,
    ) {
        self.find_near(key, guard, &mut Finger::default(), show);
    }

    /// Like [`RangeIndex::find`], but starts at the leaf of the last key if this one belongs there.
    pub(crate) fn find_near<'a, 'g>(
        &'a self,
        key: &[u8],
        guard: &'g Guard,
        finger: &mut Finger<'g>,
        mut show: impl FnMut(&'a RowHead) -> ControlFlow<()>,
    ) where
        'a: 'g,
    {
        let mut probe = Probe::new(key, -1);
        let mut items = Items::new();
        loop {
            items.clear();
            let found = self.find_in_leaf(&probe, guard, finger, Wanted::Key(key), &mut items);
            let Ok(rest) = found else { continue };
            for item in &items {
                // SAFETY: heads live as long as the table, which owns this index.
                if show(unsafe { &*item.head }).is_break() {
                    return;
                }
            }
            let Some(fence) = rest else { return };
            probe.id = fence.id;
        }
    }

    /// Shows the entries behind `from` (or from the start) that one leaf has of the keys with
    /// `prefix`, in key order. Returns the last entry's key and row if more may follow.
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
        let (key, id) = from.map_or((prefix, -1), |(key, id)| (key, position_of(id)));
        let probe = Probe::new(key, id);
        let mut items = Items::new();
        loop {
            items.clear();
            let found = self.find_in_leaf(&probe, guard, finger, Wanted::Under(prefix), &mut items);
            let Ok(rest) = found else { continue };
            for item in &items {
                // SAFETY: heads live as long as the table, which owns this index.
                show(&item.key, unsafe { &*item.head });
            }
            // A row id is not negative.
            return rest.map(|fence| (&*fence.key, RowId(u64::try_from(fence.id).unwrap_or(0))));
        }
    }

    /// Collects the items behind the probe that one leaf has of the wanted keys; returns the fence
    /// if more may follow behind it.
    fn find_in_leaf<'g>(
        &'g self,
        probe: &Probe<'_>,
        guard: &'g Guard,
        finger: &mut Finger<'g>,
        wanted: Wanted<'_>,
        items: &mut Items<'g>,
    ) -> Result<Option<&'g Item>, Restart> {
        let place = match finger.take(probe) {
            Some(place) => place,
            None => self.descend(&Target::To(*probe, Stop::Behind), guard)?,
        };
        let count = place.leaf.count();
        let mut position = place.leaf.seek(probe, Stop::Behind)?;
        let start = match wanted {
            Wanted::Key(_) => place.leaf.start_of(probe),
            Wanted::Under(_) => None,
        };
        while position < count {
            // The item behind the last one of a key, an entry more for each look-up, is not read.
            if matches!(wanted, Wanted::Key(_))
                && !start.is_some_and(|start| place.leaf.starts_at(position, start))
            {
                break;
            }
            let item = place.leaf.item(position)?;
            if !wanted.has(&item.key) {
                break;
            }
            items.push(item);
            position += 1;
        }
        let spills = position == count;
        if !place.leaf.latch.validate(place.version) && !is_mutant(Mutant::LeafUnchecked) {
            return Err(Restart);
        }
        let rest = place.upper.filter(|upper| spills && wanted.has(&upper.key));
        finger.0 = Some(place);
        Ok(rest)
    }

    /// Fills `items` with the next entries within `bounds` behind `after`; none at the end. Returns
    /// whether these are known to be the last.
    pub(crate) fn walk<'g>(
        &'g self,
        bounds: Bounds<'_>,
        order: Order,
        after: Option<(&[u8], RowId)>,
        guard: &'g Guard,
        items: &mut Vec<&'g Item>,
    ) -> bool {
        let mut end = Vec::new();
        let Some(target) = start(bounds, order, after, &mut end) else { return true };
        self.batch(target, order, guard, items);
        let inside = items.iter().take_while(|item| bounds.contains(&item.key)).count();
        let is_last = inside < items.len() || items.is_empty();
        items.truncate(inside);
        is_last
    }

    /// Fills `items` with the rest of the leaf at `target`, or of the next one that has any.
    fn batch<'g>(
        &'g self,
        target: Target<'_>,
        order: Order,
        guard: &'g Guard,
        items: &mut Vec<&'g Item>,
    ) {
        let mut target = target;
        loop {
            items.clear();
            let Ok(place) = self.descend(&target, guard) else { continue };
            if fill(&place, &target, order, items).is_err()
                || !place.leaf.latch.validate(place.version)
            {
                continue;
            }
            if !items.is_empty() {
                return;
            }
            // Behind the upper fence comes the next leaf; the lower one ends the previous.
            let (fence, stop) = match order {
                Order::Forward => (place.upper, Stop::Behind),
                Order::Backward => (place.lower, Stop::At),
            };
            let Some(fence) = fence else { return };
            target = Target::To(Probe::new(&fence.key, fence.id), stop);
        }
    }

    fn descend<'g>(&'g self, target: &Target<'_>, _guard: &'g Guard) -> Result<Place<'g>, Restart> {
        let root = self.root.load(Ordering::Acquire);
        // SAFETY: nodes are freed through `epoch` only, and the caller is pinned.
        let mut node = unsafe { &*root };
        let mut version = node.latch.read()?;
        if self.root.load(Ordering::Acquire) != root {
            return Err(Restart);
        }
        let (mut parent, mut lower, mut upper) = (None, None, None);
        while !node.is_leaf() {
            let count = node.count();
            let position = match target {
                Target::First => 0,
                Target::Last => count,
                Target::To(probe, stop) => node.seek(probe, *stop)?,
                Target::Write(probe) => node.seek_from_ends(probe, Stop::At)?,
            };
            let child = node.child(position)?;
            if position > 0 {
                lower = Some(node.item(position - 1)?);
            }
            if position < count {
                upper = Some(node.item(position)?);
            }
            let child_version = child.latch.read()?;
            // The node was consistent when it was read, and the child was its child when the
            // child's version was read.
            if !node.latch.validate(version) {
                return Err(Restart);
            }
            parent = Some((node, version));
            node = child;
            version = child_version;
        }
        Ok(Place { leaf: node, version, parent, lower, upper })
    }

    /// Latches the leaf where `probe` belongs.
    fn latch<'g>(&'g self, probe: &Probe<'_>, guard: &'g Guard) -> (Place<'g>, VersionGuard<'g>) {
        let target = Target::Write(*probe);
        loop {
            let Ok(place) = self.descend(&target, guard) else { continue };
            if let Some(latch) = self.latch_place(&place) {
                return (place, latch);
            }
        }
    }

    /// Latches the leaf where `probe` belongs, after nodes on the way were split if it was full.
    fn latch_with_room<'g>(
        &'g self,
        probe: &Probe<'_>,
        guard: &'g Guard,
    ) -> (Place<'g>, VersionGuard<'g>) {
        let target = Target::Write(*probe);
        loop {
            let Ok(place) = self.descend(&target, guard) else { continue };
            if place.leaf.is_full() {
                // Whether it has split a node or met a writer: the descent starts again.
                let _ = self.split_full(probe, guard);
                continue;
            }
            // With its latch the leaf is as it was read: it has room.
            if let Some(latch) = self.latch_place(&place) {
                return (place, latch);
            }
        }
    }

    /// Latches the leaf that a descent has found, unless it or its place has changed.
    fn latch_place<'g>(&self, place: &Place<'g>) -> Option<VersionGuard<'g>> {
        let latch = place.leaf.latch.upgrade(place.version).ok()?;
        let is_there = match place.parent {
            Some((parent, version)) => parent.latch.validate(version),
            None => self.is_root(place.leaf),
        };
        is_there.then_some(latch)
    }

    /// Splits the first full node on the way to `probe`, if any; the descent must then start again.
    fn split_full(&self, probe: &Probe<'_>, _guard: &Guard) -> Result<(), Restart> {
        let root = self.root.load(Ordering::Acquire);
        // SAFETY: nodes are freed through `epoch` only, and the caller is pinned.
        let mut node = unsafe { &*root };
        let mut version = node.latch.read()?;
        if self.root.load(Ordering::Acquire) != root {
            return Err(Restart);
        }
        let mut parent: Option<(&Node, u64)> = None;
        let mut is_last = true;
        loop {
            if node.is_full() {
                let turns = node.turns.count();
                self.split(parent, (node, version))?;
                self.growth.count_split(node.is_leaf(), parent.is_none());
                if node.is_leaf() {
                    self.crowd.note_split(is_last, turns);
                }
                return Err(Restart);
            }
            if node.is_leaf() {
                return Ok(());
            }
            let position = node.seek_from_ends(probe, Stop::At)?;
            is_last &= position == node.count();
            let child = node.child(position)?;
            let child_version = child.latch.read()?;
            if !node.latch.validate(version) {
                return Err(Restart);
            }
            parent = Some((node, version));
            node = child;
            version = child_version;
        }
    }

    /// Splits a full node whose parent has room.
    fn split(
        &self,
        parent: Option<(&Node, u64)>,
        (node, version): (&Node, u64),
    ) -> Result<(), Restart> {
        let parent = match parent {
            None => None,
            Some((parent, version)) => Some((parent, parent.latch.upgrade(version)?)),
        };
        let _latch = node.latch.upgrade(version)?;
        let Some((parent, _parent_latch)) = parent else {
            if !self.is_root(node) {
                return Err(Restart);
            }
            let (separator, right) = node.split();
            let left = std::ptr::from_ref(node).cast_mut();
            let root = Node::root(left, separator, right);
            // Release: pairs with the Acquire in `descend`.
            self.root.store(Box::into_raw(booked(|| Box::new(root))), Ordering::Release);
            return Ok(());
        };
        let (separator, right) = node.split();
        // SAFETY: an item that the node has just moved to its parent.
        let item = unsafe { &*separator };
        let probe = Probe::new(&item.key, item.id);
        parent.insert((seek_latched(parent, &probe), &probe), separator, right);
        Ok(())
    }

    /// Replaces the root of an empty index by that of a tree that was built beside it.
    ///
    /// # Panics
    /// If the index is not empty.
    pub(super) fn replace_empty(&self, root: Box<Node>, guard: &Guard) {
        let before = self.root.load(Ordering::Acquire);
        // SAFETY: nodes are freed through `epoch` only, and the caller is pinned.
        let node = unsafe { &*before };
        let latch = node.latch.read().and_then(|version| node.latch.upgrade(version));
        let Ok(latch) = latch else { panic!("an index is built before it is used") };
        assert!(node.is_leaf() && node.count() == 0, "an index is built when it is empty");
        // Release: pairs with the Acquire in `descend`.
        self.root.store(Box::into_raw(root), Ordering::Release);
        latch.retire();
        // SAFETY: made by `Box::into_raw`, unreachable from the root, and obsolete, so that no
        // thread latches it any more.
        unsafe { retire_box(guard, NonNull::from(node)) };
    }

    fn is_root(&self, node: &Node) -> bool {
        std::ptr::eq(self.root.load(Ordering::Acquire), node)
    }

    /// Takes the empty leaf at `probe`, and the inner nodes that lead only to it, out of the tree.
    /// If other threads keep changing these nodes, the leaf stays until it is emptied again.
    fn remove_empty(&self, probe: &Probe<'_>, guard: &Guard) {
        const TRIES: u32 = 3;
        if !self.spill.try_take() {
            return;
        }
        let _spill = Spill(&self.spill);
        for _ in 0..TRIES {
            if self.try_remove_empty(probe, guard).is_ok() {
                return;
            }
        }
    }

    fn try_remove_empty(&self, probe: &Probe<'_>, guard: &Guard) -> Result<(), Restart> {
        let root = self.root.load(Ordering::Acquire);
        // SAFETY: nodes are freed through `epoch` only, and the caller is pinned.
        let mut node = unsafe { &*root };
        let mut version = node.latch.read()?;
        // The path down: each node, its version, and the position of the child taken.
        let mut way: Vec<(&Node, u64, usize)> = Vec::new();
        while !node.is_leaf() {
            let position = node.seek(probe, Stop::At)?;
            let child = node.child(position)?;
            let child_version = child.latch.read()?;
            if !node.latch.validate(version) {
                return Err(Restart);
            }
            way.push((node, version, position));
            node = child;
            version = child_version;
        }
        if node.count() > 0 || !node.latch.validate(version) {
            return Ok(());
        }
        let Some(keeper) = way.iter().rposition(|(node, ..)| node.count() > 0) else {
            return Ok(());
        };
        let (ancestor, ancestor_version, position) = way[keeper];
        let ancestor_latch = ancestor.latch.upgrade(ancestor_version)?;
        let mut latches = Vec::new();
        for (node, version, _) in &way[keeper + 1..] {
            latches.push((*node, node.latch.upgrade(*version)?));
        }
        latches.push((node, node.latch.upgrade(version)?));
        self.growth.count_removed();
        if let Some(separator) = ancestor.remove_child(position) {
            // SAFETY: made by `Box::into_raw`, and taken out of the tree under the latch.
            unsafe { retire_box(guard, separator) };
        }
        drop(ancestor_latch);
        for (node, latch) in latches {
            latch.retire();
            // SAFETY: made by `Box::into_raw`, unreachable since `remove_child`, and obsolete, so
            // that no thread latches it any more.
            unsafe { retire_box(guard, NonNull::from(node)) };
        }
        Ok(())
    }

    /// Returns the bytes of leaves and items, found by walking; inner nodes are not counted.
    pub(crate) fn memory(&self, guard: &Guard) -> u64 {
        let sums = self.statistics(guard);
        let sizes = (size_of::<Node>(), size_of::<Item>());
        let sizes = (u64::try_from(sizes.0).unwrap_or(0), u64::try_from(sizes.1).unwrap_or(0));
        sums.buckets * sizes.0 + sums.entries * sizes.1
    }

    /// Computes the statistics by walking the whole index.
    pub(crate) fn statistics(&self, guard: &Guard) -> IndexStatistics {
        let mut sums = IndexStatistics::default();
        let mut items = Vec::new();
        self.batch(Target::First, Order::Forward, guard, &mut items);
        while let Some(last) = items.last() {
            sums.buckets += 1;
            sums.entries += u64::try_from(items.len()).unwrap_or(0);
            let (key, id) = (last.key.clone(), last.id);
            let probe = Probe::new(&key, id);
            self.batch(Target::To(probe, Stop::Behind), Order::Forward, guard, &mut items);
        }
        sums.chain_max = sums.entries.min(1);
        sums
    }
}

fn is_before(item: &Item, probe: &Probe<'_>) -> bool {
    (item.key.as_slice(), item.id) < (probe.key, probe.id)
}

fn is_at(item: &Item, probe: &Probe<'_>) -> bool {
    (item.key.as_slice(), item.id) == (probe.key, probe.id)
}

fn seek_latched(node: &Node, probe: &Probe<'_>) -> usize {
    node.seek_from_ends(probe, Stop::At).unwrap_or_else(|Torn| unreachable!("the node is latched"))
}

/// Puts an entry into a latched leaf with room, unless it exists.
fn put(leaf: &Node, probe: &Probe<'_>, head: &RowHead) {
    let position = seek_latched(leaf, probe);
    let is_there =
        position < leaf.count() && leaf.item(position).is_ok_and(|item| is_at(item, probe));
    if !is_there {
        let item = Box::into_raw(booked(|| Box::new(Item::new(probe.key, head))));
        leaf.insert((position, probe), item, std::ptr::null_mut());
    }
}

/// Returns where a walk begins; `None` if no key can be within the bounds.
fn start<'a>(
    bounds: Bounds<'a>,
    order: Order,
    after: Option<(&'a [u8], RowId)>,
    end: &'a mut Vec<u8>,
) -> Option<Target<'a>> {
    if let Some((key, id)) = after {
        let id = position_of(id);
        return Some(match order {
            Order::Forward => Target::To(Probe::new(key, id), Stop::Behind),
            // The position before a row id; before row 0 it is the one before all rows.
            Order::Backward => Target::To(Probe::new(key, id - 1), Stop::At),
        });
    }
    let before = |key| Target::To(Probe::new(key, -1), Stop::At);
    match (order, bounds.lower, bounds.upper) {
        (Order::Forward, Bound::Unbounded, _) => Some(Target::First),
        (Order::Forward, Bound::Included(key), _) => Some(before(key)),
        (Order::Forward, Bound::Excluded(key), _) => behind_prefix(key, end).map(before),
        (Order::Backward, _, Bound::Unbounded) => Some(Target::Last),
        (Order::Backward, _, Bound::Excluded(key)) => Some(before(key)),
        (Order::Backward, _, Bound::Included(key)) => {
            Some(behind_prefix(key, end).map_or(Target::Last, before))
        }
    }
}

/// Returns the position of a row among those of its key.
fn position_of(id: RowId) -> i64 {
    i64::try_from(id.0).expect("row ids have 63 bits")
}

/// Returns the smallest key above all keys that start with `prefix`.
fn behind_prefix<'a>(prefix: &[u8], end: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    end.extend_from_slice(prefix);
    types::key::to_prefix_end(end).then_some(end.as_slice())
}

/// Copies the leaf's items from the target on, in the order of the walk. Backward, an item at the
/// target itself is included.
fn fill<'g>(
    place: &Place<'g>,
    target: &Target<'_>,
    order: Order,
    items: &mut Vec<&'g Item>,
) -> Result<(), Torn> {
    let leaf = place.leaf;
    let count = leaf.count();
    match order {
        Order::Forward => {
            let from = match target {
                Target::First => 0,
                Target::Last => count,
                Target::To(probe, stop) => leaf.seek(probe, *stop)?,
                Target::Write(probe) => leaf.seek(probe, Stop::At)?,
            };
            for position in from..count {
                items.push(leaf.item(position)?);
            }
        }
        Order::Backward => {
            let until = match target {
                Target::First => 0,
                Target::Last => count,
                Target::To(probe, _) | Target::Write(probe) => leaf.seek(probe, Stop::Behind)?,
            };
            for position in (0..until).rev() {
                items.push(leaf.item(position)?);
            }
        }
    }
    Ok(())
}

impl Drop for RangeIndex {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw`, and no other thread has the index.
        let mut root = unsafe { Box::from_raw(self.root.load(Ordering::Acquire)) };
        root.free_all();
    }
}
