//! `Ring`: the ring buffer target, which keeps the newest events in memory.

use std::collections::VecDeque;

use crate::sync::Arc;
use crate::xe::error::XeError;
use crate::xe::filling::Enough;
use crate::xe::record::Record;
use crate::xe::report::RingData;
use crate::xe::shape::Shape;
use crate::xe::spec::TargetSpec;
use crate::xe::target::Parameters;

const EVENTS_DEFAULT: u64 = 1000;
/// The memory that an event takes besides its bytes.
const OVERHEAD_BYTES: usize = size_of::<Kept>() + 16;

#[derive(Debug)]
struct Kept {
    shape: Arc<Shape>,
    bytes: Vec<u8>,
    time_100ns: u64,
}

impl Kept {
    /// The bytes that the event counts for.
    fn cost(&self) -> usize {
        self.bytes.capacity() + OVERHEAD_BYTES
    }
}

/// The ring buffer target.
#[derive(Debug)]
pub(in crate::xe) struct Ring {
    kept: VecDeque<Kept>,
    bytes: usize,
    bytes_max: usize,
    events_max: usize,
    /// The number of events of each kind that are kept longest.
    preferred: usize,
    processed: u64,
    too_large: u64,
}

impl Ring {
    /// Makes an empty ring; `default_bytes` is its memory if its parameters do not set it.
    pub(in crate::xe) fn new(spec: &TargetSpec, default_bytes: u64) -> Result<Self, XeError> {
        let parameters = Parameters::of(spec)?;
        let bytes_max = match parameters.number("max_memory")? {
            None | Some(0) => default_bytes,
            Some(kb) => kb.saturating_mul(1024),
        };
        let events_max = match parameters.number("max_events_limit")? {
            None => EVENTS_DEFAULT,
            Some(0) => u64::MAX,
            Some(limit) => limit,
        };
        let preferred = parameters.number("occurrence_number")?.unwrap_or(0);
        Ok(Self {
            kept: VecDeque::new(),
            bytes: 0,
            bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX),
            events_max: usize::try_from(events_max).unwrap_or(usize::MAX),
            preferred: usize::try_from(preferred).unwrap_or(usize::MAX),
            processed: 0,
            too_large: 0,
        })
    }

    /// How much the session must remember for it; `None` if it keeps some events of each kind.
    pub(in crate::xe) fn enough(&self) -> Option<Enough> {
        let records = self.events_max as u64;
        (self.preferred == 0).then_some(Enough { records, bytes: self.bytes_max })
    }

    /// Counts events that were overwritten before this target saw them.
    pub(in crate::xe) fn pass_over(&mut self, events: u64) {
        self.processed += events;
    }

    /// Adds an event, and drops others if there is no room.
    pub(in crate::xe) fn receive(&mut self, shape: &Arc<Shape>, record: Record<'_>, time: u64) {
        self.processed += 1;
        let cost = record.bytes().len() + OVERHEAD_BYTES;
        if cost > self.bytes_max {
            self.too_large += 1;
            return;
        }
        let mut gone = None;
        while self.bytes + cost > self.bytes_max || self.kept.len() >= self.events_max {
            gone = self.give_up_one();
        }
        // Most events are like the one before: the memory of the dropped event fits the new one, so
        // that a full ring needs no allocation.
        let fits = |gone: &Kept| {
            (cost..2 * cost).contains(&gone.cost()) && self.bytes + gone.cost() <= self.bytes_max
        };
        let mut kept = gone.filter(fits).unwrap_or_else(|| Kept {
            shape: Arc::clone(shape),
            bytes: Vec::with_capacity(record.bytes().len()),
            time_100ns: 0,
        });
        if !Arc::ptr_eq(&kept.shape, shape) {
            kept.shape = Arc::clone(shape);
        }
        kept.bytes.clear();
        kept.bytes.extend_from_slice(record.bytes());
        kept.time_100ns = time;
        self.bytes += kept.cost();
        self.kept.push_back(kept);
    }

    fn give_up_one(&mut self) -> Option<Kept> {
        let at = if self.preferred == 0 { 0 } else { self.least_wanted() };
        let gone = self.kept.remove(at)?;
        self.bytes -= gone.cost();
        Some(gone)
    }

    /// The oldest event of a kind that has more than the preferred number; else the oldest.
    fn least_wanted(&self) -> usize {
        let is_many = |kept: &Kept| {
            let same = self.kept.iter().filter(|other| other.shape.name == kept.shape.name);
            same.count() > self.preferred
        };
        self.kept.iter().position(is_many).unwrap_or(0)
    }

    /// The target's contents for readers.
    pub(in crate::xe) fn data(&self) -> RingData {
        let decode = |kept: &Kept| {
            let (record, _) = Record::take(&kept.bytes)?;
            Some(kept.shape.decode(record, kept.time_100ns))
        };
        RingData {
            truncated: self.too_large,
            processing_ns: 0,
            processed: self.processed,
            dropped: 0,
            memory_bytes: self.bytes as u64,
            events: self.kept.iter().filter_map(decode).collect(),
        }
    }
}
