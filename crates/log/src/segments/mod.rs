//! Segments: the files of a log. `SegmentWriter` appends groups of batches, `Keeper` prepares
//! and retires files, `LogReader` reads groups back, cuts a torn tail and refuses corruption.

mod error;
mod folder;
mod keeper;
mod names;
mod probe;
mod reader;
mod replay;
mod search;
mod writer;

pub use error::LogError;
pub use folder::LogFolder;
pub use keeper::Keeper;
pub use probe::{SyncProbe, probe_sync};
pub use reader::{End, LogReader, Mode, Skipped, Tail};
pub use replay::{Group, OwnedBatch, Replay, ReplayFrom};
pub use writer::{LogOptions, SegmentWriter};
