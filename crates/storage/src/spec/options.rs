//! What a transaction and its reads promise: scope, isolation level, lock hint, LOCK_TIMEOUT.

use std::sync::Arc;

use crate::primitives::Cancel;

/// What a transaction spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One autocommit statement: conflicts are absorbed by [`crate::Transaction::restart`].
    Statement,
    /// BEGIN TRANSACTION to COMMIT.
    Explicit,
}

/// The isolation level of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// READ COMMITTED, also for READ UNCOMMITTED: what was committed when the statement began.
    ReadCommitted,
    /// SNAPSHOT: what was committed when the transaction began.
    Snapshot,
    /// REPEATABLE READ. On a memory-optimized table: as `Snapshot`, and the rows read are validated
    /// to be unchanged at commit. On an ordinary table: the newest committed rows, locked until the
    /// end, so other transactions may read but not change them.
    RepeatableRead,
    /// SERIALIZABLE: as `RepeatableRead`, and the ranges read get no new rows: validated at commit
    /// on a memory-optimized table, locked until the end on an ordinary one.
    Serializable,
}

/// The lock hint of a read: what it locks, and what it does about uncommitted changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLock {
    /// No lock: the read uses row versions.
    None,
    /// READPAST: no lock; rows changed since the snapshot, committed or not, are left out.
    Past,
    /// READ COMMITTED without row versions: no lock, but the read waits for a transaction that is
    /// changing a row, and returns its newest committed version.
    Committed(WhenOwned),
    /// READ UNCOMMITTED: no lock; the newest version of a row, committed or not.
    Dirty,
    /// UPDLOCK: the row is owned until the end of the transaction; other transactions may still
    /// hold shared locks on it. The newest committed version is returned.
    Update(WhenOwned),
    /// XLOCK: as `Update`, and no other transaction may hold any lock on the row.
    Exclusive(WhenOwned),
}

/// What to do about a row that another transaction owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenOwned {
    /// Wait for that transaction to end; on a memory-optimized table, fail with 41302.
    Wait,
    /// READPAST: skip the row.
    Skip,
    /// NOWAIT: fail with 1222.
    Fail,
}

/// How one access reads a table: its hints, after the engine has resolved them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The isolation level of this access.
    pub isolation: Isolation,
    /// The row lock that it takes.
    pub lock: RowLock,
}

impl Read {
    /// READ COMMITTED from row versions, without a lock.
    pub const COMMITTED: Self = Self { isolation: Isolation::ReadCommitted, lock: RowLock::None };
    /// SNAPSHOT from row versions, without a lock.
    pub const SNAPSHOT: Self = Self { isolation: Isolation::Snapshot, lock: RowLock::None };
}

/// The options of a transaction.
#[derive(Clone, Debug)]
pub struct TransactionOptions {
    /// One autocommit statement, or an explicit transaction.
    pub scope: Scope,
    /// SET LOCK_TIMEOUT: the longest wait for a row, in milliseconds; `None` waits for ever.
    pub lock_timeout_ms: Option<u32>,
    /// The flag that ends a wait early, with [`crate::Error::Cancelled`].
    pub cancel: Option<Arc<Cancel>>,
    /// The session that runs the transaction.
    pub session: SessionTag,
    /// Delayed durability: neither the commit nor who reads what it wrote waits for the log.
    pub is_lazy: bool,
}

/// The session of a transaction, as [`crate::lock::LockManager`] knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionTag {
    /// The session id; 0 for none. Without one, no view shows whom the transaction blocks, and only
    /// deadlocks among transactions without a session are detected.
    pub number: u32,
    /// SET DEADLOCK_PRIORITY: the session with the lowest becomes the victim.
    pub deadlock_priority: i8,
    /// The version of the catalog that the statement was planned for; see
    /// [`crate::Table::open_for`].
    pub plan: u64,
}

impl SessionTag {
    /// No session, and a plan for every version of the catalog.
    pub const NONE: Self = Self { number: 0, deadlock_priority: 0, plan: u64::MAX };
}

impl TransactionOptions {
    /// An autocommit statement without a lock timeout.
    pub const STATEMENT: Self = Self {
        scope: Scope::Statement,
        lock_timeout_ms: None,
        cancel: None,
        session: SessionTag::NONE,
        is_lazy: false,
    };

    /// An explicit transaction without a lock timeout.
    pub const EXPLICIT: Self = Self { scope: Scope::Explicit, ..Self::STATEMENT };
}
