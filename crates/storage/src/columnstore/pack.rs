//! Bit packing: 1,024 numbers of `width` bits each in `width` * 128 bytes.
//!
//! ```text
//!  value i ──► lane i % 16, position i / 16        word k of lane l is the (k * 16 + l)-th of the block
//! ```
//! The sixteen lanes are packed side by side in one way, so that a compiler makes vector instructions of the
//! loops over them: the layout of "The FastLanes Compression Layout" (Afroozeh, Boncz; VLDB 2023), without its
//! reordering of tiles.

use super::BLOCK_ROWS;

/// Numbers that are packed side by side.
const LANES: usize = 16;
/// Bits of a word.
const WORD_BITS: usize = 64;

/// The bytes of a packed block.
pub(super) const fn packed_bytes(width: usize) -> usize {
    width * BLOCK_ROWS / 8
}

/// Appends a block. Each value has no more than `width` bits.
pub(super) fn pack(values: &[u64; BLOCK_ROWS], width: usize, out: &mut Vec<u8>) {
    let mut packed = [0_u64; BLOCK_ROWS];
    for (position, values) in values.chunks_exact(LANES).enumerate() {
        let bit = position * width;
        let (word, shift) = (bit / WORD_BITS * LANES, bit % WORD_BITS);
        for (packed, value) in packed[word..].iter_mut().zip(values) {
            *packed |= value << shift;
        }
        if shift + width > WORD_BITS {
            for (packed, value) in packed[word + LANES..].iter_mut().zip(values) {
                *packed |= value >> (WORD_BITS - shift);
            }
        }
    }
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
    let mask = u64::MAX >> (WORD_BITS - width);
    let (words, _) = packed.as_chunks::<8>();
    for (position, out) in out.chunks_exact_mut(LANES).enumerate() {
        let bit = position * width;
        let (word, shift) = (bit / WORD_BITS * LANES, bit % WORD_BITS);
        let low = &words[word..word + LANES];
        if shift + width > WORD_BITS {
            let high = &words[word + LANES..word + 2 * LANES];
            for ((out, low), high) in out.iter_mut().zip(low).zip(high) {
                let value = u64::from_le_bytes(*low) >> shift
                    | u64::from_le_bytes(*high) << (WORD_BITS - shift);
                *out = (value & mask).cast_signed().wrapping_add(base);
            }
        } else {
            for (out, low) in out.iter_mut().zip(low) {
                let value = u64::from_le_bytes(*low) >> shift & mask;
                *out = value.cast_signed().wrapping_add(base);
            }
        }
    }
}

/// The bits that a number takes.
pub(super) const fn bits(largest: u64) -> usize {
    (u64::BITS - largest.leading_zeros()) as usize
}
