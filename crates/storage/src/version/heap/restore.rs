//! Heads by row id, and putting rows back at theirs.
//!
//! The segments of a shard have fixed sizes, so a row id gives segment and slot:
//!
//! ```text
//! row number   0 .. 15 | 16 .. 47 | 48 .. 111 | .. | 4080 .. 8175 | 8176 .. | ..
//! segment      0       | 1        | 2         |    | 8            | 9       |
//! ```
//!
//! While rows are put back, a segment counts as unused, so no walk meets it. [`Heap::open`] ends
//! this: each head below the highest row that is empty becomes free.

use std::ptr::NonNull;

use crate::primitives::{Ordering, booked};
use crate::spec::RowId;
use crate::version::RowHead;
use crate::version::heap::{
    Heap, HeapShard, SEGMENT_HEADS_MAX, SEGMENT_HEADS_MIN, SHARD_SHIFT, Segment,
};

/// Segments of a shard before the first of the largest size.
const GROWING: usize = (SEGMENT_HEADS_MAX / SEGMENT_HEADS_MIN).ilog2() as usize;

/// Heads in these segments.
const GROWING_HEADS: usize = first_of(GROWING);

/// Returns the number of the first row of a segment.
pub(super) const fn first_of(segment: usize) -> usize {
    match segment.checked_sub(GROWING) {
        None => SEGMENT_HEADS_MIN * ((1 << segment) - 1),
        Some(more) => SEGMENT_HEADS_MIN * ((1 << GROWING) - 1) + more * SEGMENT_HEADS_MAX,
    }
}

/// Returns the segment of a row number, and the slot in it.
pub(super) const fn place_of(number: usize) -> (usize, usize) {
    let segment = match number.checked_sub(GROWING_HEADS) {
        None => (number / SEGMENT_HEADS_MIN + 1).ilog2() as usize,
        Some(beyond) => GROWING + beyond / SEGMENT_HEADS_MAX,
    };
    (segment, number - first_of(segment))
}

/// Returns the shard of a row id and the row's number there.
pub(super) fn parts_of(id: RowId) -> (usize, usize) {
    let number = id.0 & ((1 << SHARD_SHIFT) - 1);
    let whole = |part| usize::try_from(part).expect("a usize has 64 bits");
    (whole(id.0 >> SHARD_SHIFT), whole(number))
}

impl Heap {
    /// Returns whether no head was ever taken.
    pub(crate) fn is_untouched(&self) -> bool {
        self.shards.iter().all(|shard| shard.segment(0).is_none())
    }

    /// Returns the head of a row; `None` if the heap has no such row id.
    pub(crate) fn find_head(&self, id: RowId) -> Option<&RowHead> {
        let (shard, number) = parts_of(id);
        let shard = self.shards.has_place(shard).then(|| self.shards.of(shard))?;
        let (segment, slot) = place_of(number);
        Some(shard.segment(segment)?.head(slot))
    }

    /// Returns the head of a row that is to be put back; makes it and those below if needed. `None`
    /// if no heap has such a row id.
    pub(crate) fn head_at(&self, id: RowId) -> Option<&RowHead> {
        let (shard, number) = parts_of(id);
        let shard = self.shards.has_place(shard).then(|| self.shards.of(shard))?;
        let (segment, slot) = place_of(number);
        let found = shard.segment(segment).or_else(|| shard.extend(segment))?;
        Some(found.head(slot))
    }

    /// Ends putting rows back; returns how many rows there are. The caller is alone.
    pub(crate) fn open(&self) -> u64 {
        self.shards.numbered().map(|(number, shard)| shard.open(number)).sum()
    }
}

impl HeapShard {
    /// Makes all segments up to one; `None` if a shard has not as many.
    #[cold]
    fn extend(&self, segment: usize) -> Option<&Segment> {
        if !self.segments.has_room_for(segment) {
            return None;
        }
        let mut state = self.state.lock();
        while state.segments <= segment {
            // SAFETY: segments live as long as the heap.
            let last = state.last.map(|last| unsafe { last.as_ref() });
            self.add_segment(&mut state, last);
        }
        self.segment(segment)
    }

    fn open(&self, number: usize) -> u64 {
        let mut state = self.state.lock();
        let segments: Vec<&Segment> = self.segments().collect();
        let Some(last) = segments.last() else { return 0 };
        let before_last = first_of(segments.len() - 1);
        let in_last = (0..last.len()).rev().find(|slot| last.has_row(*slot));
        // All segments but the last are used as a whole, as if each row had been appended.
        let end = in_last.map_or(before_last, |slot| before_last + slot + 1);
        let mut rows = 0;
        for (segment, at) in segments.into_iter().zip(0..) {
            let first = first_of(at);
            let used = (end - first).min(segment.len());
            let mut taken = 0;
            // The lowest is taken first.
            for slot in (0..used).rev() {
                let head = segment.head(slot);
                head.set_id(id_of(number, first + slot));
                if segment.has_row(slot) {
                    taken += 1;
                } else {
                    booked(|| state.free.push(at, NonNull::from(head)));
                }
            }
            rows += taken;
            segment.taken.store(taken, Ordering::SeqCst);
            // Release: pairs with the Acquire in `used`.
            segment.used.store(used as u64, Ordering::Release);
        }
        state.rows_next = end as u64;
        rows
    }
}

impl Segment {
    fn has_row(&self, slot: usize) -> bool {
        !self.head(slot).latest().is_null()
    }
}

/// Returns the row id of a row of a shard.
pub(super) fn id_of(shard: usize, number: usize) -> RowId {
    RowId((shard as u64) << SHARD_SHIFT | number as u64)
}
