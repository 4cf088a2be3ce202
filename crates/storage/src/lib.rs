//! The data: transactions, row versions, and hash and range indexes over them.
//!
//! A logical row is a *head* that never moves while it lives; its *versions* hang from it, newest
//! first, each with its commit time. Indexes map key bytes to heads, so an update that changes no
//! key touches no index. Storage knows table ids, encoded rows and key extractors; it does not know
//! names, columns or SQL text.
//!
//! ```text
//!  index entry ──►  head  ──►  version 9  ──►  version 7  ──►  version 3
//!  key bytes        latest     begin: 212      begin: 180      begin: 95
//!                              row bytes       row bytes       row bytes
//!                              blobs ───────── shared ─────────┘
//! ```
//!
//! The folders, lowest first. Each imports only folders above it in this list:
//!
//! | folder | what it is about |
//! |---|---|
//! | `primitives` | atomics, epochs, per-thread shards, the commit clock, memory clerks |
//! | [`spec`] | what callers say: ids, definitions, row images, key bounds, isolation, errors |
//! | [`durability`] | what storage asks of a log, and the epochs that readers wait for |
//! | `version` | heads, versions, who wrote them, and which one a snapshot sees (visibility) |
//! | `row_group` | row groups: segments (of the crate `encoding`), and which of their rows count |
//! | `index` | hash and range indexes: from key bytes to heads |
//! | `row_lock` | shared, update and exclusive locks on rows and key ranges |
//! | [`lock`] | the lock manager for named locks, and deadlock detection |
//! | [`store`] | the tables of an instance, snapshots, and garbage collection |
//! | [`transaction`] | reading, writing, waiting, validating, committing, undoing |
//! | [`access`] | scans, lookups, and autocommit statements on one row |
//! | [`columnstore`] | row groups seen through transactions, and the tuple mover |
//! | `redefine` | adding, suspending and dropping an index, and closing a table, while others use it |
//! | [`recovery`] | scanning tables for checkpoints, and putting their rows back |
//!
//! Start with `version/visibility.rs` to see what a reader sees, and with `transaction/write.rs` to
//! see what a writer does.
//!
//! How to use it, from the cheapest to the most general:
//!
//! * [`Table::read_point`], [`Table::change_point`], [`Table::insert_point`]: one row by a unique key,
//!   committed on the row itself. A write-write conflict is absorbed: the closure is called again with
//!   the newest committed row. No cache line that other sessions write is written.
//! * [`Transaction`] with [`Scope::Statement`]: any autocommit statement. A conflict surfaces as
//!   [`Error::Restart`]; [`Transaction::restart`] rolls back, waits while it owns nothing, and the
//!   caller runs the statement again.
//! * [`Transaction`] with [`Scope::Explicit`]: `BEGIN TRANSACTION`, across statements and requests.
//!   It may move between threads between calls.
//!
//! The life of a modifying statement in a transaction, on either kind of table:
//!
//! ```text
//! for row in scan { if predicate(row) {
//!     match tx.claim(row, WhenOwned::Wait)? {
//!         Claim::Current(row) => tx.update(row, image, Keys::Same)?,
//!         Claim::Changed(row) => evaluate the predicate again on this newer row, then update it,
//!         Claim::Gone | Claim::Skipped => continue,
//! }}}
//! ```

pub mod access;
pub mod columnstore;
pub mod durability;
mod index;
pub mod lock;
#[cfg(all(test, shuttle))]
mod models;
mod primitives;
pub mod recovery;
mod redefine;
mod row_group;
mod row_lock;
pub mod spec;
pub mod store;
pub mod transaction;
mod version;

pub use access::{KeyList, KeyWalk, Opening, Parts, Reader, Scan, ScanPosition, ScanSpec};
pub use index::Growth;
pub use primitives::Cancel;
pub use redefine::SuspendedIndex;
pub use row_lock::{HeldThing, Hold, HoldRow};
pub use spec::{
    Bounds, Decision, Error, IndexId, IndexKind, IndexMask, IndexSpec, IndexStatistics, Isolation,
    KeyExtractor, Keys, Order, Read, Result, RowId, RowImage, RowLock, Scope, SessionTag, TableId,
    TableKind, TableMemory, TableSpec, TransactionOptions, Uniqueness, WhenOwned,
};
pub use store::{
    Collected, IndexUse, IndexUses, Mistake, Operations, Store, StoreOptions, Table, TableUses,
    UseTotal,
};
pub use transaction::{Claim, Pick, RowRef, Savepoint, Transaction};
pub use version::LockWait;
