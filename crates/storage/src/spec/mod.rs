//! What callers say to storage and hear from it: ids, definitions of tables and indexes, row images,
//! key bounds, isolation levels and lock hints, errors.
//!
//! Plain values without behaviour, so every other folder may use them. It does not know how a row is
//! stored or found. `lib.rs` exports all of it at the top of the crate.
//!
//! Start with `options.rs`: isolation levels and lock hints decide which way a read takes.

pub mod bounds;
pub mod definition;
pub mod error;
pub mod options;
pub mod row;
