//! Targets: where a session's events go.
//!
//! A histogram and a counter are kept by the threads that fire, in a shard per partition; the others
//! get whole records from the dispatcher.

use super::package::{PACKAGE0, Package};

/// What a target does, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// Counts by a value.
    Histogram,
    /// Counts by event.
    Counter,
    /// Keeps the newest.
    Ring,
    /// Writes a file.
    File,
    /// Looks for begins without an end.
    Pair,
}

/// The type of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterType {
    /// A number.
    UInt64,
    /// 0 or 1.
    Boolean,
    /// Text.
    Text,
}

/// A parameter of a target.
#[derive(Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The type of its value.
    pub parameter_type: ParameterType,
    /// Whether it must be given.
    pub is_mandatory: bool,
    /// Its value when it is not; none if that depends.
    pub default: Option<&'static str>,
    /// What it does.
    pub description: &'static str,
}

/// A target, by one of its names.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// The package it belongs to.
    pub package: &'static Package,
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// The same, to be told by a program.
    pub kind: TargetKind,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}

impl Target {
    /// The position of a parameter.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name.eq_ignore_ascii_case(name))
    }

    /// Whether its work is done by the threads that fire.
    #[must_use]
    pub const fn is_synchronous(&self) -> bool {
        matches!(self.kind, TargetKind::Histogram | TargetKind::Counter)
    }
}

const fn optional(
    name: &'static str,
    parameter_type: ParameterType,
    default: Option<&'static str>,
    description: &'static str,
) -> Parameter {
    Parameter { name, parameter_type, is_mandatory: false, default, description }
}

const fn mandatory(
    name: &'static str,
    parameter_type: ParameterType,
    description: &'static str,
) -> Parameter {
    Parameter { name, parameter_type, is_mandatory: true, default: None, description }
}

use ParameterType::{Boolean, Text, UInt64};

static HISTOGRAM: &[Parameter] = &[
    optional("slots", UInt64, Some("256"), "Groups at most; rounded up to a power of two"),
    optional("filtering_event_name", Text, None, "The event whose field is the source"),
    optional("source_type", UInt64, Some("1"), "0: the source is a field; 1: it is an action"),
    mandatory("source", Text, "The field or the action by which events are grouped"),
    optional(
        "weight",
        Text,
        None,
        "A numeric field whose sum is kept besides the number of events",
    ),
];

static FILE: &[Parameter] = &[
    mandatory("filename", Text, "Path and name of the file"),
    optional("max_file_size", UInt64, Some("1024"), "MB after which the next file is begun"),
    optional("max_rollover_files", UInt64, Some("5"), "Files kept; 0 keeps all"),
    optional("increment", UInt64, None, "Accepted for old scripts: files grow as they are written"),
    optional("metadatafile", Text, None, "Accepted for old scripts: a file describes itself"),
];

static RING: &[Parameter] = &[
    optional("max_memory", UInt64, None, "KB that it uses at most"),
    optional("max_events_limit", UInt64, Some("1000"), "Events that it keeps at most"),
    optional("occurrence_number", UInt64, Some("0"), "Events of each kind that are kept first"),
];

static PAIR: &[Parameter] = &[
    mandatory("begin_event", Text, "The event that begins a pair"),
    mandatory("end_event", Text, "The event that ends it"),
    optional("begin_matching_columns", Text, None, "Fields of the first that must be equal to"),
    optional("end_matching_columns", Text, None, "these fields of the second"),
    optional("begin_matching_actions", Text, None, "Actions of the first that must be equal to"),
    optional("end_matching_actions", Text, None, "these actions of the second"),
    optional(
        "respond_to_memory_pressure",
        Boolean,
        Some("0"),
        "1: orphans go when memory is short",
    ),
    optional("max_orphans", UInt64, Some("10000"), "Orphans kept at most"),
];

const fn target(
    name: &'static str,
    kind: TargetKind,
    parameters: &'static [Parameter],
    description: &'static str,
) -> Target {
    Target { package: &PACKAGE0, name, description, kind, parameters }
}

const HISTOGRAM_TEXT: &str = "Use the histogram target to group events by a field or an action";
const COUNTER_TEXT: &str = "Use the event_counter target to count the occurrences of each event";
const PAIR_TEXT: &str = "Use the pair_matching target to find begins without their ends";
const FILE_TEXT: &str = "Use the event_file target to save events to files";

/// All targets, under their present and their old names.
pub static TARGETS: &[Target] = &[
    target("histogram", TargetKind::Histogram, HISTOGRAM, HISTOGRAM_TEXT),
    target("asynchronous_bucketizer", TargetKind::Histogram, HISTOGRAM, HISTOGRAM_TEXT),
    target("synchronous_bucketizer", TargetKind::Histogram, HISTOGRAM, HISTOGRAM_TEXT),
    target("event_counter", TargetKind::Counter, &[], COUNTER_TEXT),
    target("synchronous_event_counter", TargetKind::Counter, &[], COUNTER_TEXT),
    target(
        "ring_buffer",
        TargetKind::Ring,
        RING,
        "Use the ring_buffer target to keep the newest events in memory",
    ),
    target("event_file", TargetKind::File, FILE, FILE_TEXT),
    target("asynchronous_file_target", TargetKind::File, FILE, FILE_TEXT),
    target("pair_matching", TargetKind::Pair, PAIR, PAIR_TEXT),
];

impl Target {
    /// The target of a name, in whatever case.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name.eq_ignore_ascii_case(name))
    }
}
