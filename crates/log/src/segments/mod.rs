//! Segments: the files of a log. `SegmentWriter` appends groups of batches, `LogReader` reads them
//! back, cuts a torn tail and refuses corruption.

mod error;
mod names;
mod reader;
mod search;
mod writer;

pub use error::LogError;
pub use reader::{End, LogReader, Mode, Skipped, Tail};
pub use writer::{LogOptions, SegmentWriter};
