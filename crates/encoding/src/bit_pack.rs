//! Bit packing: 1,024 numbers of `width` bits each in `width` * 128 bytes.
//!
//! ```text
//!  value i ──► lane i % 16, position i / 16        word k of lane l is the (k * 16 + l)-th of the block
//! ```
//! Sixteen lanes are packed side by side in the same way, so that the compiler vectorizes the loops
//! over them (`simd.rs`). This is the layout of "The FastLanes Compression Layout" (Afroozeh,
//! Boncz; VLDB 2023), without its reordering of tiles.

use super::{BLOCK_ROWS, i64_at, simd};

/// Lanes: numbers that are packed side by side.
pub(crate) const LANES: usize = 16;
/// Bits of a packed word.
pub(crate) const WORD_BITS: usize = 64;

/// Returns the bytes of a block packed with `width` bits per number.
pub(crate) const fn packed_bytes(width: usize) -> usize {
    width * BLOCK_ROWS / 8
}

/// Appends a packed block. Each value has at most `width` bits.
pub(crate) fn pack(values: &[u64; BLOCK_ROWS], width: usize, out: &mut Vec<u8>) {
    let mut packed = [0_u64; BLOCK_ROWS];
    simd::pack(values, width, &mut packed);
    for word in &packed[..width * LANES] {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

/// Unpacks a block and adds `base` to each number.
pub(crate) fn unpack(packed: &[u8], width: usize, base: i64, out: &mut [i64; BLOCK_ROWS]) {
    if width == 0 {
        out.fill(base);
        return;
    }
    simd::unpack(packed, width, base, out);
}

/// Unpacks one number of a block.
pub(crate) fn one(packed: &[u8], width: usize, row: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let (bit, lane) = (row / LANES * width, row % LANES);
    let (word, shift) = (bit / WORD_BITS * LANES + lane, bit % WORD_BITS);
    let mut value = i64_at(packed, word).cast_unsigned() >> shift;
    if shift + width > WORD_BITS {
        value |= i64_at(packed, word + LANES).cast_unsigned() << (WORD_BITS - shift);
    }
    value & u64::MAX >> (WORD_BITS - width)
}

/// Returns the sum of the numbers of a block; `None` if it may exceed 64 bits.
pub(crate) fn sum(packed: &[u8], width: usize) -> Option<u64> {
    match width {
        0 => Some(0),
        1..=simd::SUM_WIDTH_MAX => Some(simd::sum_packed(packed, width)),
        _ => None,
    }
}

/// Returns the bits that a number up to `largest` takes.
pub(crate) const fn bits(largest: u64) -> usize {
    (u64::BITS - largest.leading_zeros()) as usize
}
