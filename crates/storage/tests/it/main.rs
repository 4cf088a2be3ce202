//! Storage through its boundary: rows with two keys, seen, changed and fought over by transactions.
#![expect(clippy::unwrap_used, reason = "a failing test may panic anywhere")]

mod basic;
mod column_index;
mod columnstore;
mod conflicts;
mod definition;
mod model;
mod moving;
mod stress;
mod support;
