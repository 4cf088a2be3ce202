//! Bit packing: 1,024 numbers of `width` bits each in `width` * 128 bytes.
//!
//! ```text
//!  value i ──► lane i % 16, position i / 16        word k of lane l is the (k * 16 + l)-th of the block
//! ```
//! The sixteen lanes are packed side by side in one way, so that a compiler makes vector instructions of the
//! loops over them (`simd.rs`): the layout of "The FastLanes Compression Layout" (Afroozeh, Boncz; VLDB 2023),
//! without its reordering of tiles.

use super::{BLOCK_ROWS, simd};

/// Numbers that are packed side by side.
pub(super) const LANES: usize = 16;
/// Bits of a word.
pub(super) const WORD_BITS: usize = 64;

/// The bytes of a packed block.
pub(super) const fn packed_bytes(width: usize) -> usize {
    width * BLOCK_ROWS / 8
}

/// Appends a block. Each value has no more than `width` bits.
pub(super) fn pack(values: &[u64; BLOCK_ROWS], width: usize, out: &mut Vec<u8>) {
    let mut packed = [0_u64; BLOCK_ROWS];
    simd::pack(values, width, &mut packed);
    for word in &packed[..width * LANES] {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

/// Reads a block, and adds `base` to each number.
pub(super) fn unpack(packed: &[u8], width: usize, base: i64, out: &mut [i64; BLOCK_ROWS]) {
    if width == 0 {
        out.fill(base);
        return;
    }
    simd::unpack(packed, width, base, out);
}

/// Adds up the numbers of a block; none if the sum may have more than 64 bits.
pub(super) fn sum(packed: &[u8], width: usize) -> Option<u64> {
    match width {
        0 => Some(0),
        1..=simd::SUM_WIDTH_MAX => Some(simd::sum_packed(packed, width)),
        _ => None,
    }
}

/// The bits that a number takes.
pub(super) const fn bits(largest: u64) -> usize {
    (u64::BITS - largest.leading_zeros()) as usize
}
