//! Storage errors, with what the engine needs to word SQL Server's messages.
//!
//! Storage knows no names, so a unique violation carries table id, index id and key, and the engine
//! writes the text. [`Error::into_message`] words the errors that need no names.

use types::Msg;

use crate::spec::{IndexId, TableId};

/// The result of a storage operation, with [`Error`] by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a storage operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Another live row has this key: 2627 for a constraint, 2601 for an index. The call has
    /// changed nothing; the transaction can go on.
    Unique {
        /// The id of the table.
        table: TableId,
        /// The id of the unique index.
        index: IndexId,
        /// The key, as the index's extractor wrote it.
        key: Box<[u8]>,
    },
    /// 41302: another transaction changed the row since this one began. The transaction is doomed.
    UpdateConflict,
    /// 3960: another transaction changed a row of an ordinary table since the SNAPSHOT transaction
    /// began. The transaction is doomed.
    SnapshotConflict(TableId),
    /// 41305: a row that was read has changed. The transaction is rolled back.
    RepeatableReadFailure,
    /// 41325: a range that was read has a new row, or two transactions insert one key. The
    /// transaction is doomed or rolled back.
    SerializableFailure,
    /// 1205: the wait would close a cycle of waits. The transaction is doomed.
    Deadlock,
    /// 1222: the row stayed owned by another transaction for longer than the lock timeout. The
    /// statement fails, the transaction goes on.
    LockTimeout,
    /// The client cancelled the statement during a wait.
    Cancelled,
    /// 701: over the memory limit.
    OutOfMemory,
    /// 1204: over the memory limit, where a row lock was asked for.
    OutOfLocks,
    /// 9002: the disk of the log is full. Nothing has been committed; the same may succeed later.
    LogFull,
    /// 9001: the log has failed. Nothing can be committed any more.
    LogFailed,
    /// The statement met a conflict that it can absorb: call [`crate::Transaction::restart`] and
    /// run it again. Only in [`crate::Scope::Statement`].
    Restart,
    /// The table is being redefined, or has been since the statement was planned; nothing has been
    /// done. Wait for the redefinition, plan the statement again, and run it.
    Closed(TableId),
    /// A write or commit in a transaction that an earlier error has doomed (3930).
    Doomed,
}

impl Error {
    /// Returns whether this error leaves the transaction unable to commit (`XACT_STATE() = -1`).
    pub fn dooms(&self) -> bool {
        match self {
            Self::UpdateConflict
            | Self::SnapshotConflict(_)
            | Self::RepeatableReadFailure
            | Self::SerializableFailure
            | Self::Deadlock
            | Self::Doomed => true,
            Self::Unique { .. }
            | Self::LockTimeout
            | Self::Cancelled
            | Self::OutOfMemory
            | Self::OutOfLocks
            | Self::LogFull
            | Self::LogFailed
            | Self::Restart
            | Self::Closed(_) => false,
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unique { table, index, .. } => {
                write!(f, "duplicate key in index {} of table {}", index.0, table.0)
            }
            Self::UpdateConflict => f.write_str("write-write conflict"),
            Self::SnapshotConflict(table) => write!(f, "write-write conflict in table {}", table.0),
            Self::RepeatableReadFailure => f.write_str("repeatable read validation failure"),
            Self::SerializableFailure => f.write_str("serializable validation failure"),
            Self::Deadlock => f.write_str("deadlock victim"),
            Self::LockTimeout => f.write_str("lock timeout"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::OutOfMemory => f.write_str("out of memory"),
            Self::OutOfLocks => f.write_str("out of memory for row locks"),
            Self::LogFull => f.write_str("the disk of the log is full"),
            Self::LogFailed => f.write_str("the log has failed"),
            Self::Restart => f.write_str("restart the statement"),
            Self::Closed(table) => write!(f, "table {} is being redefined", table.0),
            Self::Doomed => f.write_str("the transaction is doomed"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// Converts the error to SQL Server's message for `session`. Returns `Err(self)` for
    /// [`Error::Unique`], [`Error::SnapshotConflict`], [`Error::Cancelled`], [`Error::LogFull`],
    /// [`Error::LogFailed`], [`Error::Restart`] and [`Error::Closed`], which the engine handles.
    pub fn into_message(self, session: i32) -> std::result::Result<types::Error, Self> {
        let msg = match self {
            Self::UpdateConflict => Msg::UpdateConflict,
            Self::RepeatableReadFailure => Msg::RepeatableReadFailure,
            Self::SerializableFailure => Msg::SerializableFailure,
            Self::Deadlock => Msg::DeadlockVictim(session),
            Self::LockTimeout => Msg::LockTimeout,
            Self::OutOfMemory => Msg::OutOfMemory,
            Self::OutOfLocks => return Ok(types::Error::from(Msg::OutOfLocks).with_state(4)),
            Self::Doomed => {
                return Ok(types::Error::custom(
                    3930,
                    16,
                    1,
                    "The current transaction cannot be committed and cannot support operations \
                     that write to the log file. Roll back the transaction.",
                ));
            }
            Self::Unique { .. }
            | Self::SnapshotConflict(_)
            | Self::Cancelled
            | Self::LogFull
            | Self::LogFailed
            | Self::Restart
            | Self::Closed(_) => return Err(self),
        };
        Ok(msg.into())
    }
}
