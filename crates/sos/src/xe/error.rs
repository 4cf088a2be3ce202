//! `XeError`: why a session cannot start; the layer above makes SQL Server's messages of it.

use std::fmt;

/// Why a session cannot start, or what is wrong with its specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum XeError {
    /// There is a session of this name already.
    AlreadyStarted(String),
    /// There is none of this name.
    NotStarted(String),
    /// The session has no event.
    NoEvent,
    /// The event is there twice.
    DuplicateEvent(&'static str),
    /// The target is there twice.
    DuplicateTarget(&'static str),
    /// Events that are fired where nobody may wait cannot be in a session with NO_EVENT_LOSS.
    CannotBlock {
        /// The event.
        event: &'static str,
    },
    /// A leaf of a predicate compares what cannot be compared so.
    PredicateType {
        /// The event.
        event: &'static str,
        /// The field or source.
        input: &'static str,
        /// The comparator.
        comparator: &'static str,
    },
    /// The value of a leaf is none of the type, or not in the map.
    PredicateValue {
        /// The event.
        event: &'static str,
        /// The field or source.
        input: &'static str,
        /// The value.
        value: String,
    },
    /// A predicate has more leaves than there may be.
    PredicateTooLong {
        /// The event.
        event: &'static str,
        /// Leaves at most.
        leaves_max: usize,
    },
    /// The target has no such parameter.
    UnknownParameter {
        /// The target.
        target: &'static str,
        /// The parameter.
        parameter: String,
    },
    /// A parameter that must be given is not.
    MissingParameter {
        /// The target.
        target: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// A parameter's value is not one that it can have.
    ParameterValue {
        /// The target.
        target: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The value.
        value: String,
    },
    /// A target's tables do not fit into MAX_MEMORY.
    TargetMemory {
        /// The target.
        target: &'static str,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that there are.
        max_memory: u64,
    },
    /// MAX_MEMORY is less than a session can work with.
    MemoryTooSmall {
        /// Bytes it needs at least.
        needed: u64,
    },
    /// The memory limit of the process.
    OutOfMemory,
    /// The operating system refuses another thread.
    NoThread(String),
    /// A file could not be opened or read.
    File {
        /// Which.
        path: String,
        /// What the operating system says.
        reason: String,
    },
    /// A file is not one of ours, or damaged.
    FileFormat {
        /// Which.
        path: String,
        /// Bytes from its start.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
}

impl fmt::Display for XeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyStarted(name) => write!(f, "event session '{name}' is running already"),
            Self::NotStarted(name) => write!(f, "event session '{name}' is not running"),
            Self::NoEvent => f.write_str("the session has no event"),
            Self::DuplicateEvent(name) => write!(f, "event '{name}' is there twice"),
            Self::DuplicateTarget(name) => write!(f, "target '{name}' is there twice"),
            Self::CannotBlock { event } => {
                write!(
                    f,
                    "event '{event}' occurs where a thread must not wait: not with NO_EVENT_LOSS"
                )
            }
            Self::PredicateType { event, input, comparator } => {
                write!(f, "event '{event}': '{input}' cannot be compared by '{comparator}'")
            }
            Self::PredicateValue { event, input, value } => {
                write!(f, "event '{event}': '{input}' is never '{value}'")
            }
            Self::PredicateTooLong { event, leaves_max } => {
                write!(f, "event '{event}': a predicate has at most {leaves_max} comparisons")
            }
            Self::UnknownParameter { target, parameter } => {
                write!(f, "target '{target}' has no parameter '{parameter}'")
            }
            Self::MissingParameter { target, parameter } => {
                write!(f, "target '{target}' needs its parameter '{parameter}'")
            }
            Self::ParameterValue { target, parameter, value } => {
                write!(f, "target '{target}': '{parameter}' cannot be '{value}'")
            }
            Self::TargetMemory { target, needed, max_memory } => {
                write!(f, "target '{target}' needs {needed} bytes, and MAX_MEMORY is {max_memory}")
            }
            Self::MemoryTooSmall { needed } => {
                write!(f, "MAX_MEMORY must be {needed} bytes at least")
            }
            Self::OutOfMemory => f.write_str("the memory limit is reached"),
            Self::NoThread(reason) => write!(f, "no thread for the dispatcher: {reason}"),
            Self::File { path, reason } => write!(f, "{path}: {reason}"),
            Self::FileFormat { path, offset, reason } => {
                write!(f, "{path}, byte {offset}: {reason}")
            }
        }
    }
}

impl std::error::Error for XeError {}
