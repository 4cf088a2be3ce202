//! What storage asks of a log: the trait [`CommitLog`], the changes that it is shown, and the epochs
//! that readers wait for.
//!
//! ```text
//! writer   begin ─► epoch into the version ─► link, take the timestamp ─► write changes ─► end
//! reader   read a version ─► its epoch may not be durable ─► note(epoch)
//! server   take() ─► the reply waits until that epoch is durable
//! ```
//!
//! A commit announces its epoch before any thread can take its timestamp. So a version that is
//! visible has its epoch already, and a transaction that depends on another one has the same epoch
//! or a later one. A version keeps the low bits of its epoch (`EpochMark`).
//!
//! Reads note what a crash could take back:
//!
//! | what is read | what is noted |
//! |---|---|
//! | a row by its key, found | the epoch of its version |
//! | a row by its key, not found; a duplicate key | [`CommitLog::barrier`] |
//! | a scan, or many keys, by a snapshot | the barrier, once, when the snapshot has been taken |
//! | the newest state of a row (row locks, claims that find a change) | the barrier, after each row |
//!
//! A commit that a snapshot sees was announced before the snapshot was taken. So the barrier of a
//! snapshot covers what is read by it later, on other threads as well ([`crate::Reader`]).
//!
//! When the log fails, what is not durable by then is hidden from readers ([`crate::Store::lose`]), so
//! they need not wait for anything.
//!
//! Storage does not know what a log is made of. A store without a log, and a table that is not
//! durable, note nothing.

mod announced;
mod lost;
mod mark;
mod noted;

use types::row::RowLayout;

use crate::spec::{Result, RowId, RowImage, TableId};

pub(crate) use announced::Announced;
pub(crate) use lost::Lost;
pub(crate) use mark::{EpochMark, note_seen};
pub use noted::{note, take};

/// The log of a store's commits.
///
/// Each thread has at most one commit between [`Self::begin`] and [`Self::end`]. In between it
/// neither waits for other transactions nor begins another commit.
pub trait CommitLog: Send + Sync {
    /// Waits until the log has room for a commit of the calling thread with about this many bytes.
    /// The thread holds no pin and has announced nothing. The commit follows at once: after a wait
    /// the thread asks again.
    ///
    /// # Errors
    /// [`crate::Error::LogFull`], [`crate::Error::LogFailed`].
    fn admit(&self, bytes: u64) -> Result<()>;

    /// Announces a commit of the calling thread and returns its epoch, which is not 0.
    fn begin(&self) -> u64;

    /// Appends one change of the announced commit, whose timestamp has been taken.
    fn write(&self, change: &RowChange<'_>);

    /// Ends the announced commit.
    fn end(&self, outcome: Outcome);

    /// Returns whether the epoch of a commit that the calling thread has just ended stays open until
    /// the thread is done with something else. Then it must go on at once: no commit of that epoch
    /// becomes durable before.
    fn keeps_open(&self) -> bool {
        false
    }

    /// Returns an epoch that no commit announced before this call exceeds; 0 if all of these
    /// commits are durable. A commit counts from its announcement on, because another thread may
    /// take its timestamp and see it before it ends.
    fn barrier(&self) -> u64;

    /// Returns the last durable epoch. Commits have one of the two epochs behind it.
    fn durable(&self) -> u64;
}

/// Bytes of a record besides the values: of the begin and the end of its commit as well.
const RECORD_BYTES: u64 = 128;

/// Returns about how many bytes a change to this row takes in the log, at most.
pub(crate) fn logged_bytes(after: RowImage<'_>) -> u64 {
    let blobs: usize = after.blobs.iter().map(|blob| blob.len()).sum();
    RECORD_BYTES + (after.bytes.len() + blobs) as u64
}

/// How an announced commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has committed, and all its changes were written.
    Committed {
        /// The commit timestamp. It orders the changes of a row within a run of the server.
        ts: u64,
        /// Delayed durability: the client does not wait for the log.
        is_lazy: bool,
    },
    /// It has committed nothing, and wrote no change.
    Nothing,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The row was not there before.
    Insert,
    /// The row has other content.
    Update,
    /// The row is deleted, or it moved to a row group.
    Delete,
}

/// One change of one row by a commit. A transaction that changes a row twice has two of them.
#[derive(Clone, Copy, Debug)]
pub struct RowChange<'a> {
    /// The table that has the row.
    pub table: TableId,
    /// The part of the table: 0 for its own rows, 1 to 3 for the internal tables of a columnstore.
    pub part: u8,
    /// The row, by the id that a restored row has again.
    pub row: RowId,
    /// The layout of both images. `None` in an internal table: its bytes and its blobs are opaque.
    pub layout: Option<&'a RowLayout>,
    /// What happened to the row.
    pub kind: ChangeKind,
    /// The row before the change; `None` for an insert.
    pub before: Option<RowImage<'a>>,
    /// The row after the change; `None` for a delete.
    pub after: Option<RowImage<'a>>,
}
