//! `SessionSpec`: the definition of an event session (events, predicates, actions, targets,
//! options), with every name already resolved.

use std::time::Duration;

use super::action::{Action, PredicateSource};
use super::comparator::Comparator;
use super::event::Event;
use super::target::Target;
use super::value::OwnedValue;

/// The default MAX_MEMORY of a session, in bytes.
pub const MAX_MEMORY_DEFAULT: u64 = 4 << 20;
/// The default MAX_DISPATCH_LATENCY: how long an event may stay in a buffer.
pub const MAX_DISPATCH_LATENCY_DEFAULT: Duration = Duration::from_secs(30);

/// The definition of a session.
#[derive(Clone, Debug)]
pub struct SessionSpec {
    /// The session's name, unique in the instance.
    pub name: String,
    /// The events that it collects.
    pub events: Vec<EventSpec>,
    /// The targets that get the events.
    pub targets: Vec<TargetSpec>,
    /// Its memory, retention and other options.
    pub options: SessionOptions,
}

/// One event of a session.
#[derive(Clone, Debug)]
pub struct EventSpec {
    /// The event to collect.
    pub event: &'static Event,
    /// Settings that were SET: the position in [`Event::settings`], and the value. Others have
    /// their defaults.
    pub settings: Vec<(usize, bool)>,
    /// The actions to collect with it.
    pub actions: Vec<&'static Action>,
    /// The condition on occurrences to collect; `None` for all.
    pub predicate: Option<Predicate>,
}

impl EventSpec {
    /// All occurrences of an event, with its fields and no actions.
    #[must_use]
    pub fn all(event: &'static Event) -> Self {
        Self { event, settings: Vec::new(), actions: Vec::new(), predicate: None }
    }
}

/// A condition on an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// True if both operands are true.
    And(Box<Predicate>, Box<Predicate>),
    /// True if one of the operands is true.
    Or(Box<Predicate>, Box<Predicate>),
    /// True if the operand is not true.
    Not(Box<Predicate>),
    /// A comparison, the leaf of the tree.
    Compare(Comparison),
}

/// The comparison in a leaf of a predicate.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The value that is compared.
    pub input: PredicateInput,
    /// The operation and the type as which to compare.
    pub comparator: &'static Comparator,
    /// The operand. Integers of either sign fit integer operands; text fits a map by the key's
    /// name, and a GUID or a boolean in the usual text form.
    pub value: OwnedValue,
}

/// The value that a predicate's leaf compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredicateInput {
    /// A field of the event, by position.
    Field(usize),
    /// A value of the moment of the event.
    Source(&'static PredicateSource),
}

/// One target of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetSpec {
    /// The target, by one of its names.
    pub target: &'static Target,
    /// Parameters that were SET: the name, and the text as written, without quotes.
    pub parameters: Vec<(String, String)>,
}

/// What happens to an event for which there is no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    /// The event is lost, and counted.
    #[default]
    SingleEventLoss,
    /// A whole buffer is lost, so that the newest events are kept.
    MultipleEventLoss,
    /// The thread that fires it waits for room.
    NoEventLoss,
}

/// How a session's memory is divided into partitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartitionMode {
    /// Few partitions, independent of CPUs.
    #[default]
    None,
    /// A set of partitions for each memory node.
    PerNode,
    /// One partition per CPU.
    PerCpu,
}

/// The options of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOptions {
    /// The limit in bytes of its buffers and the tables of its histograms together.
    pub max_memory: u64,
    /// What happens to an event for which there is no room.
    pub retention: Retention,
    /// How long an event may stay in a buffer; `None` for until the buffer is full.
    pub max_dispatch_latency: Option<Duration>,
    /// The size of the largest event in bytes, if it is more than a buffer holds; otherwise 0. Two
    /// buffers of this size are added to `max_memory`.
    pub max_event_size: u64,
    /// How the memory is divided into partitions.
    pub partition_mode: PartitionMode,
    /// Whether each event has its activity attached (TRACK_CAUSALITY).
    pub track_causality: bool,
}

impl SessionOptions {
    /// The memory limit in bytes: MAX_MEMORY = 0 means the default.
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
