//! Definitions of event sessions: what `sys.server_event_sessions` and its related views show.
//!
//! A definition holds names and values that CREATE and ALTER have checked against the events of the
//! session crate (`event/`); `sos::xe` starts a running session from it. Definitions live as long
//! as the instance, like logins.

use std::time::Duration;

use sos::xe::{EventSpec, PartitionMode, Retention, SessionOptions, SessionSpec, TargetSpec};

/// First `event_session_id` of users' sessions; system_health has a lower one.
const SESSION_ID_FIRST: i32 = 65_537;

/// The definition of an event session.
#[derive(Clone, Debug)]
pub struct EventSessionDef {
    /// `event_session_id`, 65537 and more for users' sessions.
    pub id: i32,
    /// Name in the spelling of CREATE.
    pub name: String,
    /// Options of the WITH clause.
    pub options: EventSessionOptions,
    /// Events in the order added.
    pub events: Vec<EventDef>,
    /// Targets in the order added.
    pub targets: Vec<EventTargetDef>,
    /// The next `event_id` or `target_id`.
    pub next_object: i32,
}

/// The options of an event session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSessionOptions {
    /// MAX_MEMORY: size of the buffers in KB.
    pub max_memory_kb: u32,
    /// EVENT_RETENTION_MODE: what happens when the buffers are full.
    pub retention: Retention,
    /// MAX_DISPATCH_LATENCY in ms; 0 is INFINITE.
    pub max_dispatch_latency_ms: u32,
    /// MAX_EVENT_SIZE in KB; 0 for the size of a buffer.
    pub max_event_size_kb: u32,
    /// MEMORY_PARTITION_MODE: buffers for the instance, per node or per CPU.
    pub partition: PartitionMode,
    /// TRACK_CAUSALITY: events carry an activity id.
    pub track_causality: bool,
    /// STARTUP_STATE: starts with the server.
    pub startup_state: bool,
}

impl Default for EventSessionOptions {
    fn default() -> Self {
        Self {
            max_memory_kb: 4096,
            retention: Retention::SingleEventLoss,
            max_dispatch_latency_ms: 30_000,
            max_event_size_kb: 0,
            partition: PartitionMode::None,
            track_causality: false,
            startup_state: false,
        }
    }
}

impl EventSessionOptions {
    fn spec(&self) -> SessionOptions {
        let latency = u64::from(self.max_dispatch_latency_ms);
        SessionOptions {
            max_memory: u64::from(self.max_memory_kb) << 10,
            retention: self.retention,
            max_dispatch_latency: (latency > 0).then(|| Duration::from_millis(latency)),
            max_event_size: u64::from(self.max_event_size_kb) << 10,
            partition_mode: self.partition,
            track_causality: self.track_causality,
        }
    }
}

/// A value of an option: its keyword in statements and views, and its letter in views.
pub struct Choice<T>(pub T, pub &'static str, pub &'static str);

/// The choices of EVENT_RETENTION_MODE.
pub static RETENTIONS: [Choice<Retention>; 3] = [
    Choice(Retention::SingleEventLoss, "ALLOW_SINGLE_EVENT_LOSS", "S"),
    Choice(Retention::MultipleEventLoss, "ALLOW_MULTIPLE_EVENT_LOSS", "M"),
    Choice(Retention::NoEventLoss, "NO_EVENT_LOSS", "N"),
];

/// The choices of MEMORY_PARTITION_MODE.
pub static PARTITIONS: [Choice<PartitionMode>; 3] = [
    Choice(PartitionMode::None, "NONE", "N"),
    Choice(PartitionMode::PerNode, "PER_NODE", "D"),
    Choice(PartitionMode::PerCpu, "PER_CPU", "C"),
];

impl<T: PartialEq + Copy> Choice<T> {
    /// Returns the keyword and the letter of a value.
    pub fn of(choices: &[Self], value: T) -> (&'static str, &'static str) {
        let found = choices.iter().find(|choice| choice.0 == value);
        found.map_or(("", ""), |choice| (choice.1, choice.2))
    }

    /// Returns the value with this keyword.
    pub fn named(choices: &[Self], word: &str) -> Option<T> {
        choices.iter().find(|choice| choice.1.eq_ignore_ascii_case(word)).map(|choice| choice.0)
    }
}

/// An event of a session.
#[derive(Clone, Debug)]
pub struct EventDef {
    /// `event_id`, unique in the session.
    pub id: i32,
    /// Fields, actions and predicate, with all names resolved.
    pub spec: EventSpec,
    /// WHERE clause as the views show it; empty without one.
    pub predicate: String,
}

/// A target of a session.
#[derive(Clone, Debug)]
pub struct EventTargetDef {
    /// `target_id`, unique in the session.
    pub id: i32,
    /// The target and its parameters.
    pub spec: TargetSpec,
}

impl EventSessionDef {
    /// Allocates the next `event_id` or `target_id`.
    pub fn next_id(&mut self) -> i32 {
        self.next_object += 1;
        self.next_object
    }

    /// Returns what `sos::xe` needs to start the session.
    pub fn spec(&self) -> SessionSpec {
        SessionSpec {
            name: self.name.clone(),
            events: self.events.iter().map(|event| event.spec.clone()).collect(),
            targets: self.targets.iter().map(|target| target.spec.clone()).collect(),
            options: self.options.spec(),
        }
    }
}

impl super::Catalog {
    /// Returns the `event_session_id` of the next session.
    pub fn next_event_session_id(&self) -> i32 {
        let highest = self.event_sessions.values().map(|session| session.id).max();
        highest.map_or(SESSION_ID_FIRST, |id| (id + 1).max(SESSION_ID_FIRST))
    }
}
