//! Ranges of heads for checkpoints: which of them have changed since one.
//!
//! A range is a segment of the heap. Its generation is that of the last change: the number of the
//! checkpoint that was the newest when the change was made. A writer raises it in the pin in which
//! its change becomes visible, and a checkpoint begins with a wait for all pins. So each change is
//! either visible to the scan of the checkpoint, or its range has that checkpoint's generation and
//! is scanned by the next one:
//!
//! ```text
//! writer       pin ─ generation of the range := 7 ────────── visible ─ end of pin
//! checkpoint            generation := 8 ─ wait for pins ......................... scan ranges >= 7
//! ```
//!
//! A writer usually finds its range raised already, so it writes one word per range and checkpoint.

use crate::primitives::{AtomicU64, Mutant, Ordering, is_mutant};
use crate::spec::RowId;
use crate::version::RowHead;
use crate::version::heap::restore::{first_of, id_of, parts_of, place_of};
use crate::version::heap::{HeadRun, Heap, Segment};

/// A range of heads.
#[derive(Clone, Copy)]
pub(crate) struct HeapRange<'a> {
    segment: &'a Segment,
    /// The id of its first row.
    pub(crate) first: RowId,
}

impl<'a> HeapRange<'a> {
    /// Returns the number of rows that the range has room for.
    pub(crate) fn capacity(&self) -> usize {
        self.segment.len()
    }

    /// Returns the generation of the last change.
    pub(crate) fn generation(&self) -> u64 {
        self.segment.generation.load(Ordering::SeqCst)
    }

    /// Returns the heads from `start` on, at most `heads_max`; `None` at the end.
    pub(crate) fn run(&self, start: usize, heads_max: usize) -> Option<HeadRun<'a>> {
        let used = self.segment.used();
        let len = used.checked_sub(start).filter(|len| *len > 0)?.min(heads_max);
        Some(HeadRun { segment: self.segment, start, len })
    }
}

impl Heap {
    /// Raises the generation of a head's range to the present one. The caller is pinned, from
    /// before this call until its change is visible.
    #[inline]
    pub(crate) fn note_change(&self, head: &RowHead, present: &AtomicU64) {
        self.note_change_at(head.id(), present);
    }

    /// Like [`Self::note_change`], by the row id of a head that exists.
    #[inline]
    pub(crate) fn note_change_at(&self, id: RowId, present: &AtomicU64) {
        let (shard, number) = parts_of(id);
        let segment = self.shards.of(shard).segment(place_of(number).0);
        let segment = segment.expect("a head is in a segment");
        // SeqCst, here and below: ordered with the pins and with the start of a checkpoint.
        let present = present.load(Ordering::SeqCst);
        if segment.generation.load(Ordering::SeqCst) >= present {
            return;
        }
        if is_mutant(Mutant::RangeSetBack) {
            return segment.generation.store(present, Ordering::SeqCst);
        }
        // Never lowered, by a writer that read the generation a while ago.
        segment.generation.fetch_max(present, Ordering::SeqCst);
    }

    /// Iterates over the ranges.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = HeapRange<'_>> {
        self.shards.numbered().flat_map(|(shard, of)| {
            of.segments().enumerate().map(move |(number, segment)| HeapRange {
                segment,
                first: id_of(shard, first_of(number)),
            })
        })
    }

    /// Returns the range that begins with a row; `None` if there is none.
    pub(crate) fn range_at(&self, first: RowId) -> Option<HeapRange<'_>> {
        let (shard, number) = parts_of(first);
        let (found, of) = self.shards.from(shard)?;
        let (at, slot) = place_of(number);
        let segment = of.segment(at).filter(|_| found == shard && slot == 0)?;
        Some(HeapRange { segment, first })
    }
}
