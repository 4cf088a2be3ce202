//! `Transaction`: what a statement or an explicit transaction reads and writes.
//!
//! Its verbs take `&self`, so that rows it handed out stay borrowed and valid while it writes; what
//! invalidates them (next statement, rollback to a savepoint, restart) takes `&mut self`, and commit
//! and rollback consume it. It is `Send` and not `Sync`: one request at a time, on any thread.

use crate::error::Result;
use crate::row::{Keys, RowImage, RowRef};
use crate::scan::{Scan, ScanPosition, ScanSpec};
use crate::table::{IndexId, Table};

/// What the transaction spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One autocommit statement: conflicts are absorbed by [`Transaction::restart`].
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
    /// As `Snapshot`, and rows read are unchanged at commit. On an ordinary table: as
    /// `ReadCommitted`, and rows read are owned until the end.
    RepeatableRead,
    /// As `RepeatableRead`, and ranges read have no new rows at commit.
    Serializable,
}

/// Whether a read takes ownership of the rows it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLock {
    /// It does not.
    None,
    /// UPDLOCK, XLOCK, and HOLDLOCK on an ordinary table: owned until the end of the transaction.
    /// The row returned is then the newest committed one.
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
}

impl TransactionOptions {
    /// An autocommit statement without a lock timeout.
    pub const STATEMENT: Self = Self { scope: Scope::Statement, lock_timeout_ms: None };
    /// An explicit transaction without a lock timeout.
    pub const EXPLICIT: Self = Self { scope: Scope::Explicit, lock_timeout_ms: None };
}

/// The outcome of [`Transaction::claim`].
#[derive(Clone, Copy, Debug)]
pub enum Claim<'t> {
    /// The row is owned and still as it was read.
    Current(RowRef<'t>),
    /// The row is owned; this is its newest committed version, which differs from the one read:
    /// evaluate the predicate on it again. Ordinary tables only.
    Changed(RowRef<'t>),
    /// The row has been deleted. Ordinary tables only.
    Gone,
    /// The row is owned by another transaction ([`WhenOwned::Skip`]).
    Skipped,
}

/// A point in a transaction to which its writes can be undone.
#[derive(Clone, Copy, Debug)]
pub struct Savepoint {}

/// A transaction. Dropping it rolls it back.
pub struct Transaction {}

impl Transaction {
    /// Begins the next statement: it sees what this transaction wrote before, and under READ COMMITTED
    /// a new snapshot. Call it before every statement but the first.
    pub fn next_statement(&mut self) {
        todo!()
    }

    /// Sets the lock timeout of the waits to come, in milliseconds.
    pub fn set_lock_timeout(&mut self, lock_timeout_ms: Option<u32>) {
        let _ = lock_timeout_ms;
        todo!()
    }

    /// Returns the row with this whole key that the transaction sees; the first one if the index is
    /// not unique.
    pub fn get<'t>(
        &'t self,
        table: &'t Table,
        index: IndexId,
        key: &[u8],
        read: Read,
    ) -> Result<Option<RowRef<'t>>> {
        let _ = (table, index, key, read);
        todo!()
    }

    /// Opens a scan.
    pub fn scan<'t>(&'t self, table: &'t Table, spec: ScanSpec<'_>) -> Result<Scan<'t>> {
        let _ = (table, spec);
        todo!()
    }

    /// Continues a suspended scan of the same table.
    pub fn resume<'t>(&'t self, table: &'t Table, position: ScanPosition) -> Result<Scan<'t>> {
        let _ = (table, position);
        todo!()
    }

    /// Inserts a row.
    pub fn insert<'t>(&'t self, table: &'t Table, row: RowImage<'_>) -> Result<RowRef<'t>> {
        let _ = (table, row);
        todo!()
    }

    /// Takes ownership of a row that is to be changed, until the end of the transaction, so that
    /// `update` and `delete` of what it returns cannot conflict.
    pub fn claim<'t>(&'t self, row: RowRef<'t>, when_owned: WhenOwned) -> Result<Claim<'t>> {
        let _ = (row, when_owned);
        todo!()
    }

    /// Replaces a row. Without a claim before, a row that has changed since it was read is a conflict.
    pub fn update<'t>(
        &'t self,
        row: RowRef<'t>,
        image: RowImage<'_>,
        keys: Keys,
    ) -> Result<RowRef<'t>> {
        let _ = (row, image, keys);
        todo!()
    }

    /// Deletes a row. As for `update`.
    pub fn delete(&self, row: RowRef<'_>) -> Result<()> {
        let _ = row;
        todo!()
    }

    /// Deletes all rows the transaction sees and returns how many (TRUNCATE TABLE).
    pub fn truncate(&self, table: &Table) -> Result<u64> {
        let _ = table;
        todo!()
    }

    /// Marks the present point.
    pub fn savepoint(&self) -> Savepoint {
        todo!()
    }

    /// Undoes all writes since `savepoint`. Rows stay owned.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        let _ = savepoint;
        todo!()
    }

    /// After [`crate::Error::Restart`]: undoes everything, waits for the transaction that was in the
    /// way while holding nothing, and begins anew.
    pub fn restart(&mut self) -> Result<()> {
        todo!()
    }

    /// Tells whether an error has made commit impossible (`XACT_STATE() = -1`).
    pub fn is_doomed(&self) -> bool {
        todo!()
    }

    /// Tells whether the transaction has written anything.
    pub fn has_written(&self) -> bool {
        todo!()
    }

    /// Commits. On an error everything is rolled back.
    pub fn commit(self) -> Result<()> {
        todo!()
    }

    /// Undoes everything.
    pub fn rollback(self) {
        todo!()
    }
}
