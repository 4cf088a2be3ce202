//! Storage through its public interface: rows with two keys, read, changed and contended for by
//! transactions.
#![expect(clippy::unwrap_used, reason = "a failing test may panic anywhere")]

mod basic;
mod column_index;
mod columnstore;
mod conflicts;
mod definition;
mod durability;
mod fake_log;
mod model;
mod moving;
mod recovery;
mod stress;
mod support;
mod versions;
