//! Both indexes against an ordered map, alone and with many threads, with nodes so small that they
//! split, double and empty all the time.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::thread::scope;

use crate::index::{Ahead, Duplicate, Entry, Finger, Index};
use crate::primitives::{Timestamp, pin};
use crate::spec::{Bounds, IndexId, IndexKind, IndexSpec, Order, RowId, RowImage, Uniqueness};
use crate::version::{Begin, Heap, RowHead, Version, VersionKind};

const HASH: IndexKind = IndexKind::Hash { bucket_count: 100 };

fn index(kind: IndexKind, uniqueness: Uniqueness) -> Index {
    let extractor = Box::new(|_: RowImage<'_>, _: &mut Vec<u8>| unreachable!("no row has content"));
    Index::new(IndexSpec { id: IndexId(1), kind, uniqueness, extractor })
}

fn add(index: &Index, key: &[u8], head: &RowHead) {
    add_to(index, key, head, 0);
}

fn add_to(index: &Index, key: &[u8], head: &RowHead, part: u8) {
    let Ok(()) = index.add::<Infallible>((key, head), part, &pin(), |_| Ok(()), || {});
}

fn find(index: &Index, key: &[u8]) -> BTreeSet<RowId> {
    let mut heads = BTreeSet::new();
    index.find(key, &pin(), |head| {
        heads.insert(head.id());
        ControlFlow::Continue(())
    });
    heads
}

fn walk(index: &Index, bounds: Bounds<'_>, order: Order) -> Vec<(Vec<u8>, RowId)> {
    let mut all = Vec::new();
    let mut after: Option<(Vec<u8>, RowId)> = None;
    loop {
        let mut batch: Vec<Entry<'_>> = Vec::new();
        let from = after.as_ref().map(|(key, id)| (key.as_slice(), *id));
        index.walk(bounds, order, from, &pin(), &mut batch);
        if batch.is_empty() {
            return all;
        }
        all.extend(batch.iter().map(|entry| (entry.key.to_vec(), entry.head.id())));
        after = all.last().cloned();
    }
}

/// Like [`walk`], with what was read ahead; returns also how often a tree was read.
fn walk_on(index: &Index, bounds: Bounds<'_>, order: Order) -> (Vec<(Vec<u8>, RowId)>, usize) {
    let (mut ahead, mut all) = (Ahead::default(), Vec::new());
    loop {
        let mut batch: Vec<Entry<'_>> = Vec::new();
        let last: Option<&(Vec<u8>, RowId)> = all.last();
        let from = last.map(|(key, id)| (key.as_slice(), *id));
        let is_last = index.walk_on((bounds, order), from, &pin(), &mut ahead, &mut batch);
        if batch.is_empty() {
            return (all, ahead.reads);
        }
        all.extend(batch.iter().map(|entry| (entry.key.to_vec(), entry.head.id())));
        if is_last {
            return (all, ahead.reads);
        }
    }
}

/// A key of one to three bytes and an end mark, so that keys differ in length.
fn key(n: u64) -> Vec<u8> {
    let mut key: Vec<u8> = n.to_be_bytes().into_iter().skip_while(|b| *b == 0).collect();
    key.iter_mut().for_each(|b| *b = b.saturating_add(1));
    key.push(0);
    key
}

/// The keys of a test: `count` of them, by number.
#[derive(Clone, Copy)]
struct Keys {
    count: u64,
    key: fn(u64) -> Vec<u8>,
}

impl Keys {
    fn random(self, random: &mut Random) -> Vec<u8> {
        (self.key)(random.below(self.count))
    }
}

/// A key like those of a cache: most have a long start in common, of which a few have less, and some
/// are longer than what a node shares.
fn alike(n: u64) -> Vec<u8> {
    let start = match n % 59 {
        0 => 0,
        1 => 7,
        2 => 15,
        3 => 70,
        4 => 90,
        _ => 33,
    };
    [&[1], &[0x61; 90][..start], &key(n / 7), &[0x62; 12][..usize::try_from(n % 7).unwrap() * 2]]
        .concat()
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % end
    }
}

#[test]
fn index_agrees_with_an_ordered_map() {
    let heap = Heap::new();
    let heads: Vec<&RowHead> = (0..40).map(|_| heap.allocate()).collect();
    for (seed, kind) in (0..80).flat_map(|seed| [(seed, IndexKind::Range), (seed, HASH)]) {
        let index = index(kind, Uniqueness::NotUnique);
        let mut model: BTreeSet<(Vec<u8>, RowId)> = BTreeSet::new();
        let mut random = Random(seed);
        let keys = Keys {
            count: if seed % 2 == 0 { 6 } else { 500 },
            key: if seed % 4 < 2 { key } else { alike },
        };
        for _ in 0..400 {
            let key = keys.random(&mut random);
            let head = heads[usize::try_from(random.below(40)).unwrap()];
            if random.below(5) < 3 {
                add(&index, &key, head);
                model.insert((key, head.id()));
            } else {
                index.remove((&key, head), 0, &pin(), || true);
                model.remove(&(key, head.id()));
            }
        }
        for n in 0..keys.count {
            let key = (keys.key)(n);
            let expected: BTreeSet<RowId> =
                model.iter().filter(|(k, _)| *k == key).map(|(_, id)| *id).collect();
            assert_eq!(find(&index, &key), expected, "seed {seed} key {n}");
        }
        check_near(&index, &model, &mut random, keys);
        if kind == IndexKind::Range {
            check_under(&index, &model, &mut random, keys);
        }
        if kind == IndexKind::Range {
            check_walks(&index, &model, &mut random, keys);
        }
    }
}

/// Looks up keys close to each other, and now and then one far away, with one finger.
fn check_near(index: &Index, model: &BTreeSet<(Vec<u8>, RowId)>, random: &mut Random, keys: Keys) {
    let guard = pin();
    let mut finger = Finger::default();
    let mut n = 0;
    for _ in 0..200 {
        let count = keys.count;
        n = if random.below(8) == 0 { random.below(count) } else { (n + random.below(3)) % count };
        let key = (keys.key)(n);
        let expected: BTreeSet<RowId> =
            model.iter().filter(|(k, _)| *k == key).map(|(_, id)| *id).collect();
        let mut found = BTreeSet::new();
        index.find_near(&key, &guard, &mut finger, |head| {
            found.insert(head.id());
            ControlFlow::Continue(())
        });
        assert_eq!(found, expected, "key {n}");
    }
}

fn check_walks(index: &Index, model: &BTreeSet<(Vec<u8>, RowId)>, random: &mut Random, keys: Keys) {
    for _ in 0..30 {
        let (low, high) = (keys.random(random), keys.random(random));
        let mut bound = |key| match random.below(3) {
            0 => Bound::Included(key),
            1 => Bound::Excluded(key),
            _ => Bound::Unbounded,
        };
        let bounds = Bounds { lower: bound(low.as_slice()), upper: bound(high.as_slice()) };
        let mut expected: Vec<_> =
            model.iter().filter(|(key, _)| bounds.contains(key)).cloned().collect();
        assert_eq!(walk(index, bounds, Order::Forward), expected);
        assert_eq!(walk_on(index, bounds, Order::Forward).0, expected);
        expected.reverse();
        assert_eq!(walk(index, bounds, Order::Backward), expected);
        assert_eq!(walk_on(index, bounds, Order::Backward).0, expected);
    }
}

#[test]
fn removing_everything_leaves_no_leaves() {
    let heap = Heap::new();
    let index = index(IndexKind::Range, Uniqueness::NotUnique);
    let heads: Vec<&RowHead> = (0..1_000).map(|_| heap.allocate()).collect();
    // Like a queue: keys grow, the oldest are removed.
    for (n, head) in heads.iter().enumerate() {
        add(&index, &key(u64::try_from(n).unwrap()), head);
        if let Some(old) = n.checked_sub(20) {
            let key = key(u64::try_from(old).unwrap());
            index.remove((&key, heads[old]), 0, &pin(), || true);
        }
    }
    let statistics = index.statistics(&pin());
    assert_eq!(statistics.entries, 20);
    assert!(statistics.buckets <= 20, "{statistics:?}");
}

/// Entries of several parts are read as one index; what two parts have is shown once.
#[test]
fn parts_agree_with_one_ordered_map() {
    let heap = Heap::new();
    let heads: Vec<&RowHead> = (0..40).map(|_| heap.allocate()).collect();
    for seed in 0..60 {
        let index = index(IndexKind::Range, Uniqueness::NotUnique);
        let mut parts: BTreeMap<u8, BTreeSet<(Vec<u8>, RowId)>> = BTreeMap::new();
        let mut random = Random(seed);
        let keys = Keys {
            count: if seed % 2 == 0 { 6 } else { 500 },
            key: if seed % 4 < 2 { key } else { alike },
        };
        let numbers: &[u8] = if seed % 3 == 0 { &[0, 1] } else { &[0, 1, 2, 9, 255] };
        for _ in 0..400 {
            let n = random.below(keys.count);
            // Some seeds give each part its own keys, some mix them.
            let place = if seed % 5 == 0 { n } else { random.below(5) };
            let part = numbers[usize::try_from(place).unwrap() % numbers.len()];
            let (key, head) = ((keys.key)(n), heads[usize::try_from(random.below(40)).unwrap()]);
            let model = parts.entry(part).or_default();
            if random.below(5) < 3 {
                add_to(&index, &key, head, part);
                model.insert((key, head.id()));
            } else {
                index.remove((&key, head), part, &pin(), || true);
                model.remove(&(key, head.id()));
            }
        }
        let model: BTreeSet<_> = parts.into_values().flatten().collect();
        check_near(&index, &model, &mut random, keys);
        check_under(&index, &model, &mut random, keys);
        check_walks(&index, &model, &mut random, keys);
    }
}

/// A scan of many parts reads each leaf once.
#[test]
fn long_walk_reads_no_leaf_twice() {
    const PARTS: u64 = 16;
    let heap = Heap::new();
    let index = index(IndexKind::Range, Uniqueness::NotUnique);
    for n in 0..1_600 {
        add_to(&index, &key(n), heap.allocate(), u8::try_from(n % PARTS).unwrap());
    }
    let leaves = usize::try_from(index.statistics(&pin()).buckets).unwrap();
    for order in [Order::Forward, Order::Backward] {
        let (all, reads) = walk_on(&index, Bounds::ALL, order);
        assert_eq!(all.len(), 1_600);
        assert!(reads <= leaves + usize::try_from(PARTS).unwrap(), "{reads} of {leaves} leaves");
    }
}

/// Walks the entries of one key prefix from one stop to the next.
fn check_under(index: &Index, model: &BTreeSet<(Vec<u8>, RowId)>, random: &mut Random, keys: Keys) {
    let guard = pin();
    for _ in 0..30 {
        let whole = keys.random(random);
        let length = match random.below(2) {
            0 => random.below(3),
            _ => random.below(whole.len() as u64 + 1),
        };
        let prefix = &whole[..usize::try_from(length).unwrap().min(whole.len())];
        let expected: Vec<_> =
            model.iter().filter(|(key, _)| key.starts_with(prefix)).cloned().collect();
        let (mut found, mut from, mut finger) = (Vec::new(), None, Finger::default());
        loop {
            from = index.find_under((prefix, from), &guard, &mut finger, |key, head| {
                found.push((key.to_vec(), head.id()));
            });
            if from.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "prefix {prefix:?}");
    }
}

#[test]
fn entries_that_stay_are_always_found_while_others_come_and_go() {
    for kind in [IndexKind::Range, HASH] {
        let heap = Heap::new();
        let index = index(kind, Uniqueness::NotUnique);
        let stay: BTreeMap<u64, &RowHead> = (0..50).map(|n| (n * 7, heap.allocate())).collect();
        for (n, head) in &stay {
            add_to(&index, &key(*n), head, u8::try_from(n % 4).unwrap());
        }
        let writers_left = AtomicUsize::new(3);
        scope(|scope| {
            for thread in 0..3u64 {
                let (index, heap, writers_left) = (&index, &heap, &writers_left);
                scope.spawn(move || {
                    let mut random = Random(thread);
                    let own: Vec<&RowHead> = (0..8).map(|_| heap.allocate()).collect();
                    for _ in 0..5_000 {
                        let key = key(random.below(350));
                        let head = own[usize::try_from(random.below(8)).unwrap()];
                        let part = u8::try_from(random.below(4)).unwrap();
                        if random.below(2) == 0 {
                            add_to(index, &key, head, part);
                        } else {
                            index.remove((&key, head), part, &pin(), || true);
                        }
                    }
                    writers_left.fetch_sub(1, Ordering::Relaxed);
                });
            }
            for reader in 0..2 {
                let (index, stay, writers_left) = (&index, &stay, &writers_left);
                scope.spawn(move || {
                    while writers_left.load(Ordering::Relaxed) > 0 {
                        look_for(index, stay, kind, reader);
                    }
                });
            }
        });
        look_for(&index, &stay, kind, 0);
    }
}

fn look_for(index: &Index, stay: &BTreeMap<u64, &RowHead>, kind: IndexKind, reader: u32) {
    for (n, head) in stay {
        assert!(find(index, &key(*n)).contains(&head.id()), "{kind:?}: key {n} is lost");
    }
    if kind == IndexKind::Range {
        let order = if reader == 0 { Order::Forward } else { Order::Backward };
        let mut seen = walk(index, Bounds::ALL, order);
        if order == Order::Backward {
            seen.reverse();
        }
        assert!(seen.is_sorted(), "a walk is in order");
        for (n, head) in stay {
            assert!(seen.binary_search(&(key(*n), head.id())).is_ok(), "key {n} is skipped");
        }
    }
}

#[test]
fn check_and_add_are_one_step_for_a_unique_key() {
    for kind in [IndexKind::Range, HASH] {
        let heap = Heap::new();
        let index = index(kind, Uniqueness::Unique);
        // Which head holds each of three keys; many dead entries make keys spill.
        let dead: BTreeSet<RowId> = (0..30).map(|n| bury(&index, &heap, n % 3)).collect();
        let holders: [AtomicI64; 3] = std::array::from_fn(|_| AtomicI64::new(0));
        let is_broken = AtomicBool::new(false);
        scope(|scope| {
            for thread in 0..4u64 {
                let (index, heap, dead) = (&index, &heap, &dead);
                let (holders, is_broken) = (&holders, &is_broken);
                scope.spawn(move || {
                    let mut random = Random(thread);
                    for _ in 0..2_000 {
                        let n = random.below(3);
                        let holder = &holders[usize::try_from(n).unwrap()];
                        let head = heap.allocate();
                        let check = |other: &RowHead| {
                            if dead.contains(&other.id()) { Ok(()) } else { Err(()) }
                        };
                        let publish = || {
                            holder.fetch_add(1, Ordering::SeqCst);
                        };
                        if index.add((&key(n), head), 0, &pin(), check, publish).is_err() {
                            heap.release(head);
                            continue;
                        }
                        if holder.load(Ordering::SeqCst) != 1 {
                            is_broken.store(true, Ordering::Relaxed);
                        }
                        holder.fetch_sub(1, Ordering::SeqCst);
                        index.remove((&key(n), head), 0, &pin(), || true);
                    }
                });
            }
        });
        assert!(!is_broken.load(Ordering::Relaxed), "{kind:?}: two rows had one key");
    }
}

fn bury(index: &Index, heap: &Heap, n: u64) -> RowId {
    let head = heap.allocate();
    add(index, &key(n), head);
    head.id()
}

/// An index that was built at once is like one that got its entries one by one, and takes more.
#[test]
fn built_index_agrees_with_one_that_grew() {
    let spec = |kind, uniqueness| {
        let extractor = Box::new(|row: RowImage<'_>, key: &mut Vec<u8>| key.extend(row.bytes));
        IndexSpec { id: IndexId(1), kind, uniqueness, extractor }
    };
    for (seed, kind) in (0..60).flat_map(|seed| [(seed, IndexKind::Range), (seed, HASH)]) {
        let (built, grown) =
            (Index::new(spec(kind, Uniqueness::NotUnique)), index(kind, Uniqueness::NotUnique));
        let heap = Heap::new();
        let mut random = Random(seed);
        let key = if seed % 2 == 0 { key } else { alike };
        let keys: Vec<Vec<u8>> = (0..seed * 3).map(|_| key(random.below(100))).collect();
        let guard = pin();
        let mut builder = built.builder(keys.len());
        let size = built.statistics(&guard).buckets;
        let mut heads = Vec::new();
        for key in &keys {
            let head = heap.allocate();
            link(head, key);
            // SAFETY: linked just now.
            let version = unsafe { &*head.latest() };
            assert!(builder.push(head, version, &guard).is_ok());
            add(&grown, key, head);
            heads.push(head);
        }
        assert!(builder.finish(&guard).is_ok());
        if kind == HASH {
            assert_eq!(built.statistics(&guard).buckets, size, "it had its size before");
        }
        for (at, more) in (0..40).map(|at| (at, key(random.below(200)))) {
            if let Some(gone) = keys.get(at * 2) {
                built.remove((gone, heads[at * 2]), 0, &guard, || true);
                grown.remove((gone, heads[at * 2]), 0, &guard, || true);
            }
            let head = heap.allocate();
            add(&built, &more, head);
            add(&grown, &more, head);
            assert_eq!(find(&built, &more), find(&grown, &more));
        }
        if kind == IndexKind::Range {
            for order in [Order::Forward, Order::Backward] {
                assert_eq!(walk(&built, Bounds::ALL, order), walk(&grown, Bounds::ALL, order));
            }
        }
        keys.iter().for_each(|key| assert_eq!(find(&built, key), find(&grown, key)));
    }
}

#[test]
fn two_rows_with_one_key_are_found_when_a_unique_index_is_built() {
    for kind in [IndexKind::Range, HASH] {
        let extractor = Box::new(|row: RowImage<'_>, key: &mut Vec<u8>| key.extend(row.bytes));
        let uniqueness = Uniqueness::Unique;
        let index = Index::new(IndexSpec { id: IndexId(1), kind, uniqueness, extractor });
        let heap = Heap::new();
        let guard = pin();
        let mut builder = index.builder(3);
        let mut push = |n| {
            let head = heap.allocate();
            link(head, &key(n));
            // SAFETY: linked just now.
            builder.push(head, unsafe { &*head.latest() }, &guard)
        };
        let pushed = [push(7), push(8), push(7)];
        let of = |Duplicate(key)| key;
        let found = pushed.into_iter().find_map(Result::err).or(builder.finish(&guard).err());
        assert_eq!(found.map(of).as_deref(), Some(&*key(7)));
    }
}

/// Gives a head a version with these bytes.
fn link(head: &RowHead, bytes: &[u8]) {
    let image = RowImage { bytes, blobs: &[] };
    let none = std::ptr::null_mut();
    let version =
        Version::allocate(VersionKind::Data, Begin::Committed(Timestamp(1)), 0, none, image);
    assert!(head.replace_latest(none, version.unwrap().as_ptr()));
}
