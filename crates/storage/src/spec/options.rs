//! What a transaction and each of its reads promise: scope, isolation level, lock hint, LOCK_TIMEOUT.

use std::sync::Arc;

use crate::primitives::park::Cancel;

/// What the transaction spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One autocommit statement: conflicts are absorbed by [`crate::Transaction::restart`].
    Statement,
    /// BEGIN TRANSACTION to COMMIT.
    Explicit,
}

/// What a read promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// What was committed when the statement began (also for READ UNCOMMITTED).
    ReadCommitted,
    /// What was committed when the transaction began.
    Snapshot,
    /// As `Snapshot`, and rows read are unchanged at commit. On an ordinary table: the newest committed ones, held
    /// until the end, so that others may read and not change them.
    RepeatableRead,
    /// As `RepeatableRead`, and ranges read have no new rows at commit. On an ordinary table: ranges read are held
    /// until the end.
    Serializable,
}

/// Whether a read takes ownership of the rows it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLock {
    /// It does not.
    None,
    /// It does not, and leaves out rows that others have changed since the snapshot, committed or not: READPAST.
    Past,
    /// It does not, but waits for who is changing a row: READ COMMITTED without row versions. The row returned is
    /// then the newest committed one.
    Committed(WhenOwned),
    /// It does not, and returns the newest version of a row, committed or not: READ UNCOMMITTED.
    Dirty,
    /// UPDLOCK: owned until the end of the transaction; others may hold it as readers. The row returned is then the
    /// newest committed one.
    Update(WhenOwned),
    /// XLOCK: as `Update`, and nobody else may hold it.
    Exclusive(WhenOwned),
}

/// What to do about a row that another transaction owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenOwned {
    /// Wait for the other to end; on a memory-optimized table, fail with 41302.
    Wait,
    /// READPAST: act as if the row were not there.
    Skip,
    /// NOWAIT: fail with 1222.
    Fail,
}

/// How one access reads: the table hints, after the engine has resolved them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The isolation of this access.
    pub isolation: Isolation,
    /// The lock it takes.
    pub lock: RowLock,
}

impl Read {
    /// READ COMMITTED without a lock.
    pub const COMMITTED: Self = Self { isolation: Isolation::ReadCommitted, lock: RowLock::None };
    /// SNAPSHOT without a lock.
    pub const SNAPSHOT: Self = Self { isolation: Isolation::Snapshot, lock: RowLock::None };
}

/// How a transaction behaves.
#[derive(Clone, Debug)]
pub struct TransactionOptions {
    /// What it spans.
    pub scope: Scope,
    /// SET LOCK_TIMEOUT: the longest wait for a row, in milliseconds; `None` waits for ever.
    pub lock_timeout_ms: Option<u32>,
    /// The flag that ends a wait early, with [`crate::Error::Cancelled`].
    pub cancel: Option<Arc<Cancel>>,
    /// Whose it is.
    pub session: SessionTag,
}

/// The session that a transaction belongs to, as [`crate::lock::LockManager`] knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionTag {
    /// Its number; 0 for none: then nobody can tell whom it blocks, and its deadlocks are those of
    /// rows alone.
    pub number: u32,
    /// Of several in a deadlock, the lowest gives up.
    pub deadlock_priority: i8,
    /// The version of the catalog that its statement was planned for; see [`crate::Table::open_for`].
    pub plan: u64,
}

impl SessionTag {
    /// No session, and a plan for any version.
    pub const NONE: Self = Self { number: 0, deadlock_priority: 0, plan: u64::MAX };
}

impl TransactionOptions {
    /// An autocommit statement without a lock timeout.
    pub const STATEMENT: Self = Self {
        scope: Scope::Statement,
        lock_timeout_ms: None,
        cancel: None,
        session: SessionTag::NONE,
    };

    /// An explicit transaction without a lock timeout.
    pub const EXPLICIT: Self = Self { scope: Scope::Explicit, ..Self::STATEMENT };
}
