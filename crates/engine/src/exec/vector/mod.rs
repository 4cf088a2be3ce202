//! The vector executor: the same bound trees as `exec/query`, a batch of rows at a time.

pub mod kernel;
