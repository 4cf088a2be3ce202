//! `HashIndex`: 64-byte buckets of four tagged entries; readers search without a latch.
//!
//! ```text
//! +-------+-------+-----------+-------------------+----------+
//! | latch | ready | 4 hashes  | 4 heads           | overflow |   one cache line
//! | 4     | 4     | 16        | 32                | 8        |
//! +-------+-------+-----------+-------------------+----------+
//! ```
//! An entry is 32 bits of the key's hash and a head; the key itself is in the row. The table
//! doubles by publishing a new, empty upper half. A bucket b of that half is filled when a writer
//! first needs it, from its parent (b without its highest bit): copy, mark b ready, then clear the
//! copied entries. A reader that finds b not ready reads the parent, and looks again if b has
//! become ready since.
//!
//! So BUCKET_COUNT costs nothing on an empty table: it only makes a small table double sooner.

use std::hash::BuildHasher;
use std::ops::ControlFlow;

use foldhash::fast::FixedState;
use smallvec::SmallVec;
use sos::lock::RawSpin;

#[cfg(not(any(loom, shuttle)))]
use crate::primitives::booked;
use crate::primitives::{AtomicPtr, AtomicU32, Mutant, Ordering, SpinClass, is_mutant, prefetch};
use crate::spec::IndexStatistics;
use crate::version::RowHead;

const ENTRIES: usize = 4;
const ENTRIES_PER_BUCKET_MAX: u64 = 4;
/// Buckets that are sampled before the table doubles.
const SAMPLE: u64 = 16;
/// Buckets of a new index; a power of two.
const BUCKETS_MIN: u64 = if cfg!(any(test, shuttle)) { 1 } else { 8 };
/// The largest number of doublings: the entries' hashes have 32 bits.
const LEVELS_MAX: usize = 28;

/// One cache line of entries. All zero is a bucket that is not ready.
#[repr(align(64))]
#[derive(Default)]
struct Bucket {
    /// Held to change the bucket or its overflow chain; only the first bucket's latch is used.
    latch: RawSpin,
    ready: AtomicU32,
    hashes: [AtomicU32; ENTRIES],
    heads: [AtomicPtr<RowHead>; ENTRIES],
    overflow: AtomicPtr<Bucket>,
}

/// A hash index: from the hash of a key to heads.
pub(crate) struct HashIndex {
    hasher: FixedState,
    /// The table has `BUCKETS_MIN << level` buckets.
    level: AtomicU32,
    /// Segment 0 has `BUCKETS_MIN` buckets, each further one as many as all before it.
    segments: [AtomicPtr<Bucket>; LEVELS_MAX + 1],
    growing: RawSpin,
    bucket_count: u64,
}

/// Proof that this thread may change a chain.
struct Latched<'a>(&'a Bucket);

impl Drop for Latched<'_> {
    fn drop(&mut self) {
        self.0.latch.free();
    }
}

/// The address of the stack differs from start to start, so hashes cannot be predicted.
#[cfg(not(shuttle))]
fn seed(on_stack: &u64) -> u64 {
    u64::try_from(std::ptr::from_ref(on_stack).addr()).unwrap_or(0)
}

/// A different seed with each schedule of a model: with some, no key moves on doubling.
#[cfg(shuttle)]
fn seed(_on_stack: &u64) -> u64 {
    shuttle::rand::Rng::r#gen(&mut shuttle::rand::thread_rng())
}

/// The bucket to read, and the one that will replace it for this key.
struct Place<'a> {
    bucket: &'a Bucket,
    successor: Option<&'a Bucket>,
}

impl HashIndex {
    pub(crate) fn new(bucket_count: u64) -> Self {
        let index = Self {
            hasher: FixedState::with_seed(seed(&bucket_count)),
            level: AtomicU32::new(0),
            segments: std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut())),
            growing: RawSpin::new(),
            bucket_count,
        };
        index.segments[0].store(new_buckets(BUCKETS_MIN), Ordering::Release);
        for number in 0..BUCKETS_MIN {
            index.bucket(number).ready.store(1, Ordering::Release);
        }
        index
    }

    /// Returns the part of a key's hash that an entry stores.
    pub(crate) fn hash(&self, key: &[u8]) -> u32 {
        u32::try_from(self.hasher.hash_one(key) >> 32).expect("32 bits are left")
    }

    /// Adds the entry unless it is there. Under the latch, `check` sees every other head whose key
    /// has this hash and may refuse; `publish` runs when the entry is in.
    pub(crate) fn add<E>(
        &self,
        key: &[u8],
        head: &RowHead,
        check: impl FnMut(&RowHead) -> Result<(), E>,
        publish: impl FnOnce(),
    ) -> Result<(), E> {
        let hash = self.hash(key);
        let has_overflowed = self.add_hashed(hash, head, check, publish)?;
        if has_overflowed {
            self.note_overflow(hash);
        }
        Ok(())
    }

    /// As [`Self::add`], for a key whose hash is known, in a table that stays as large as it is. Returns
    /// whether the entry's bucket was full.
    pub(crate) fn add_hashed<E>(
        &self,
        hash: u32,
        head: &RowHead,
        mut check: impl FnMut(&RowHead) -> Result<(), E>,
        publish: impl FnOnce(),
    ) -> Result<bool, E> {
        let latched = self.latch(hash);
        let mut free = None;
        let mut is_there = false;
        for (hash_there, slot) in entries(latched.0) {
            // SAFETY: heads live as long as the table, which owns this index.
            match unsafe { slot.load(Ordering::Acquire).as_ref() } {
                None => free = free.or(Some((hash_there, slot))),
                Some(_) if hash_there.load(Ordering::Relaxed) != hash => {}
                Some(other) if std::ptr::eq(other, head) => is_there = true,
                Some(other) => check(other)?,
            }
        }
        let has_overflowed = !is_there && free.is_none();
        if !is_there {
            let (hash_there, slot) = free.unwrap_or_else(|| append_overflow(latched.0));
            hash_there.store(hash, Ordering::Relaxed);
            // Release: pairs with the Acquire in `find`, which then reads this hash.
            slot.store(std::ptr::from_ref(head).cast_mut(), Ordering::Release);
        }
        publish();
        drop(latched);
        Ok(has_overflowed)
    }

    /// Prefetches the bucket that an entry of this hash is added to, in a table that does not grow.
    pub(crate) fn prefetch(&self, hash: u32) {
        let number = u64::from(hash) & mask(self.level.load(Ordering::Relaxed));
        prefetch(std::ptr::from_ref(self.bucket(number)).cast());
    }

    /// Removes the entry if, under the latch, `is_dead` says that no version needs it.
    pub(crate) fn remove(&self, key: &[u8], head: &RowHead, is_dead: impl FnOnce() -> bool) {
        let hash = self.hash(key);
        let latched = self.latch(hash);
        let entry = entries(latched.0).find(|(hash_there, slot)| {
            std::ptr::eq(slot.load(Ordering::Relaxed), head)
                && hash_there.load(Ordering::Relaxed) == hash
        });
        if let Some((_, slot)) = entry
            && is_dead()
        {
            slot.store(std::ptr::null_mut(), Ordering::Release);
        }
    }

    /// Shows every head that may have this key: its entry has the same hash.
    pub(crate) fn find<'a>(
        &'a self,
        key: &[u8],
        mut show: impl FnMut(&'a RowHead) -> ControlFlow<()>,
    ) {
        let hash = self.hash(key);
        let mut heads: SmallVec<[&'a RowHead; 4]> = SmallVec::new();
        loop {
            let level = self.level.load(Ordering::Acquire);
            let place = self.place(hash, level);
            for (hash_there, slot) in entries(place.bucket) {
                // SAFETY: heads live as long as the table, which owns this index.
                if let Some(head) = unsafe { slot.load(Ordering::Acquire).as_ref() }
                    && hash_there.load(Ordering::Relaxed) == hash
                {
                    heads.push(head);
                }
            }
            if self.is_still_right(&place, level) {
                break;
            }
            heads.clear();
        }
        // An entry that was removed here and added there during the search may have been met twice:
        // the head is then shown twice.
        for head in heads {
            if show(head).is_break() {
                return;
            }
        }
    }

    /// Returns whether no entry of the place has been moved since it was found.
    fn is_still_right(&self, place: &Place<'_>, level: u32) -> bool {
        // Acquire: a reader that misses an entry cleared by `fill` sees `ready`, set before.
        let is_taken_over = place.successor.is_some_and(Bucket::is_ready);
        !is_taken_over && self.level.load(Ordering::Acquire) == level
    }

    fn place(&self, hash: u32, level: u32) -> Place<'_> {
        let mut number = u64::from(hash) & mask(level);
        let mut successor = None;
        loop {
            let bucket = self.bucket(number);
            if bucket.is_ready() {
                return Place { bucket, successor };
            }
            successor = Some(bucket);
            number = parent(number);
        }
    }

    fn bucket(&self, number: u64) -> &Bucket {
        let (segment, offset) = if number < BUCKETS_MIN {
            (0, number)
        } else {
            let level = (number / BUCKETS_MIN).ilog2();
            (level + 1, number - (BUCKETS_MIN << level))
        };
        let segment = usize::try_from(segment).expect("at most LEVELS_MAX");
        // Acquire: pairs with the Release in `grow`.
        let first = self.segments[segment].load(Ordering::Acquire);
        debug_assert!(!first.is_null(), "the level covers published segments only");
        let offset = usize::try_from(offset).expect("within a segment");
        // SAFETY: the segment has more buckets than `offset`.
        let bucket = unsafe { first.add(offset) };
        // SAFETY: and it lives as long as the index.
        unsafe { &*bucket }
    }

    /// Latches the bucket that entries of this hash belong to now.
    fn latch(&self, hash: u32) -> Latched<'_> {
        loop {
            let level = self.level.load(Ordering::Acquire);
            let number = u64::from(hash) & mask(level);
            self.make_ready(number);
            let bucket = self.bucket(number);
            bucket.latch.take(SpinClass::XtpIndex);
            let latched = Latched(bucket);
            // A bucket of a later level can be filled from this one only under this latch.
            if self.level.load(Ordering::Acquire) == level {
                return latched;
            }
        }
    }

    fn make_ready(&self, number: u64) {
        let bucket = self.bucket(number);
        if bucket.is_ready() {
            return;
        }
        self.make_ready(parent(number));
        let source = self.bucket(parent(number));
        source.latch.take(SpinClass::XtpIndex);
        let latched = Latched(source);
        if !bucket.is_ready() {
            fill(bucket, number, &latched);
        }
    }

    /// Doubles the table if it is full. One long chain proves nothing: one key may have dead rows.
    #[cold]
    fn note_overflow(&self, hash: u32) {
        let level = self.level.load(Ordering::Relaxed);
        let buckets = BUCKETS_MIN << level;
        let sample = SAMPLE.min(buckets);
        let mut seen = 0;
        for step in 0..sample {
            let number = (u64::from(hash) + step * (buckets / sample)) & mask(level);
            let hash = u32::try_from(number).expect("at most 2^32 buckets");
            // The entries of a bucket that is not ready are still with its parent.
            let length = entries(self.place(hash, level).bucket)
                .filter(|(_, slot)| !slot.load(Ordering::Relaxed).is_null())
                .filter(|(there, _)| {
                    u64::from(there.load(Ordering::Relaxed)) & mask(level) == number
                })
                .count();
            seen += u64::try_from(length).unwrap_or(u64::MAX).min(ENTRIES_PER_BUCKET_MAX);
        }
        if seen >= self.entries_per_bucket(buckets) * sample {
            self.grow(level);
        }
    }

    #[cold]
    fn grow(&self, level: u32) {
        let next = usize::try_from(level + 1).expect("a small number");
        if next > LEVELS_MAX || !self.growing.try_take() {
            return;
        }
        if self.level.load(Ordering::Acquire) == level {
            let buckets = new_buckets(BUCKETS_MIN << level);
            // Without memory the chains grow longer instead.
            if !buckets.is_null() {
                self.segments[next].store(buckets, Ordering::Release);
                // Release: pairs with the Acquire in `find` and `latch`.
                self.level.store(level + 1, Ordering::Release);
            }
        }
        self.growing.free();
    }

    /// Makes an empty index as large as this number of keys would make it, so that no entry moves. No
    /// other thread uses it yet.
    pub(crate) fn reserve(&self, keys: u64) {
        loop {
            let level = self.level.load(Ordering::Relaxed);
            let buckets = BUCKETS_MIN << level;
            if keys < buckets * self.entries_per_bucket(buckets) {
                return;
            }
            self.grow(level);
            if self.level.load(Ordering::Relaxed) == level {
                // No memory: entries are chained.
                return;
            }
            // A bucket of an empty table has nothing to get from its parent.
            for number in buckets..2 * buckets {
                self.bucket(number).ready.store(1, Ordering::Release);
            }
        }
    }

    /// Returns the load at which a table of this size doubles: a lower one below BUCKET_COUNT.
    fn entries_per_bucket(&self, buckets: u64) -> u64 {
        if self.bucket_count > buckets * ENTRIES_PER_BUCKET_MAX { 1 } else { 2 }
    }

    /// Computes the statistics by walking the whole index.
    pub(crate) fn statistics(&self) -> IndexStatistics {
        let level = self.level.load(Ordering::Acquire);
        let mut sums =
            IndexStatistics { buckets: BUCKETS_MIN << level, ..IndexStatistics::default() };
        for number in 0..sums.buckets {
            let bucket = self.bucket(number);
            let length = bucket.length();
            sums.buckets_empty += u64::from(length == 0);
            sums.chain_max = sums.chain_max.max(length);
            sums.entries += length;
        }
        sums
    }

    /// Returns the bytes of the buckets, not counting overflow.
    pub(crate) fn memory(&self) -> u64 {
        let bytes = u64::try_from(size_of::<Bucket>()).unwrap_or(0);
        (BUCKETS_MIN << self.level.load(Ordering::Relaxed)) * bytes
    }
}

impl Bucket {
    fn is_ready(&self) -> bool {
        // Acquire: pairs with the Release in `fill`.
        self.ready.load(Ordering::Acquire) != 0
    }

    /// Counts the entries of the chain.
    fn length(&self) -> u64 {
        let used = entries(self).filter(|(_, slot)| !slot.load(Ordering::Relaxed).is_null());
        u64::try_from(used.count()).unwrap_or(u64::MAX)
    }

    fn next(&self) -> Option<&Self> {
        // SAFETY: overflow buckets live as long as the index.
        unsafe { self.overflow.load(Ordering::Acquire).as_ref() }
    }
}

fn mask(level: u32) -> u64 {
    (BUCKETS_MIN << level) - 1
}

/// Returns the bucket from which a bucket of an upper half is filled.
fn parent(number: u64) -> u64 {
    number & !(1 << number.ilog2())
}

/// Iterates over the places for entries of a chain.
fn entries(first: &Bucket) -> impl Iterator<Item = (&AtomicU32, &AtomicPtr<RowHead>)> {
    std::iter::successors(Some(first), |bucket| bucket.next())
        .flat_map(|bucket| bucket.hashes.iter().zip(&bucket.heads))
}

/// Moves the entries that belong to `bucket` from its parent, whose latch is held.
fn fill(bucket: &Bucket, number: u64, source: &Latched<'_>) {
    let mask = (1 << (number.ilog2() + 1)) - 1;
    let mut moved: SmallVec<[&AtomicPtr<RowHead>; 8]> = SmallVec::new();
    for (hash, slot) in entries(source.0) {
        let head = slot.load(Ordering::Relaxed);
        let hash = hash.load(Ordering::Relaxed);
        if head.is_null() || u64::from(hash) & mask != number {
            continue;
        }
        let free = entries(bucket).find(|(_, slot)| slot.load(Ordering::Relaxed).is_null());
        let (hash_there, slot_there) = free.unwrap_or_else(|| append_overflow(bucket));
        hash_there.store(hash, Ordering::Relaxed);
        slot_there.store(head, Ordering::Release);
        moved.push(slot);
    }
    if is_mutant(Mutant::ClearBeforeReady) {
        moved.iter().for_each(|slot| slot.store(std::ptr::null_mut(), Ordering::Release));
    }
    // Release: pairs with the Acquire in `is_ready`. Before the clearing, so that a reader that
    // misses an entry in the parent finds the bucket ready.
    bucket.ready.store(1, Ordering::Release);
    for slot in moved {
        slot.store(std::ptr::null_mut(), Ordering::Release);
    }
}

/// Appends a bucket to the chain and returns its first place.
fn append_overflow(first: &Bucket) -> (&AtomicU32, &AtomicPtr<RowHead>) {
    let mut last = first;
    while let Some(next) = last.next() {
        last = next;
    }
    let bucket = Box::into_raw(Box::<Bucket>::default());
    // Release: pairs with the Acquire in `next`.
    last.overflow.store(bucket, Ordering::Release);
    let bucket = last.next().expect("chained just now");
    (&bucket.hashes[0], &bucket.heads[0])
}

/// Allocates buckets that are not ready; null if memory is short.
fn new_buckets(count: u64) -> *mut Bucket {
    let count = usize::try_from(count).expect("at most 2^32");
    #[cfg(not(any(loom, shuttle)))]
    {
        let layout = std::alloc::Layout::array::<Bucket>(count).expect("at most 2^38 bytes");
        // All zero is a valid bucket, and the system provides zero pages only when they are
        // touched.
        // SAFETY: the layout has a size.
        let place = booked(|| unsafe { std::alloc::alloc_zeroed(layout) });
        place.cast()
    }
    #[cfg(any(loom, shuttle))]
    {
        let buckets: Box<[Bucket]> = (0..count).map(|_| Bucket::default()).collect();
        Box::into_raw(buckets).cast()
    }
}

impl Drop for HashIndex {
    fn drop(&mut self) {
        let level = self.level.load(Ordering::Acquire);
        for number in 0..BUCKETS_MIN << level {
            let mut next = self.bucket(number).overflow.load(Ordering::Acquire);
            while !next.is_null() {
                // SAFETY: made by `Box::into_raw` in `append_overflow`, owned by this index.
                next = unsafe { Box::from_raw(next) }.overflow.load(Ordering::Acquire);
            }
        }
        for (number, segment) in self.segments.iter().enumerate() {
            let first = segment.load(Ordering::Acquire);
            if first.is_null() {
                continue;
            }
            let count = BUCKETS_MIN << number.saturating_sub(1);
            free_buckets(first, count);
        }
    }
}

fn free_buckets(first: *mut Bucket, count: u64) {
    let count = usize::try_from(count).expect("at most 2^32");
    #[cfg(not(any(loom, shuttle)))]
    {
        let layout = std::alloc::Layout::array::<Bucket>(count).expect("as allocated");
        // SAFETY: allocated by `new_buckets` with this layout; buckets need no drop.
        unsafe { std::alloc::dealloc(first.cast(), layout) };
    }
    #[cfg(any(loom, shuttle))]
    {
        let buckets = std::ptr::slice_from_raw_parts_mut(first, count);
        // SAFETY: made by `Box::into_raw` in `new_buckets`.
        drop(unsafe { Box::from_raw(buckets) });
    }
}

const _: () = assert!(cfg!(any(loom, shuttle)) || size_of::<Bucket>() == 64);
const _: () = assert!(!std::mem::needs_drop::<Bucket>() || cfg!(any(loom, shuttle)));
