//! `Filling`: the memory of a partition, into which records are written and from which the
//! dispatcher takes them.
//!
//! A session with a file or pair matching needs every record: its buffer is handed to the
//! dispatcher when it is half full. A session whose only target is a ring buffer needs just the
//! newest records, and only when a reader asks. Its memory is a recorder: segments, of which the
//! oldest is overwritten once the others hold all that the ring buffer would keep. The dispatcher
//! has no work until a reader asks. docs/decisions/0154.
//!
//! ```text
//!   handed on   [■■■■■■■■■■│          ]  half full: the dispatcher takes it
//!   recorder    [■■■■│■■■■│■■  │    │ ]  full: the oldest segment is next, if the rest is enough for the ring,
//!                 oldest    current       else a free one; if it will not be, the dispatcher is called
//! ```

use std::collections::VecDeque;

use super::partition::table;

/// The number of segments of a recorder.
pub(super) const SEGMENTS: usize = 8;

/// How much a ring buffer keeps: a number of records, or a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Enough {
    pub(super) records: u64,
    pub(super) bytes: usize,
}

/// A buffer that is being filled.
#[derive(Debug)]
pub(super) struct Filling {
    buffer: Box<[u8]>,
    /// The segment that is being filled: the whole buffer, unless it is a recorder.
    current: Segment,
    /// The offset of its end.
    end: usize,
    recorder: Option<Recorder>,
    /// Whether the dispatcher is needed and has been called.
    is_due: bool,
    is_rung: bool,
}

/// A part of a buffer with records in it.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    start: usize,
    /// The offset of the next record.
    used: usize,
    records: u64,
}

impl Segment {
    fn at(start: usize) -> Self {
        Self { start, used: start, records: 0 }
    }

    fn bytes(self) -> usize {
        self.used - self.start
    }
}

#[derive(Debug)]
struct Recorder {
    enough: Enough,
    segment_bytes: usize,
    /// Full segments, the oldest first.
    full: VecDeque<Segment>,
    /// The number of records in the full segments.
    records: u64,
    bytes: usize,
    /// The offsets of empty segments.
    free: Vec<usize>,
    /// The number of records that were overwritten.
    overwritten: u64,
}

impl Recorder {
    fn new(length: usize, enough: Enough) -> Self {
        let segment_bytes = length / SEGMENTS;
        let mut recorder = Self {
            enough,
            segment_bytes,
            full: VecDeque::with_capacity(SEGMENTS),
            records: 0,
            bytes: 0,
            free: Vec::with_capacity(SEGMENTS),
            overwritten: 0,
        };
        recorder.empty();
        recorder
    }

    /// Drops all records; the first segment is the current one again.
    fn empty(&mut self) {
        self.full.clear();
        (self.records, self.bytes) = (0, 0);
        self.free.clear();
        self.free.extend((1..SEGMENTS).rev().map(|at| at * self.segment_bytes));
    }

    /// Whether it is half full, and at this rate will not hold enough when it is full.
    fn is_too_small(&self) -> bool {
        let full = self.full.len();
        let others = SEGMENTS - 1;
        full >= SEGMENTS / 2
            && self.records * (others as u64) < self.enough.records.saturating_mul(full as u64)
            && self.bytes * others < self.enough.bytes.saturating_mul(full)
    }

    /// The offset of the segment after this one; `None` if all segments are still needed.
    fn next(&mut self, current: Segment) -> Option<usize> {
        let (records, bytes) = (self.records + current.records, self.bytes + current.bytes());
        if let Some(&oldest) = self.full.front()
            && (records - oldest.records >= self.enough.records
                || bytes - oldest.bytes() >= self.enough.bytes)
        {
            self.full.pop_front();
            self.overwritten += oldest.records;
            (self.records, self.bytes) = (records - oldest.records, bytes - oldest.bytes());
            self.full.push_back(current);
            return Some(oldest.start);
        }
        let start = self.free.pop()?;
        (self.records, self.bytes) = (records, bytes);
        self.full.push_back(current);
        Some(start)
    }
}

impl Filling {
    /// Makes an empty one. It is a recorder if `enough` is given.
    pub(super) fn new(buffer: Box<[u8]>, enough: Option<Enough>) -> Self {
        let recorder = enough.map(|enough| Recorder::new(buffer.len(), enough));
        let end = recorder.as_ref().map_or(buffer.len(), |recorder| recorder.segment_bytes);
        Self { buffer, current: Segment::at(0), end, recorder, is_due: false, is_rung: false }
    }

    /// The free bytes for the next record.
    #[inline]
    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[self.current.used..self.end]
    }

    /// The size in bytes of the largest record that fits.
    pub(super) fn record_max(&self) -> usize {
        self.end - self.current.start
    }

    /// Keeps a record that was written at the start of [`Self::room`]; returns whether to call the
    /// dispatcher.
    #[inline]
    pub(super) fn keep(&mut self, bytes: usize) -> bool {
        self.current.used += bytes;
        self.current.records += 1;
        if self.recorder.is_none() {
            self.is_due = self.current.used > self.buffer.len() / 2;
        }
        self.is_due && !std::mem::replace(&mut self.is_rung, self.is_due)
    }

    /// Makes room for a record that did not fit; returns whether there is any.
    #[cold]
    pub(super) fn go_on(&mut self) -> bool {
        let Some(recorder) = &mut self.recorder else { return false };
        let Some(start) = recorder.next(self.current) else { return false };
        self.is_due = recorder.is_too_small();
        self.current = Segment::at(start);
        self.end = start + recorder.segment_bytes;
        true
    }

    /// Whether it holds any record.
    pub(super) fn is_used(&self) -> bool {
        self.current.records > 0 || self.recorder.as_ref().is_some_and(|r| r.records > 0)
    }

    /// Whether the dispatcher has been called.
    pub(super) fn is_rung(&self) -> bool {
        self.is_rung
    }

    /// Drops all records; returns their number.
    pub(super) fn give_up(&mut self) -> u64 {
        let before = self.recorder.as_ref().map_or(0, |recorder| recorder.records);
        let records = before + self.current.records;
        self.empty();
        records
    }

    fn empty(&mut self) {
        self.current = Segment::at(0);
        (self.is_due, self.is_rung) = (false, false);
        if let Some(recorder) = &mut self.recorder {
            recorder.empty();
            self.end = recorder.segment_bytes;
        }
    }

    /// Takes the records in the order in which they were written: in exchange for another buffer,
    /// or as a copy from a recorder. Returns the number of records that were overwritten before.
    pub(super) fn take(&mut self, spare: &mut (Box<[u8]>, usize)) -> u64 {
        let Some(recorder) = &mut self.recorder else {
            std::mem::swap(&mut self.buffer, &mut spare.0);
            spare.1 = self.current.used;
            self.empty();
            return 0;
        };
        let bytes = recorder.bytes + self.current.bytes();
        spare.0 = table(bytes);
        spare.1 = bytes;
        let mut rest = &mut *spare.0;
        for segment in recorder.full.iter().chain([&self.current]) {
            let (to, after) = rest.split_at_mut(segment.bytes());
            to.copy_from_slice(&self.buffer[segment.start..segment.used]);
            rest = after;
        }
        let overwritten = std::mem::take(&mut recorder.overwritten);
        self.empty();
        overwritten
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Writes a record: its length, and its number repeated.
    fn write(filling: &mut Filling, number: u8, length: usize) -> Option<bool> {
        if length > filling.room().len() && !filling.go_on() {
            return None;
        }
        filling.room()[..length].fill(number);
        Some(filling.keep(length))
    }

    fn taken(filling: &mut Filling) -> (Vec<u8>, u64) {
        let mut spare = (table(filling.buffer.len()), 0);
        let overwritten = filling.take(&mut spare);
        (spare.0[..spare.1].to_vec(), overwritten)
    }

    #[test]
    fn buffer_is_handed_on_when_it_is_half_full() {
        let mut filling = Filling::new(table(100), None);
        let bells: Vec<_> = (0..5).map(|number| write(&mut filling, number, 24)).collect();
        assert_eq!(bells, [Some(false), Some(false), Some(true), Some(false), None]);
        let (bytes, overwritten) = taken(&mut filling);
        assert_eq!((bytes.len(), overwritten, filling.is_used()), (96, 0, false));
        assert_eq!(write(&mut filling, 9, 24), Some(false));
    }

    #[test]
    fn recorder_that_holds_enough_never_calls_the_dispatcher() {
        let enough = Enough { records: 10, bytes: usize::MAX };
        let mut filling = Filling::new(table(SEGMENTS * 40), Some(enough));
        for number in 0..200 {
            assert_eq!(write(&mut filling, number, 20), Some(false), "{number}");
        }
        let (bytes, overwritten) = taken(&mut filling);
        let kept: Vec<u8> = bytes.chunks(20).map(|record| record[0]).collect();
        assert_eq!(kept, (188..200).collect::<Vec<u8>>());
        assert_eq!(overwritten, 188);
        assert_eq!(write(&mut filling, 0, 20), Some(false));
    }

    #[test]
    fn recorder_that_is_too_small_calls_the_dispatcher_and_then_has_no_room() {
        let enough = Enough { records: 100, bytes: usize::MAX };
        let mut filling = Filling::new(table(SEGMENTS * 10), Some(enough));
        let bells: Vec<_> = (0..9).map(|number| write(&mut filling, number, 10)).collect();
        let rung: Vec<usize> = (0..9).filter(|at| bells[*at] == Some(true)).collect();
        assert_eq!((rung, bells[7], bells[8]), (vec![4], Some(false), None));
        assert!(filling.is_rung());
        assert_eq!(filling.give_up(), 8);
        assert_eq!((filling.is_used(), filling.is_rung()), (false, false));
    }

    proptest! {
        #[test]
        fn recorder_has_what_a_ring_would_keep_in_its_order(
            lengths in prop::collection::vec(1..40_usize, 0..250),
            records in 1..30_u64,
            bytes in 1..400_usize,
        ) {
            let mut filling = Filling::new(table(SEGMENTS * 100), Some(Enough { records, bytes }));
            let mut model: Vec<u8> = Vec::new();
            let mut ring: VecDeque<(usize, usize)> = VecDeque::new();
            for (number, &length) in lengths.iter().enumerate() {
                let Ok(number) = u8::try_from(number) else { break };
                // There is always room: seven segments hold more than the 400 bytes that are
                // still needed.
                prop_assert!(write(&mut filling, number, length).is_some());
                ring.push_back((model.len(), length));
                model.extend(std::iter::repeat_n(number, length));
                let held = |ring: &VecDeque<(usize, usize)>| ring.iter().map(|(_, l)| l).sum::<usize>();
                while ring.len() as u64 > records || held(&ring) > bytes {
                    ring.pop_front();
                }
            }
            let wanted = ring.front().map_or(model.len(), |(at, _)| *at);
            let (found, overwritten) = taken(&mut filling);
            prop_assert!(model.ends_with(&found), "it is the newest, in order");
            prop_assert!(found.len() >= model.len() - wanted, "and all that the ring would have");
            let all = lengths.len() as u64;
            let kept = found.chunk_by(|a, b| a == b).count() as u64;
            prop_assert_eq!(overwritten + kept, all);
        }
    }
}
