//! `SessionSpec`: what a session of events is to collect, where from and where to, with every name
//! already resolved.

use std::time::Duration;

use super::action::{Action, PredicateSource};
use super::comparator::Comparator;
use super::event::Event;
use super::target::Target;
use super::value::OwnedValue;

/// The most memory that the default gives a session, in bytes.
pub const MAX_MEMORY_DEFAULT: u64 = 4 << 20;
/// How long an event may stay in a buffer, by default.
pub const MAX_DISPATCH_LATENCY_DEFAULT: Duration = Duration::from_secs(30);

/// A session to start.
#[derive(Clone, Debug)]
pub struct SessionSpec {
    /// Its name.
    pub name: String,
    /// What it collects.
    pub events: Vec<EventSpec>,
    /// Where that goes.
    pub targets: Vec<TargetSpec>,
    /// How.
    pub options: SessionOptions,
}

/// One event of a session.
#[derive(Clone, Debug)]
pub struct EventSpec {
    /// Which.
    pub event: &'static Event,
    /// Settings that were SET: position in [`Event::settings`], and the value. The others have
    /// their defaults.
    pub settings: Vec<(usize, bool)>,
    /// What is gathered with it.
    pub actions: Vec<&'static Action>,
    /// Which of them are wanted; none for all.
    pub predicate: Option<Predicate>,
}

impl EventSpec {
    /// All occurrences of an event, and nothing besides its fields.
    #[must_use]
    pub fn all(event: &'static Event) -> Self {
        Self { event, settings: Vec::new(), actions: Vec::new(), predicate: None }
    }
}

/// A condition on an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// Both.
    And(Box<Predicate>, Box<Predicate>),
    /// Either.
    Or(Box<Predicate>, Box<Predicate>),
    /// Not.
    Not(Box<Predicate>),
    /// A comparison.
    Compare(Comparison),
}

/// A leaf of a predicate.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What is compared.
    pub input: PredicateInput,
    /// How.
    pub comparator: &'static Comparator,
    /// With what. Integers of either sign fit integer operands; text fits a map by its name, a GUID
    /// and a boolean by their usual texts.
    pub value: OwnedValue,
}

/// What a predicate's leaf compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredicateInput {
    /// A field of the event, by position.
    Field(usize),
    /// Something about the moment.
    Source(&'static PredicateSource),
}

/// One target of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetSpec {
    /// Which.
    pub target: &'static Target,
    /// Parameters that were SET: name, and text as it was written (without quotes).
    pub parameters: Vec<(String, String)>,
}

/// What becomes of an event for which there is no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    /// It is lost, and counted.
    #[default]
    SingleEventLoss,
    /// A whole buffer is lost, so that the newest events are kept.
    MultipleEventLoss,
    /// Its thread waits for room.
    NoEventLoss,
}

/// How a session's memory is split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartitionMode {
    /// Into few parts.
    #[default]
    None,
    /// A set of parts for each memory node.
    PerNode,
    /// A part for each CPU.
    PerCpu,
}

/// The options of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOptions {
    /// Bytes of its buffers and of the tables of its histograms: never more.
    pub max_memory: u64,
    /// What becomes of an event for which there is no room.
    pub retention: Retention,
    /// How long an event may stay in a buffer; none for until the buffer is full.
    pub max_dispatch_latency: Option<Duration>,
    /// Bytes of the largest event, if it is more than a buffer holds; 0 if not. Two buffers of this
    /// size come on top of `max_memory`.
    pub max_event_size: u64,
    /// How the memory is split.
    pub partition_mode: PartitionMode,
    /// Whether each event says which activity it belongs to.
    pub track_causality: bool,
}

impl SessionOptions {
    /// The bound in bytes: MAX_MEMORY = 0 leaves the choice to the server, which takes the default.
    #[must_use]
    pub const fn memory(&self) -> u64 {
        if self.max_memory == 0 { MAX_MEMORY_DEFAULT } else { self.max_memory }
    }
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            max_memory: MAX_MEMORY_DEFAULT,
            retention: Retention::default(),
            max_dispatch_latency: Some(MAX_DISPATCH_LATENCY_DEFAULT),
            max_event_size: 0,
            partition_mode: PartitionMode::default(),
            track_causality: false,
        }
    }
}
