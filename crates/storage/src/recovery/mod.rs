//! Checkpoints and recovery: reading a table range by range while others write, and putting its
//! rows back at their row ids.
//!
//! A checkpoint is fuzzy: each row is written as it is when the scan passes. Replay of the log from
//! the start of the scan makes it exact. This folder does not know files or the log's format.
//!
//! Start with `checkpoint.rs`; `restore.rs` is the other direction.

mod checkpoint;
mod restore;

pub use checkpoint::RowRange;
pub use restore::{Restore, Source};
