//! Columns instead of rows: encoded segments of up to 1,048,576 values, one per column of a row group.
//!
//! ```text
//!  batches ──► GroupBuilder ──finish──► a Bytes per column ──► Segment::open ──block──► Vector
//!              plain vectors, kept      words.rs: numbers                      1,024 rows
//!              from group to group      strings.rs: the rest
//! ```
//!
//! A segment is bytes and nothing else: what is published is a reference count, what is logged is the
//! segment. Its rows lie in blocks of 1,024, each of which is read on its own; a block of numbers has its
//! least and largest, so that who looks for others skips it. How a segment is encoded is decided for each
//! from a sample of its values (`words.rs`, `strings.rs`).

mod form;
mod group;
mod index;
mod machine;
mod moving;
mod pack;
mod segment;
mod settle;
mod store;
mod strings;
#[cfg(test)]
mod tests;
mod wide;
mod words;

pub use form::word_of;
pub use group::{GROUP_ROWS_MAX, GroupBuilder};
pub use index::{ColumnGroupRow, ColumnIndexId, ColumnView, LooseRows};
pub(crate) use index::{ColumnIndex, KeptViews};
pub use moving::Moved;
pub use segment::{Encoding, Segment, Zone};
pub use store::{ColumnStore, Mover, Place, RowGroup, Trim};

/// Rows of a block.
pub const BLOCK_ROWS: usize = types::batch::BATCH_ROWS;

/// Appends a 32-bit number.
fn put_u32(number: usize, out: &mut Vec<u8>) {
    let number = u32::try_from(number).expect("a segment is smaller than 4 GB");
    out.extend_from_slice(&number.to_le_bytes());
}

/// Reads the `place`-th 32-bit number.
#[inline]
fn u32_at(bytes: &[u8], place: usize) -> usize {
    let word = bytes[place * 4..].first_chunk().expect("a segment ends where its header says");
    u32::from_le_bytes(*word) as usize
}

/// Reads the `place`-th 64-bit number.
#[inline]
fn i64_at(bytes: &[u8], place: usize) -> i64 {
    let word = bytes[place * 8..].first_chunk().expect("a segment ends where its header says");
    i64::from_le_bytes(*word)
}
