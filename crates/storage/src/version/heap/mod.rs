//! `Heap`: the heads of a table's rows, in segments that never move.
//!
//! Each thread appends to its own shard. A head is reused only after its row is collected, and its
//! memory remains a head until the table is freed, so a stale pointer is never invalid. A walk skips
//! segments whose heads are all free: a queue that was long once is not walked as a long one.

mod free;
mod ranges;
mod restore;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use std::ptr::NonNull;

use crate::primitives::{
    AtomicU64, CachePadded, Directory, Mutant, Ordering, Shards, SpinClass, SpinLock, booked,
    is_mutant, own_number,
};
use crate::spec::RowId;
use crate::version::{RowHead, Version};

use free::FreeHeads;
pub(crate) use ranges::HeapRange;
use restore::{parts_of, place_of};

/// Heads in the first segment of a shard; each next segment is twice as large, up to the maximum.
const SEGMENT_HEADS_MIN: usize = if cfg!(test) { 4 } else { 16 };
const SEGMENT_HEADS_MAX: usize = if cfg!(test) { 8 } else { 4096 };
/// The largest segment that spends a cache line on each head. The rows of small tables are often
/// written by many threads at once, each its own (counters, queues, limits): they must not share
/// cache lines. In a large table two such rows are rarely neighbours, and 48 bytes for each would
/// be too much.
const SPARSE_HEADS_MAX: usize = if cfg!(test) { 4 } else { 1024 };
const SHARD_SHIFT: u32 = 48;

/// Heads per cache line.
const LINE_HEADS: usize = 4;

/// A cache line of heads.
#[repr(align(64))]
struct Line {
    heads: [RowHead; LINE_HEADS],
}

struct Segment {
    lines: Box<[Line]>,
    /// log2 of the heads used in each line.
    line_shift: u32,
    used: AtomicU64,
    /// Heads that are not free.
    taken: AtomicU64,
    /// The checkpoint before the last change of a row of a durable table; 0 if there was none.
    generation: AtomicU64,
}

#[derive(Default)]
struct ShardState {
    last: Option<NonNull<Segment>>,
    segments: usize,
    free: FreeHeads,
    rows_next: u64,
}

// SAFETY: the pointers are to segments that the heap owns.
unsafe impl Send for ShardState {}

struct HeapShard {
    segments: Directory<Segment>,
    state: SpinLock<ShardState>,
}

impl Default for HeapShard {
    fn default() -> Self {
        Self {
            segments: Directory::default(),
            state: SpinLock::new(SpinClass::XtpTransaction, ShardState::default()),
        }
    }
}

/// Consecutive heads of one segment.
#[derive(Clone, Copy)]
pub(crate) struct HeadRun<'a> {
    segment: &'a Segment,
    start: usize,
    len: usize,
}

impl<'a> HeadRun<'a> {
    /// Returns the number of heads.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Returns the head with this number within the run.
    #[inline]
    pub(crate) fn head(&self, number: usize) -> &'a RowHead {
        self.segment.head(self.start + number)
    }

    /// Iterates over the heads of the run.
    pub(crate) fn heads(&self) -> impl Iterator<Item = &'a RowHead> + use<'a> {
        let run = *self;
        (0..run.len).map(move |number| run.head(number))
    }
}

impl HeapPosition {
    /// A position in no segment.
    pub(crate) const BEYOND: Self = Self { shard: usize::MAX, segment: 0, slot: 0 };

    /// Moves back over the last `count` heads of the batch just walked, which are in one segment.
    pub(crate) fn step_back(&mut self, count: usize) {
        self.slot -= count;
    }
}

/// The heads of a table.
pub(crate) struct Heap {
    /// Boxed: most tables have few rows, and the shards are large.
    shards: Box<Shards<HeapShard>>,
}

/// The position of a walk over the heap.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeapPosition {
    shard: usize,
    segment: usize,
    slot: usize,
}

impl Heap {
    pub(crate) fn new() -> Self {
        Self { shards: Box::default() }
    }

    /// Takes a head that no other thread can see yet; its chain is empty.
    pub(crate) fn allocate(&self) -> &RowHead {
        let number = own_number();
        let shard = self.shards.of(number);
        let head = {
            let mut state = shard.state.lock();
            match state.free.pop() {
                Some((segment, head)) => {
                    shard.segment(segment).expect("a free head is in a segment").take();
                    if !is_mutant(Mutant::ReuseMarkedLate) {
                        // SAFETY: heads live as long as the heap.
                        unsafe { head.as_ref() }.note_reused();
                    }
                    head
                }
                None => shard.append(&mut state, number),
            }
        };
        // SAFETY: as above.
        unsafe { head.as_ref() }
    }

    /// Releases a head that no thread can reach any more through an index or a snapshot.
    pub(crate) fn release(&self, head: &RowHead) {
        debug_assert!(head.latest().is_null());
        // KEYS_CHANGED stays set: a slow thread may still be removing entries of old keys.
        let (number, row) = parts_of(head.id());
        let (segment, _) = place_of(row);
        let shard = self.shards.of(number);
        let mut state = shard.state.lock();
        booked(|| state.free.push(segment, NonNull::from(head)));
        // SeqCst, as in `take`.
        let of = shard.segment(segment).expect("a head is in a segment");
        of.taken.fetch_sub(1, Ordering::SeqCst);
    }

    /// Appends the next heads in heap order to `batch`, all of one segment; none at the end.
    pub(crate) fn walk<'a>(
        &'a self,
        position: &mut HeapPosition,
        batch: &mut Vec<&'a RowHead>,
        batch_max: usize,
    ) {
        batch.extend(self.run(position, batch_max).iter().flat_map(HeadRun::heads));
    }

    /// Takes the next heads in heap order, of one segment; `None` at the end.
    pub(crate) fn run(&self, position: &mut HeapPosition, heads_max: usize) -> Option<HeadRun<'_>> {
        while let Some((number, shard)) = self.shards.from(position.shard) {
            position.shard = number;
            let segment = shard.segment(position.segment);
            let used = segment.map_or(0, Segment::used);
            if let Some(segment) = segment
                && position.slot < used
            {
                if segment.is_free() {
                    position.slot = used;
                    continue;
                }
                let start = position.slot;
                position.slot = used.min(start + heads_max);
                return Some(HeadRun { segment, start, len: position.slot - start });
            }
            let is_full = segment.is_some_and(|segment| used == segment.len());
            *position = if is_full {
                HeapPosition { segment: position.segment + 1, slot: 0, ..*position }
            } else {
                HeapPosition { shard: position.shard + 1, ..HeapPosition::default() }
            };
        }
        None
    }

    /// Like [`Self::run`], but stops at the end of the segment that the position is in.
    pub(crate) fn run_in_segment(
        &self,
        position: &mut HeapPosition,
        heads_max: usize,
    ) -> Option<HeadRun<'_>> {
        let (number, shard) = self.shards.from(position.shard)?;
        let segment = shard.segment(position.segment).filter(|_| number == position.shard)?;
        let used = segment.used();
        let start = if segment.is_free() { used } else { position.slot };
        position.slot = used.min(start + heads_max).max(start);
        (start < used).then_some(HeadRun { segment, start, len: position.slot - start })
    }

    /// Advances the position by one segment, and returns the position where the skipped segment
    /// begins; `None` at the end.
    pub(crate) fn take_segment(&self, next: &mut HeapPosition) -> Option<HeapPosition> {
        while let Some((number, shard)) = self.shards.from(next.shard) {
            *next = HeapPosition { shard: number, ..*next };
            if shard.segment(next.segment).is_some() {
                let taken = *next;
                next.segment += 1;
                return Some(taken);
            }
            *next = HeapPosition { shard: number + 1, ..HeapPosition::default() };
        }
        None
    }

    /// Returns the bytes of all segments of heads.
    pub(crate) fn memory(&self) -> u64 {
        let mut bytes = 0;
        for shard in self.shards.iter() {
            bytes += size_of::<CachePadded<HeapShard>>();
            bytes += shard.segments.memory();
            for segment in shard.segments() {
                bytes += segment.lines.len() * size_of::<Line>() + size_of::<Segment>();
            }
        }
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl Segment {
    fn new(len: usize) -> Self {
        let line_shift = if len <= SPARSE_HEADS_MAX { 0 } else { LINE_HEADS.ilog2() };
        let line = |_| Line { heads: std::array::from_fn(|_| RowHead::free()) };
        Self {
            lines: (0..len >> line_shift).map(line).collect(),
            line_shift,
            used: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            generation: AtomicU64::new(0),
        }
    }

    fn len(&self) -> usize {
        self.lines.len() << self.line_shift
    }

    #[inline]
    fn head(&self, slot: usize) -> &RowHead {
        &self.lines[slot >> self.line_shift].heads[slot & ((1 << self.line_shift) - 1)]
    }

    /// Counts a head that is no longer free.
    fn take(&self) {
        // SeqCst: before the head gets a version, so that a walk that must meet the version does
        // not skip the segment.
        self.taken.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns whether no head has a version.
    fn is_free(&self) -> bool {
        self.taken.load(Ordering::SeqCst) == 0
    }

    fn used(&self) -> usize {
        // Acquire: pairs with the Release in `append`; the heads below are initialised.
        usize::try_from(self.used.load(Ordering::Acquire)).expect("at most a segment")
    }
}

impl HeapShard {
    fn segment(&self, number: usize) -> Option<&Segment> {
        self.segments.get(number)
    }

    fn segments(&self) -> impl Iterator<Item = &Segment> {
        (0..).map_while(|number| self.segment(number))
    }

    fn append(&self, state: &mut ShardState, number: usize) -> NonNull<RowHead> {
        // SAFETY: segments live as long as the heap.
        let last = state.last.map(|last| unsafe { last.as_ref() });
        let segment = match last {
            Some(last) if last.used() < last.len() => last,
            Some(_) | None => self.add_segment(state, last),
        };
        let used = segment.used();
        let head = segment.head(used);
        head.set_id(RowId((number as u64) << SHARD_SHIFT | state.rows_next));
        state.rows_next += 1;
        segment.take();
        // Release: pairs with the Acquire in `used`.
        segment.used.fetch_add(1, Ordering::Release);
        NonNull::from(head)
    }

    fn add_segment(&self, state: &mut ShardState, last: Option<&Segment>) -> &Segment {
        let len = last.map_or(SEGMENT_HEADS_MIN, |last| (last.len() * 2).min(SEGMENT_HEADS_MAX));
        let segment = self.segments.set(state.segments, booked(|| Box::new(Segment::new(len))));
        state.segments += 1;
        state.last = Some(NonNull::from(segment));
        segment
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        for shard in self.shards.iter() {
            for head in shard.segments().flat_map(|segment| &segment.lines).flat_map(|l| &l.heads) {
                free_chain(head.latest());
            }
        }
    }
}

/// Frees a chain that only the caller can reach.
fn free_chain(first: *mut Version) {
    let mut version = first;
    while let Some(place) = NonNull::new(version) {
        // SAFETY: linked versions are allocated.
        version = unsafe { place.as_ref() }.next.load(Ordering::Acquire);
        // SAFETY: only the caller can reach the chain, and each version is met once.
        unsafe { Version::free(place) };
    }
}
