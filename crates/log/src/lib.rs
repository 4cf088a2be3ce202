//! The log: committed changes to durable bytes and back. docs/log-format.md is the format.
//!
//! This crate knows rows, tables and transactions by id and image. It does not know SQL, names,
//! sockets or the row store.
//!
//! | looking for                                        | start here             |
//! |----------------------------------------------------|------------------------|
//! | one change or definition as bytes                  | `record`               |
//! | a batch: header, checksums, payload                | `batch`                |
//! | the first block of a segment, versions             | `segment_header`       |
//! | files: appending groups, rolling over              | `segments/writer.rs`   |
//! | files: new ones, spares, retiring                  | `segments/folder.rs`   |
//! | the thread that prepares and retires files         | `segments/keeper.rs`   |
//! | files: reading, torn tails, corruption, salvage    | `segments/reader.rs`   |
//! | groups for recovery, from a position to a time     | `segments/replay.rs`   |
//! | fdatasync or O_DSYNC                               | `segments/probe.rs`    |
//! | what is wrong with bytes, and where                | `error`                |
//! | commits to groups: buffers, limit, epochs          | `commit/buffers.rs`    |
//! | the thread that writes groups                      | `commit/log_thread.rs` |
//! | numbers for views                                  | `commit/stats.rs`      |
//! | range files, definitions, manifest                 | `checkpoint`           |
//! | power losses and planted bugs                      | `crash_tests.rs`       |
//!
//! Not here yet: merging many small range files that have few dead bytes.
#![forbid(unsafe_code)]
#![cfg_attr(any(loom, shuttle), allow(dead_code, reason = "models leave the files out"))]

mod batch;
mod bytes;
#[cfg(not(any(loom, shuttle)))]
pub mod checkpoint;
mod commit;
#[cfg(all(test, not(any(loom, shuttle))))]
mod crash_tests;
mod desk;
mod error;
mod hurry;
#[cfg(all(test, loom))]
mod models;
mod mutant;
mod record;
mod segment_header;
#[cfg(not(any(loom, shuttle)))]
mod segments;
mod space;

pub use batch::{
    BATCH_HEADER_BYTES, Batch, BatchBuffer, BatchHeader, PAYLOAD_BYTES_MAX, decode_batch_header,
};
pub use commit::{
    BUFFER_BYTES_MAX, Commit, CommitBuffers, Committer, Durability, HISTOGRAM_CLASSES, Histogram,
    LogState, LogStats, Refusal, Wake,
};
#[cfg(not(any(loom, shuttle)))]
pub use commit::{Flush, LogThread};
pub use error::{FormatError, Problem};
pub use record::{
    Change, ColumnWriter, Columns, ColumnsOnce, EncodedColumns, Head, Heads, Nesting, Paused,
    Record, Records, Row, Transaction,
};
pub use segment_header::{FORMAT_VERSION, SEGMENT_HEADER_BYTES, SegmentHeader};
#[cfg(not(any(loom, shuttle)))]
pub use segments::{
    End, Group, Keeper, LogError, LogFolder, LogOptions, LogReader, Mode, OwnedBatch, Replay,
    ReplayFrom, SegmentWriter, Skipped, SyncProbe, Tail, probe_sync,
};

/// Segments are written in blocks of this size. Each batch starts at a new block, so a torn
/// write damages no batch that was synced before.
pub const BLOCK_BYTES: usize = 4096;

/// The identity of a database: random bytes made with its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseId(pub [u8; 16]);

/// A number that the log thread raises once per flush. Commits become durable by epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(pub u64);
