//! Storage through its boundary: rows with two keys, seen, changed and fought over by transactions.

mod basic;
mod conflicts;
mod stress;
mod support;
