//! Columnstores as transactions see them: reading and adding row groups, the tuple mover, and
//! nonclustered columnstore indexes.
//!
//! This folder does not know how segments are encoded (crate `encoding`) or how the groups of a table
//! are kept (`row_group/`, `store/row_groups.rs`); it re-exports what callers need of both.
//!
//! Start with `read.rs`; `moving.rs` is the tuple mover, `settle.rs` cleans up after an interrupted
//! move, `secondary.rs` is the nonclustered index.

mod moving;
mod read;
mod secondary;
mod settle;

pub use crate::row_group::{ColumnIndexId, ColumnView, Place, RowGroup, Trim};
pub use crate::store::{ColumnStore, Mover};
pub use encoding::{
    BLOCK_ROWS, Dictionary, Encoding, GROUP_ROWS_MAX, GroupBuilder, Segment, Zone, few_of, word_of,
};
pub use moving::Moved;
pub use secondary::{ColumnGroupRow, LooseRows};
