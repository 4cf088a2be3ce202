//! What makes an instance durable: its rows and definitions in a log and in checkpoints, and how a
//! start brings them back.
//!
//! ```text
//! storage::CommitLog ─┐
//! catalog listener   ─┼─► commit_log ─► log::CommitBuffers ─► log thread ─► segments
//! catalog counters   ─┘                                          └─► Machine::release ─► replies
//!
//! recovery:  segments ─► definitions ─► tables;  segments again ─► rows at their places ─► indexes
//! ```
//!
//! | looking for                                         | start here       |
//! |-----------------------------------------------------|------------------|
//! | the folder, its lock, whose it is                   | `folder.rs`      |
//! | an open database: its threads, what replies wait for | `database.rs`   |
//! | a commit as records                                 | `commit_log.rs`  |
//! | a row as the columns of a record                    | `images.rs`      |
//! | a definition as a record                            | `entry.rs`       |
//! | what the log says about rows and definitions        | `replay.rs`      |
//! | the log's changes of rows put into tables           | `apply.rs`       |
//! | the latest change of each row of a backed-up log    | `collected.rs`   |
//! | a checkpoint: what has changed, while requests go on | `checkpoint.rs` |
//! | how fast a checkpoint works beside requests         | `pace.rs`        |
//! | how far a start is                                  | `progress.rs`    |
//! | a row as a checkpoint has it                        | `rows.rs`        |
//! | a start: from files to tables                       | `recovery.rs`    |
//! | a backup: one database in one file                 | `backup/`        |
//! | rows of SCHEMA_ONLY tables over a restart           | `kept.rs`        |
//! | lines for the server's log                          | `report.rs`      |
//! | deliberate mistakes for the crash tests              | `planted.rs`     |
//! | a disk with a hook around its calls                 | `hooked_disk.rs` |
//! | files beside the log                                | `aside.rs`       |
//! | the log as others read it, also while it is written | `reading.rs`     |
//!
//! It does not know SQL, sessions or sockets.
#![forbid(unsafe_code)]

mod apply;
mod aside;
pub mod backup;
mod checkpoint;
mod collected;
mod commit_log;
mod database;
mod disk_counts;
mod entry;
mod folder;
mod hooked_disk;
mod images;
mod kept;
mod pace;
mod planted;
mod progress;
mod reading;
mod recovery;
mod replay;
mod report;
mod rows;

pub use checkpoint::Checkpointed;
pub use commit_log::{CommitLog, Scope};
pub use database::{BackupHold, Database, Standing};
pub use disk_counts::{DiskCounts, FileCounts, FileSums};
pub use folder::Folder;
pub use hooked_disk::{DiskCall, DiskHook, HookedCall, HookedDisk};
pub use kept::Kept;
pub use planted::{Bug, Planted};
pub use progress::{Advance, Progress};
pub use reading::{Change, Position, Reading, Segment, Walk};
pub use recovery::{Instance, Recovered, Settings, open};
pub use replay::Counts;
/// That of the server, so that measurements in tests have its costs.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: sos::memory::Allocator = sos::memory::Allocator;
