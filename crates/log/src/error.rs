//! What is wrong with bytes of a log, and at which offset.

use std::fmt;

/// The newest checkpoint format that this crate reads, and the one that it writes.
pub const CHECKPOINT_VERSION: u32 = 1;

/// Bytes that are not what the format asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError {
    /// Offset of the first wrong byte, from the start of the bytes that were passed in.
    pub offset: usize,
    /// What is wrong there.
    pub problem: Problem,
}

impl FormatError {
    pub(crate) const fn new(offset: usize, problem: Problem) -> Self {
        Self { offset, problem }
    }
}

/// The ways in which bytes can be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The bytes end in the middle of a header, a payload, a record or a number.
    Cut,
    /// A header does not begin with its magic number: nothing was written here.
    Magic,
    /// The CRC in a header is not that of the header.
    HeaderChecksum,
    /// The CRC in a batch header is not that of the payload.
    PayloadChecksum,
    /// A field or a filler that must be zero is not.
    NotZero,
    /// The segment has a format version that this reader does not know.
    Version(u32),
    /// A header with a valid CRC has a field outside its range.
    Field(&'static str),
    /// A varint is longer than its value needs, or more than 64 bits.
    Varint,
    /// The format does not have this kind of record.
    RecordKind(u8),
    /// The body of a record is longer than its contents.
    RecordLength,
    /// Column ordinals of one record do not rise, or pass 32 bits.
    Ordinals,
    /// A change without a begin record before it, or a begin record inside a transaction.
    Nesting,
    /// An end record has a number that is not that of the changes before it.
    ChangeCount,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut => f.write_str("the bytes end too early"),
            Self::Magic => f.write_str("there is no header"),
            Self::HeaderChecksum => f.write_str("the checksum of the header is wrong"),
            Self::PayloadChecksum => f.write_str("the checksum of the payload is wrong"),
            Self::NotZero => f.write_str("bytes that must be zero are not"),
            Self::Version(version) => write!(
                f,
                "it has log format version {version}; this version of Clearway reads up to {}",
                crate::FORMAT_VERSION
            ),
            Self::Field(name) => write!(f, "the header has an impossible {name}"),
            Self::Varint => f.write_str("a variable-length number is malformed"),
            Self::RecordKind(kind) => write!(f, "there is no record of kind {kind}"),
            Self::RecordLength => f.write_str("a record is longer than its contents"),
            Self::Ordinals => f.write_str("the ordinals of columns do not rise"),
            Self::Nesting => f.write_str("a record is outside of its transaction"),
            Self::ChangeCount => f.write_str("a transaction has another number of changes"),
        }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at offset {}: {}", self.offset, self.problem)
    }
}

impl std::error::Error for FormatError {}
