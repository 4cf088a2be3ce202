//! `XeError`: why a session cannot start; the server turns it into SQL Server's messages.

use std::fmt;

/// Why a session cannot start, or what is wrong with its specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum XeError {
    /// A session with this name is running already.
    AlreadyStarted(String),
    /// No session with this name is running.
    NotStarted(String),
    /// The session has no event.
    NoEvent,
    /// The session has this event twice.
    DuplicateEvent(&'static str),
    /// The session has this target twice.
    DuplicateTarget(&'static str),
    /// An event whose thread must not wait cannot be in a session with NO_EVENT_LOSS.
    CannotBlock {
        /// The name of the event.
        event: &'static str,
    },
    /// A leaf of a predicate has a comparator that does not fit the type of its value.
    PredicateType {
        /// The name of the event.
        event: &'static str,
        /// The name of the field or source.
        input: &'static str,
        /// The name of the comparator.
        comparator: &'static str,
    },
    /// The operand of a leaf does not fit the type, or is not in the map.
    PredicateValue {
        /// The name of the event.
        event: &'static str,
        /// The name of the field or source.
        input: &'static str,
        /// The value as text.
        value: String,
    },
    /// A predicate has too many leaves.
    PredicateTooLong {
        /// The name of the event.
        event: &'static str,
        /// The greatest number of leaves.
        leaves_max: usize,
    },
    /// The target has no such parameter.
    UnknownParameter {
        /// The name of the target.
        target: &'static str,
        /// The name of the parameter.
        parameter: String,
    },
    /// A mandatory parameter is missing.
    MissingParameter {
        /// The name of the target.
        target: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
    },
    /// A parameter's value is invalid.
    ParameterValue {
        /// The name of the target.
        target: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
        /// The value as text.
        value: String,
    },
    /// A target's tables do not fit into MAX_MEMORY.
    TargetMemory {
        /// The name of the target.
        target: &'static str,
        /// The bytes that the target needs.
        needed: u64,
        /// The bytes that MAX_MEMORY allows.
        max_memory: u64,
    },
    /// MAX_MEMORY is less than a session needs.
    MemoryTooSmall {
        /// The least bytes that it needs.
        needed: u64,
    },
    /// The memory limit of the process is reached.
    OutOfMemory,
    /// The operating system refuses another thread.
    NoThread(String),
    /// A file could not be opened or read.
    File {
        /// The path of the file.
        path: String,
        /// The operating system's error.
        reason: String,
    },
    /// A file is no event file, or damaged.
    FileFormat {
        /// The path of the file.
        path: String,
        /// The offset of the damage in bytes.
        offset: u64,
        /// What is wrong there.
        reason: &'static str,
    },
}

impl fmt::Display for XeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyStarted(name) => write!(f, "event session '{name}' is running already"),
            Self::NotStarted(name) => write!(f, "event session '{name}' is not running"),
            Self::NoEvent => f.write_str("the session has no event"),
            Self::DuplicateEvent(name) => write!(f, "event '{name}' is specified twice"),
            Self::DuplicateTarget(name) => write!(f, "target '{name}' is specified twice"),
            Self::CannotBlock { event } => {
                write!(f, "event '{event}' must not wait, so it cannot have NO_EVENT_LOSS")
            }
            Self::PredicateType { event, input, comparator } => {
                write!(f, "event '{event}': '{input}' cannot be compared by '{comparator}'")
            }
            Self::PredicateValue { event, input, value } => {
                write!(f, "event '{event}': '{value}' is no value of '{input}'")
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
                write!(f, "target '{target}': '{value}' is no value of '{parameter}'")
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
