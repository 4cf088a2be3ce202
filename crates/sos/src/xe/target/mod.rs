//! Targets: where a session's events go.
//!
//! The threads that fire update histograms and counters, in a shard per partition; the other
//! targets get whole records from the dispatcher.

pub(super) mod file;
pub(super) mod format;
pub(super) mod histogram;
pub(super) mod pair;
pub(super) mod ring;

use super::error::XeError;
use super::package::{PACKAGE0, Package};
use super::record::Record;
use super::report::TargetData;
use super::shape::Shape;
use super::spec::TargetSpec;
use crate::sync::Arc;

/// The kind of a target, independent of its several names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// Counts events by the value of a field or action.
    Histogram,
    /// Counts the occurrences of each event.
    Counter,
    /// Keeps the newest events in memory.
    Ring,
    /// Writes events to files.
    File,
    /// Finds begin events without an end event.
    Pair,
}

/// The type of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterType {
    /// An unsigned integer of 64 bits.
    UInt64,
    /// The number 0 or 1.
    Boolean,
    /// Text, written in quotes.
    Text,
}

/// A parameter that SET gives a target.
#[derive(Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name in statements and views.
    pub name: &'static str,
    /// The type of its value.
    pub parameter_type: ParameterType,
    /// Whether it must be given.
    pub is_mandatory: bool,
    /// The value if it is not given; `None` if that depends on the session.
    pub default: Option<&'static str>,
    /// A description for `sys.dm_xe_objects` and its columns.
    pub description: &'static str,
}

/// A target under one of its names.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// The package that it belongs to.
    pub package: &'static Package,
    /// The name in statements and views.
    pub name: &'static str,
    /// A description for `sys.dm_xe_objects` and its columns.
    pub description: &'static str,
    /// The kind of target that the name means.
    pub kind: TargetKind,
    /// The parameters that it accepts.
    pub parameters: &'static [Parameter],
}

impl Target {
    /// The parameter with this name, if it has one.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name.eq_ignore_ascii_case(name))
    }

    /// Whether the threads that fire do its work.
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
    optional(
        "slots",
        UInt64,
        Some("256"),
        "Maximum number of groups, rounded up to a power of two",
    ),
    optional("filtering_event_name", Text, None, "The event whose field is the source"),
    optional("source_type", UInt64, Some("1"), "0: the source is a field; 1: it is an action"),
    mandatory("source", Text, "The field or the action by which events are grouped"),
    optional("weight", Text, None, "A numeric field to add up besides the number of events"),
];

static FILE: &[Parameter] = &[
    mandatory("filename", Text, "Path and name of the file"),
    optional(
        "max_file_size",
        UInt64,
        Some("1024"),
        "Size of a file in MB, after which the next one begins",
    ),
    optional("max_rollover_files", UInt64, Some("5"), "Number of files to keep; 0 keeps all"),
    optional("increment", UInt64, None, "Accepted for old scripts: files grow as they are written"),
    optional("metadatafile", Text, None, "Accepted for old scripts: a file describes itself"),
];

static RING: &[Parameter] = &[
    optional("max_memory", UInt64, None, "Maximum memory in KB"),
    optional("max_events_limit", UInt64, Some("1000"), "Maximum number of events to keep"),
    optional("occurrence_number", UInt64, Some("0"), "Number of events of each kind to prefer"),
];

static PAIR: &[Parameter] = &[
    mandatory("begin_event", Text, "The event that begins a pair"),
    mandatory("end_event", Text, "The event that ends a pair"),
    optional("begin_matching_columns", Text, None, "Fields of the begin event to match, in order"),
    optional("end_matching_columns", Text, None, "Fields of the end event to match, in order"),
    optional("begin_matching_actions", Text, None, "Actions of the begin event to match, in order"),
    optional("end_matching_actions", Text, None, "Actions of the end event to match, in order"),
    optional(
        "respond_to_memory_pressure",
        Boolean,
        Some("0"),
        "1: begin events are dropped when memory is short",
    ),
    optional("max_orphans", UInt64, Some("10000"), "Maximum number of begin events to keep"),
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
const PAIR_TEXT: &str = "Use the pair_matching target to find begin events without an end event";
const FILE_TEXT: &str = "Use the event_file target to save events to files";

/// All targets, under their present and their former names.
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
    /// The target with a name, ignoring case.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name.eq_ignore_ascii_case(name))
    }
}

/// The given parameters of a target, checked against those that it accepts.
#[derive(Debug)]
pub(super) struct Parameters<'a> {
    spec: &'a TargetSpec,
}

impl<'a> Parameters<'a> {
    /// Checks that all are known and that no mandatory one is missing.
    pub(super) fn of(spec: &'a TargetSpec) -> Result<Self, XeError> {
        let target = spec.target;
        if let Some((name, _)) = spec.parameters.iter().find(|(n, _)| target.parameter(n).is_none())
        {
            return Err(XeError::UnknownParameter { target: target.name, parameter: name.clone() });
        }
        let parameters = Self { spec };
        for parameter in target.parameters {
            let text = parameters.text(parameter.name);
            if parameter.is_mandatory && text.is_none_or(str::is_empty) {
                return Err(XeError::MissingParameter {
                    target: target.name,
                    parameter: parameter.name,
                });
            }
            match parameter.parameter_type {
                ParameterType::UInt64 => parameters.number(parameter.name).map(drop)?,
                ParameterType::Boolean => parameters.boolean(parameter.name).map(drop)?,
                ParameterType::Text => {}
            }
        }
        Ok(parameters)
    }

    /// The text that was given; `None` if the parameter was not.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        let mut all = self.spec.parameters.iter();
        all.find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, text)| text.as_str())
    }

    /// The given value as a number.
    pub(super) fn number(&self, name: &'static str) -> Result<Option<u64>, XeError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        text.trim().parse().map(Some).map_err(|_| self.refuse(name))
    }

    /// The given value as a boolean; false if it was not given.
    pub(super) fn boolean(&self, name: &'static str) -> Result<bool, XeError> {
        match self.text(name).map(str::trim) {
            None | Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
            Some(_) => Err(self.refuse(name)),
        }
    }

    /// The error for an invalid value of a parameter.
    pub(super) fn refuse(&self, name: &'static str) -> XeError {
        let value = self.text(name).unwrap_or_default().to_owned();
        XeError::ParameterValue { target: self.spec.target.name, parameter: name, value }
    }
}

/// A target that gets whole records from the dispatcher.
#[derive(Debug)]
pub(super) enum RecordTarget {
    /// Keeps the newest events in memory.
    Ring(ring::Ring),
    /// Writes events to files.
    File(file::EventFile),
    /// Matches begin events with end events.
    Pairs(pair::Pairs),
}

impl RecordTarget {
    /// Gives the target a record with the time at which it was fired.
    pub(super) fn receive(&mut self, shape: &Arc<Shape>, record: Record<'_>, time_100ns: u64) {
        match self {
            Self::Ring(ring) => ring.receive(shape, record, time_100ns),
            Self::File(file) => file.receive(shape, record, time_100ns),
            Self::Pairs(pairs) => pairs.receive(shape, record, time_100ns),
        }
    }

    /// Counts records that were overwritten before the batch that follows.
    pub(super) fn pass_over(&mut self, records: u64) {
        match self {
            Self::Ring(ring) => ring.pass_over(records),
            Self::File(_) | Self::Pairs(_) => debug_assert!(records == 0, "these get all"),
        }
    }

    /// Ends a batch of records.
    pub(super) fn finish(&mut self) {
        match self {
            Self::Ring(_) => {}
            Self::File(file) => file.finish(),
            Self::Pairs(pairs) => pairs.finish(),
        }
    }

    /// The target's contents for readers.
    pub(super) fn data(&self) -> TargetData {
        match self {
            Self::Ring(ring) => TargetData::Ring(ring.data()),
            Self::File(file) => TargetData::File(file.data()),
            Self::Pairs(pairs) => TargetData::Pairs(pairs.data()),
        }
    }
}
