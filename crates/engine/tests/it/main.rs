//! Tests of the engine through its boundary: scripts of T-SQL in, rows, messages and errors out.

mod client;
mod point_bench;
mod script;
