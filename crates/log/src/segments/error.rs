//! Why a log could not be read or written.

use std::{fmt, io};

use sos::sys::{is_disk_full, is_out_of_descriptors};

use crate::error::Problem;

/// Why a log could not be read or written.
#[derive(Debug)]
pub enum LogError {
    /// A call of the disk failed. After a write or a sync that failed, a log cannot be written any
    /// more.
    Io {
        /// The file or folder.
        path: String,
        /// The error that the disk reports.
        error: io::Error,
    },
    /// There is no room, or no file descriptor, and nothing was written: the same call may be made
    /// again later.
    Full {
        /// The file that could not be allocated.
        path: String,
        /// The error that the disk reports.
        error: io::Error,
    },
    /// An earlier write or sync failed. What it should have made durable may be lost.
    Suspect,
    /// Bytes that were durable once are not what was written.
    Corrupt {
        /// Number of the segment.
        segment: u64,
        /// Offset in the segment.
        offset: u64,
        /// What is wrong there.
        problem: Problem,
    },
    /// The segment has a newer format.
    Version {
        /// Number of the segment.
        segment: u64,
        /// The format version in its header.
        version: u32,
    },
    /// Bytes of a file of a checkpoint are not what was written.
    CorruptFile {
        /// Path of the file.
        path: String,
        /// Offset in the file.
        offset: u64,
        /// What is wrong there.
        problem: Problem,
    },
    /// A file of a checkpoint has a newer format.
    FileVersion {
        /// Path of the file.
        path: String,
        /// The format version in its header.
        version: u32,
    },
    /// A file that the manifest of a checkpoint names is not there.
    MissingFile(String),
    /// A file of a checkpoint is of another database.
    ForeignFile(String),
    /// A segment between two others is not there.
    MissingSegment(u64),
    /// The segment is of another database.
    Foreign(u64),
    /// A folder without segments was to be read from a position, or the position's segment is gone.
    NoSegment,
}

impl LogError {
    /// Makes the error of a file from that of the system.
    pub fn io(path: &str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { path: path.to_owned(), error }
    }

    /// Makes the error of a file in which nothing was written yet: it may be for lack of room.
    pub fn room(path: &str) -> impl FnOnce(io::Error) -> Self {
        move |error| {
            let path = path.to_owned();
            if is_disk_full(&error) { Self::Full { path, error } } else { Self::Io { path, error } }
        }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, error } => write!(f, "{path}: {error}"),
            Self::Full { path, error } if is_out_of_descriptors(error) => {
                write!(f, "{path}: {error}")
            }
            Self::Full { path, .. } => write!(f, "{path}: the disk is full"),
            Self::Suspect => f.write_str("an earlier write of the log failed"),
            Self::Corrupt { segment, offset, problem } => {
                write!(f, "log segment {segment} is damaged at offset {offset}: {problem}")
            }
            Self::Version { segment, version } => {
                write!(f, "log segment {segment}: {}", Problem::Version(*version))
            }
            Self::CorruptFile { path, offset, problem } => {
                write!(f, "{path} is damaged at offset {offset}: {problem}")
            }
            Self::FileVersion { path, version } => write!(
                f,
                "{path}: it has checkpoint format version {version}; this version of Clearway reads \
                 up to {}",
                crate::error::CHECKPOINT_VERSION
            ),
            Self::MissingFile(path) => write!(f, "{path} is missing"),
            Self::ForeignFile(path) => write!(f, "{path} belongs to another database"),
            Self::MissingSegment(segment) => write!(f, "log segment {segment} is missing"),
            Self::Foreign(segment) => {
                write!(f, "log segment {segment} belongs to another database")
            }
            Self::NoSegment => f.write_str("the log has no segment to read from"),
        }
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}
