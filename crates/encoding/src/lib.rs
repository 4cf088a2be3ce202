//! The encoding of columnstore segments: up to 1,048,576 values of one column as bytes.
//!
//! ```text
//!  batches ──► GroupBuilder ──finish──► a Bytes per column ──► Segment::open ──block──► Vector
//!              plain vectors, kept      numbers.rs: numbers                    1,024 rows
//!              from group to group      strings.rs: the rest
//! ```
//!
//! A segment is bytes and nothing else: what is published is a reference count, what is logged is
//! the segment. Its rows are in blocks of 1,024, each of which is read on its own; a block of
//! numbers has its minimum and maximum, so a scan for other values skips it. How a segment is
//! encoded is decided from a sample of its values: constant, run-length, dictionary or bit-packed
//! (`numbers.rs`, `strings.rs`).
//!
//! It does not know rows, versions, tables or transactions. Start with `segment.rs` for the layout
//! and `numbers.rs` for the choice of an encoding.
#![warn(unsafe_op_in_unsafe_fn)]

mod bit_pack;
mod builder;
mod convert;
mod memory;
mod numbers;
mod segment;
mod simd;
mod strings;
#[cfg(test)]
mod tests;

pub use builder::{GROUP_ROWS_MAX, GroupBuilder};
pub use convert::word_of;
pub use segment::{Encoding, Segment, Zone, few_of};
pub use strings::Dictionary;

/// Rows per block: 1,024.
pub const BLOCK_ROWS: usize = types::batch::BATCH_ROWS;

/// Appends a 32-bit number, little-endian.
fn put_u32(number: usize, out: &mut Vec<u8>) {
    let number = u32::try_from(number).expect("a segment is smaller than 4 GB");
    out.extend_from_slice(&number.to_le_bytes());
}

/// Reads the 32-bit number at index `place`.
#[inline]
fn u32_at(bytes: &[u8], place: usize) -> usize {
    let word = bytes[place * 4..].first_chunk().expect("a segment ends where its header says");
    u32::from_le_bytes(*word) as usize
}

/// Reads the 64-bit number at index `place`.
#[inline]
fn i64_at(bytes: &[u8], place: usize) -> i64 {
    let word = bytes[place * 8..].first_chunk().expect("a segment ends where its header says");
    i64::from_le_bytes(*word)
}
