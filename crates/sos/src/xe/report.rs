//! What readers see of running sessions: [`SessionReport`] and the contents of targets.

use super::event::Event;
use super::spec::SessionSpec;
use super::target::Target;
use super::value::OwnedValue;
use crate::sync::Arc;

/// A running session, as `sys.dm_xe_sessions` shows it.
#[derive(Clone, Debug)]
pub struct SessionReport {
    /// Where it is in memory: what the views join by.
    pub address: usize,
    /// What it was started with.
    pub spec: Arc<SessionSpec>,
    /// When it was started: UTC in 100 ns since 0001-01-01.
    pub created_100ns: u64,
    /// Buffers that are being filled, and their bytes.
    pub regular_buffers: u64,
    /// Bytes of one of them.
    pub regular_buffer_bytes: u64,
    /// Buffers for events larger than a regular one.
    pub large_buffers: u64,
    /// Bytes of one of them.
    pub large_buffer_bytes: u64,
    /// Buffers that wait to be dispatched.
    pub pending_buffers: u64,
    /// Bytes of all it has: buffers and tables of targets.
    pub memory_bytes: u64,
    /// What became of its events.
    pub totals: EventTotals,
    /// Events that were dropped, by cause.
    pub drops: Drops,
    /// Time that threads have waited for a buffer, in nanoseconds (NO_EVENT_LOSS).
    pub blocked_ns: u64,
    /// What became of each of its events, in the order of the specification.
    pub events: Vec<EventReport>,
    /// Its targets, in the order of the specification, without their contents.
    pub targets: Vec<TargetReport>,
}

/// Where events have gone: `seen` is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventTotals {
    /// Events that reached the session.
    pub seen: u64,
    /// Those that its predicate rejected.
    pub rejected: u64,
    /// Those for which there was no room.
    pub dropped: u64,
    /// Those that its targets have or will get.
    pub published: u64,
}

/// Dropped events by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// Each partition was in another thread's hands.
    pub busy: u64,
    /// Each partition's buffer was full.
    pub full: u64,
    /// The event was larger than any buffer.
    pub too_large: u64,
    /// The largest of those, in bytes.
    pub largest_bytes: u64,
    /// Whole buffers that were given up for newer events (ALLOW_MULTIPLE_EVENT_LOSS).
    pub buffers: u64,
    /// Events that were in them.
    pub in_buffers: u64,
}

impl Drops {
    /// All dropped events.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.busy + self.full + self.too_large + self.in_buffers
    }
}

/// What became of one event of a session.
#[derive(Clone, Copy, Debug)]
pub struct EventReport {
    /// Which.
    pub event: &'static Event,
    /// Where its occurrences have gone. Those lost with a whole buffer still count as published
    /// here.
    pub totals: EventTotals,
}

/// One target of a running session, as `sys.dm_xe_session_targets` shows it.
#[derive(Clone, Copy, Debug)]
pub struct TargetReport {
    /// Which.
    pub target: &'static Target,
    /// How often it was given events.
    pub executions: u64,
    /// How long it took, in nanoseconds.
    pub execution_ns: u64,
}

/// What a target holds.
#[derive(Clone, Debug)]
pub enum TargetData {
    /// Of a histogram.
    Histogram(HistogramData),
    /// Of an event counter.
    Counter(CounterData),
    /// Of a ring buffer.
    Ring(RingData),
    /// Of an event file.
    File(FileData),
    /// Of pair matching.
    Pairs(PairData),
}

/// What a histogram holds.
#[derive(Clone, Debug, Default)]
pub struct HistogramData {
    /// Events (or their weight) that found no free slot.
    pub truncated: u64,
    /// Slots there are.
    pub buckets: u64,
    /// The map of the values, the text of which is to be shown; none if they speak for themselves.
    pub map: Option<&'static super::Map>,
    /// The slots in use, the heaviest first.
    pub slots: Vec<HistogramSlot>,
}

/// One slot of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramSlot {
    /// The value that its events have in common.
    pub value: OwnedValue,
    /// How many events.
    pub events: u64,
    /// The sum of the field that the histogram is weighted by; the number of events if there is
    /// none.
    pub weight: u64,
}

/// What an event counter holds: each event of the session, and how often it was published.
#[derive(Clone, Debug, Default)]
pub struct CounterData {
    /// In the order of the session's specification.
    pub events: Vec<(&'static Event, u64)>,
}

/// What a ring buffer holds.
#[derive(Clone, Debug, Default)]
pub struct RingData {
    /// Events that were left out of a report because it would have been too long.
    pub truncated: u64,
    /// Time spent filling it, in nanoseconds.
    pub processing_ns: u64,
    /// Events it was given.
    pub processed: u64,
    /// Events that never got to it because the session had no room.
    pub dropped: u64,
    /// Bytes it uses.
    pub memory_bytes: u64,
    /// What it holds, the oldest first.
    pub events: Vec<EventRecord>,
}

/// What pair matching holds: begin events without an end.
#[derive(Clone, Debug, Default)]
pub struct PairData {
    /// Orphans that were given up because there were too many.
    pub truncated: u64,
    /// Pairs that were found.
    pub matched: u64,
    /// Orphans that were given up because memory was short.
    pub memory_pressure_dropped: u64,
    /// Begin events without an end, the oldest first.
    pub orphans: Vec<EventRecord>,
}

/// The state of an event file.
#[derive(Clone, Debug, Default)]
pub struct FileData {
    /// The file that is being written.
    pub path: String,
    /// Bytes in it.
    pub bytes: u64,
    /// Events written, in this file and those before it.
    pub events: u64,
    /// Events lost since writing failed.
    pub lost: u64,
    /// Why the target has stopped, if it has.
    pub error: Option<String>,
}

/// An event as a reader gets it. Where it comes from a file, the names are the file's.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRecord {
    /// The event's package.
    pub package: Arc<str>,
    /// The event's name.
    pub name: Arc<str>,
    /// When it was fired: UTC in 100 ns since 0001-01-01.
    pub timestamp_100ns: u64,
    /// Its fields, in their order.
    pub fields: Vec<RecordField>,
    /// Its actions, in the order of the session's specification.
    pub actions: Vec<RecordField>,
}

/// A field or an action of an [`EventRecord`].
#[derive(Clone, Debug, PartialEq)]
pub struct RecordField {
    /// Of an action, its package; of a field, the event's.
    pub package: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// The name of its type.
    pub type_name: Arc<str>,
    /// The package of its type.
    pub type_package: Arc<str>,
    /// Its value.
    pub value: OwnedValue,
    /// Of a map, the name of the value.
    pub text: Option<Arc<str>>,
}
