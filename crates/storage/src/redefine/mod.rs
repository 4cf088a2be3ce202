//! Changing a table while others read and write it: adding, suspending and dropping an index, and closing the
//! table to all writers but one.
//!
//! This folder does not know which DDL statement asks for it. Start with `close.rs` and the gate
//! that it closes (`store/gate.rs`).

mod add_index;
mod close;
mod suspend;

pub use suspend::SuspendedIndex;
