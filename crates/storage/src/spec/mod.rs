//! What callers pass to storage and get back: ids, definitions of tables and indexes, row images,
//! key bounds, isolation levels and lock hints, errors.
//!
//! These are plain values without behaviour, so every other folder may use them. They do not say
//! how a row is stored or found. `lib.rs` exports all of them at the top of the crate.
//!
//! Start with `options.rs`: isolation levels and lock hints decide how a read is executed.

mod bounds;
mod definition;
mod error;
mod options;
mod row;

pub use bounds::{Bounds, Order};
pub use definition::{
    IndexId, IndexKind, IndexSpec, IndexStatistics, KeyExtractor, TableId, TableKind, TableMemory,
    TableSpec, Uniqueness,
};
pub use error::{Error, Result};
pub use options::{Isolation, Read, RowLock, Scope, SessionTag, TransactionOptions, WhenOwned};
pub use row::{Decision, IndexMask, Keys, RowId, RowImage};
