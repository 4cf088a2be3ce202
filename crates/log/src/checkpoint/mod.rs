//! Checkpoints: the rows and definitions of a database as files, so that recovery reads those and the
//! end of the log. docs/checkpoint-format.md is the format.
//!
//! | looking for                                         | start here    |
//! |-----------------------------------------------------|---------------|
//! | opening the folder, writing, publishing, rewriting  | `store.rs`    |
//! | reading ranges and definitions back                 | `reader.rs`   |
//! | which files and ranges a checkpoint has             | `manifest.rs` |
//! | writing one file: blocks, index, trailer            | `file.rs`     |
//! | headers, blocks and entries as bytes                | `format.rs`   |

mod file;
mod format;
mod manifest;
mod reader;
mod store;
#[cfg(test)]
mod tests;

pub use crate::error::CHECKPOINT_VERSION;
pub use manifest::{FileEntry, Manifest, RangePlace};
pub use reader::{CheckpointReader, Definitions, RangeRows};
pub use store::{CheckpointOptions, CheckpointWriter, Checkpoints, RangeWriter, look};

/// Which rows a range has: those of one part of a table in one interval of row ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RangeKey {
    /// Id of the table.
    pub table: u32,
    /// 0 for the rows of the table itself, 1 and more for its internal tables.
    pub part: u8,
    /// Number of the interval.
    pub range: u64,
}
