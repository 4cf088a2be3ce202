//! Targets: where a session's events go.
//!
//! A histogram and a counter are kept by the threads that fire, in a shard per partition; the
//! others get whole records from the dispatcher.

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

/// The parameters of a target, checked against what it has.
#[derive(Debug)]
pub(super) struct Parameters<'a> {
    spec: &'a TargetSpec,
}

impl<'a> Parameters<'a> {
    /// Checks that all are known, and those there that must be.
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

    /// What was SET.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        let mut all = self.spec.parameters.iter();
        all.find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, text)| text.as_str())
    }

    /// The same as a number.
    pub(super) fn number(&self, name: &'static str) -> Result<Option<u64>, XeError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        text.trim().parse().map(Some).map_err(|_| self.refuse(name))
    }

    /// The same as a boolean; false if it was not SET.
    pub(super) fn boolean(&self, name: &'static str) -> Result<bool, XeError> {
        match self.text(name).map(str::trim) {
            None | Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
            Some(_) => Err(self.refuse(name)),
        }
    }

    /// The error that a parameter cannot have its value.
    pub(super) fn refuse(&self, name: &'static str) -> XeError {
        let value = self.text(name).unwrap_or_default().to_owned();
        XeError::ParameterValue { target: self.spec.target.name, parameter: name, value }
    }
}

/// A target that gets whole records from the dispatcher.
#[derive(Debug)]
pub(super) enum RecordTarget {
    /// Keeps the newest.
    Ring(ring::Ring),
    /// Writes a file.
    File(file::EventFile),
    /// Matches pairs.
    Pairs(pair::Pairs),
}

impl RecordTarget {
    /// Takes a record that was fired at this time.
    pub(super) fn receive(&mut self, shape: &Arc<Shape>, record: Record<'_>, time_100ns: u64) {
        match self {
            Self::Ring(ring) => ring.receive(shape, record, time_100ns),
            Self::File(file) => file.receive(shape, record, time_100ns),
            Self::Pairs(pairs) => pairs.receive(shape, record, time_100ns),
        }
    }

    /// Counts records that came and went before the batch that follows.
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

    /// What it holds.
    pub(super) fn data(&self) -> TargetData {
        match self {
            Self::Ring(ring) => TargetData::Ring(ring.data()),
            Self::File(file) => TargetData::File(file.data()),
            Self::Pairs(pairs) => TargetData::Pairs(pairs.data()),
        }
    }
}
