//! The state of running sessions for readers: [`SessionReport`] and the contents of targets.

use super::event::Event;
use super::spec::SessionSpec;
use super::target::Target;
use super::value::OwnedValue;
use crate::sync::Arc;

/// A running session, as `sys.dm_xe_sessions` shows it.
#[derive(Clone, Debug)]
pub struct SessionReport {
    /// The session's memory address, by which views join.
    pub address: usize,
    /// The definition that it runs with.
    pub spec: Arc<SessionSpec>,
    /// When it was started: UTC in 100 ns since 0001-01-01.
    pub created_100ns: u64,
    /// The number of regular buffers.
    pub regular_buffers: u64,
    /// The size of a regular buffer.
    pub regular_buffer_bytes: u64,
    /// The number of buffers for events larger than a regular buffer.
    pub large_buffers: u64,
    /// The size of a large buffer.
    pub large_buffer_bytes: u64,
    /// Buffers that wait to be dispatched.
    pub pending_buffers: u64,
    /// The bytes of its buffers and of the tables of its targets.
    pub memory_bytes: u64,
    /// The totals over its events.
    pub totals: EventTotals,
    /// The dropped events, by cause.
    pub drops: Drops,
    /// Time that threads have waited for a buffer, in nanoseconds (NO_EVENT_LOSS).
    pub blocked_ns: u64,
    /// The totals of each of its events, in the order of the specification.
    pub events: Vec<EventReport>,
    /// Its targets, in the order of the specification, without their contents.
    pub targets: Vec<TargetReport>,
}

/// The counts of events by outcome: `seen` is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventTotals {
    /// Events that reached the session.
    pub seen: u64,
    /// Events that the predicate rejected.
    pub rejected: u64,
    /// Events for which there was no room.
    pub dropped: u64,
    /// Events that its targets have or will get.
    pub published: u64,
}

/// The dropped events of a session, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// Dropped because other threads were using all partitions.
    pub busy: u64,
    /// Dropped because the buffers of all partitions were full.
    pub full: u64,
    /// Dropped because the event was larger than any buffer.
    pub too_large: u64,
    /// The size of the largest of those, in bytes.
    pub largest_bytes: u64,
    /// Whole buffers that were dropped for newer events (ALLOW_MULTIPLE_EVENT_LOSS).
    pub buffers: u64,
    /// The number of events in those buffers.
    pub in_buffers: u64,
}

impl Drops {
    /// The number of all dropped events.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.busy + self.full + self.too_large + self.in_buffers
    }
}

/// The totals of one event of a session.
#[derive(Clone, Copy, Debug)]
pub struct EventReport {
    /// The event that the totals are of.
    pub event: &'static Event,
    /// The counts of its occurrences. Those lost with a whole buffer still count as published here.
    pub totals: EventTotals,
}

/// One target of a running session, as `sys.dm_xe_session_targets` shows it.
#[derive(Clone, Copy, Debug)]
pub struct TargetReport {
    /// The target that the report is about.
    pub target: &'static Target,
    /// How often it got a batch of events.
    pub executions: u64,
    /// The time that it has used, in nanoseconds.
    pub execution_ns: u64,
}

/// The contents of a target, by kind.
#[derive(Clone, Debug)]
pub enum TargetData {
    /// Contents of a histogram.
    Histogram(HistogramData),
    /// Contents of an event counter.
    Counter(CounterData),
    /// Contents of a ring buffer.
    Ring(RingData),
    /// State of an event file.
    File(FileData),
    /// Contents of pair matching.
    Pairs(PairData),
}

/// The contents of a histogram.
#[derive(Clone, Debug, Default)]
pub struct HistogramData {
    /// Events (or their weight) that found no free slot.
    pub truncated: u64,
    /// The number of slots.
    pub buckets: u64,
    /// The map whose names to show for the values; `None` if the values are shown as they are.
    pub map: Option<&'static super::Map>,
    /// The slots in use, the heaviest first.
    pub slots: Vec<HistogramSlot>,
}

/// One slot of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramSlot {
    /// The value that its events have in common.
    pub value: OwnedValue,
    /// The number of events with the value.
    pub events: u64,
    /// The sum of the field by which the histogram is weighted; the number of events if there is no
    /// such field.
    pub weight: u64,
}

/// The contents of an event counter: each event of the session, and how often it was published.
#[derive(Clone, Debug, Default)]
pub struct CounterData {
    /// The events and their counts, in the order of the session's specification.
    pub events: Vec<(&'static Event, u64)>,
}

/// The contents of a ring buffer.
#[derive(Clone, Debug, Default)]
pub struct RingData {
    /// Events that were left out of a report because it would have been too long.
    pub truncated: u64,
    /// Time spent filling it, in nanoseconds.
    pub processing_ns: u64,
    /// The number of events that it got.
    pub processed: u64,
    /// The number of events that the session dropped before, because it had no room.
    pub dropped: u64,
    /// The bytes that it uses.
    pub memory_bytes: u64,
    /// The events in it, the oldest first.
    pub events: Vec<EventRecord>,
}

/// The contents of pair matching: begin events without an end event.
#[derive(Clone, Debug, Default)]
pub struct PairData {
    /// Begin events that were dropped because there were too many.
    pub truncated: u64,
    /// The number of pairs found.
    pub matched: u64,
    /// Begin events that were dropped because memory was short.
    pub memory_pressure_dropped: u64,
    /// Begin events without an end, the oldest first.
    pub orphans: Vec<EventRecord>,
}

/// The state of an event file.
#[derive(Clone, Debug, Default)]
pub struct FileData {
    /// The path of the file that is being written.
    pub path: String,
    /// The size of that file.
    pub bytes: u64,
    /// Events written, in this file and those before it.
    pub events: u64,
    /// Events lost since writing failed.
    pub lost: u64,
    /// The error for which the target has stopped, if it has.
    pub error: Option<String>,
}

/// An event as a reader gets it. If it comes from a file, so do the names.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRecord {
    /// The name of the event's package.
    pub package: Arc<str>,
    /// The name of the event in its package.
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
    /// The package of the action; for a field, that of the event.
    pub package: Arc<str>,
    /// The name of the field or action.
    pub name: Arc<str>,
    /// The name of its type.
    pub type_name: Arc<str>,
    /// The package of its type.
    pub type_package: Arc<str>,
    /// The value that was collected.
    pub value: OwnedValue,
    /// The name of the value, if it is a key of a map.
    pub text: Option<Arc<str>>,
}
