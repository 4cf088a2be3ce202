//! The data: transactions, row versions, and hash and range indexes over them.
//!
//! A logical row is a *head* that never moves while it lives; its *versions* hang from it, newest
//! first, each with the time from which it counts. Indexes map key bytes to heads, so an update that
//! changes no key touches no index. Storage knows table ids, encoded rows and key extractors; it does
//! not know names, columns or SQL text.
//!
//! ```text
//!  index entry ──►  head  ──►  version 9  ──►  version 7  ──►  version 3
//!  key bytes        latest     begin: 212      begin: 180      begin: 95
//!                              row bytes       row bytes       row bytes
//!                              blobs ───────── shared ─────────┘
//! ```
//!
//! How to use it, from the cheapest to the most general:
//!
//! * [`Table::read_point`], [`Table::change_point`], [`Table::insert_point`]: one row by a unique key,
//!   committed on the row itself. A write-write conflict is absorbed: the closure sees the newest
//!   committed row again. No line that others write is written.
//! * [`Transaction`] with [`Scope::Statement`]: any autocommit statement. A conflict surfaces as
//!   [`Error::Restart`]; [`Transaction::restart`] rolls back, waits while holding nothing, and the
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

mod booked;
mod build;
mod chain;
#[cfg(all(test, shuttle))]
mod column_models;
pub mod columnstore;
mod directory;
pub mod error;
mod garbage;
mod gate;
mod head;
mod hold;
#[cfg(all(test, shuttle))]
mod hold_models;
mod index;
mod key_walk;
mod keys;
pub mod lock;
#[cfg(all(test, shuttle))]
mod lock_models;
mod look;
mod lookup;
#[cfg(all(test, shuttle))]
mod models;
#[cfg(all(test, shuttle))]
mod move_models;
mod point;
mod reader;
mod reclaim;
pub mod row;
pub mod scan;
mod shards;
mod snapshots;
pub mod store;
mod sync;
pub mod table;
mod time;
pub mod transaction;
mod txstate;
mod validate;
mod version;
mod wait;
mod write;

pub use error::{Error, Result};
pub use hold::{HeldThing, Hold, HoldRow};
pub use key_walk::KeyWalk;
pub use lookup::KeyList;
pub use reader::Reader;
pub use row::{Decision, IndexMask, Keys, RowId, RowImage, RowRef};
pub use scan::{Bounds, Order, Parts, Scan, ScanPosition, ScanSpec};
pub use store::{Collected, Mistake, Store, StoreOptions};
pub use table::{
    IndexId, IndexKind, IndexSpec, IndexStatistics, KeyExtractor, Table, TableId, TableKind,
    TableMemory, TableSpec, Uniqueness,
};
pub use wait::Cancel;

pub use transaction::{
    Claim, Isolation, Read, RowLock, Savepoint, Scope, SessionTag, Transaction, TransactionOptions,
    WhenOwned,
};
