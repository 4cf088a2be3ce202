//! SIMD: the loops over whole blocks, each compiled twice: for any CPU, and for one with AVX2.
//!
//! The choice is a relaxed load of the CPU's features per loop over 1,024 rows. The loops are plain
//! Rust that the compiler vectorizes.

use super::BLOCK_ROWS;
use super::bit_pack::{LANES, WORD_BITS};

/// The largest width whose block sum fits 64 bits.
pub(crate) const SUM_WIDTH_MAX: usize = WORD_BITS - BLOCK_ROWS.ilog2() as usize;

/// Defines a function whose body is compiled a second time for AVX2, and run so if the CPU has it.
macro_rules! simd {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) $(-> $result:ty)? $body:block) => {
        $(#[$doc])*
        $vis fn $name($($arg: $ty),*) $(-> $result)? {
            // Inlined into either caller, so that it is compiled for the caller's CPU features.
            #[inline(always)]
            fn body($($arg: $ty),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn avx2($($arg: $ty),*) $(-> $result)? {
                    body($($arg),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the CPU has AVX2.
                    return unsafe { avx2($($arg),*) };
                }
            }
            body($($arg),*)
        }
    };
}

simd! {
    /// Packs numbers of at most `width` bits into the first `width` * 16 words of `packed`, which
    /// are zero before.
    pub(crate) fn pack(values: &[u64; BLOCK_ROWS], width: usize, packed: &mut [u64; BLOCK_ROWS]) {
        for (position, values) in values.as_chunks::<LANES>().0.iter().enumerate() {
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
    }
}

simd! {
    /// Unpacks a block of `width` bits, at least 1, and adds `base` to each number.
    pub(crate) fn unpack(packed: &[u8], width: usize, base: i64, out: &mut [i64; BLOCK_ROWS]) {
        let mask = u64::MAX >> (WORD_BITS - width);
        let (words, _) = packed.as_chunks::<8>();
        for (position, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let values = lanes(words, position * width, width, mask);
            for (out, value) in out.iter_mut().zip(values) {
                *out = value.cast_signed().wrapping_add(base);
            }
        }
    }
}

simd! {
    /// Returns the sum of the numbers of a packed block of 1 to [`SUM_WIDTH_MAX`] bits.
    pub(crate) fn sum_packed(packed: &[u8], width: usize) -> u64 {
        let mask = u64::MAX >> (WORD_BITS - width);
        let (words, _) = packed.as_chunks::<8>();
        let mut sums = [0_u64; LANES];
        for position in 0..BLOCK_ROWS / LANES {
            let values = lanes(words, position * width, width, mask);
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum = sum.wrapping_add(value);
            }
        }
        sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
    }
}

simd! {
    /// Returns the sum of at most 2^31 numbers.
    pub(crate) fn sum_words(words: &[i64]) -> i128 {
        // Shifted up by 2^63 none is negative; the sums of the 32-bit halves fit 64 bits each.
        let (mut low, mut high) = (0_u64, 0_u64);
        for word in words {
            let moved = word.cast_unsigned() ^ (1 << 63);
            low = low.wrapping_add(moved & 0xFFFF_FFFF);
            high = high.wrapping_add(moved >> 32);
        }
        (i128::from(high) << 32) + i128::from(low) - ((words.len() as i128) << 63)
    }
}

simd! {
    /// Returns the minimum, the maximum, and how many numbers differ from the one before. Without
    /// numbers, minimum and maximum are the opposite ends of their range.
    pub(crate) fn extent(words: &[i64]) -> (i64, i64, usize) {
        let (mut least, mut largest, mut changes) = (i64::MAX, i64::MIN, 0_u64);
        for word in words {
            least = least.min(*word);
            largest = largest.max(*word);
        }
        for (word, next) in words.iter().zip(words.iter().skip(1)) {
            changes += u64::from(word != next);
        }
        (least, largest, usize::try_from(changes).unwrap_or(usize::MAX))
    }
}

simd! {
    /// Writes the difference of each number to `base`.
    pub(crate) fn distances(words: &[i64], base: i64, out: &mut [u64; BLOCK_ROWS]) {
        for (out, word) in out.iter_mut().zip(words) {
            *out = word.wrapping_sub(base).cast_unsigned();
        }
    }
}

/// Returns the numbers at one position of all lanes.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it is compiled as part of its callers")]
fn lanes(words: &[[u8; 8]], bit: usize, width: usize, mask: u64) -> [u64; LANES] {
    let (word, shift) = (bit / WORD_BITS * LANES, bit % WORD_BITS);
    let low: &[[u8; 8]; LANES] = words[word..].first_chunk().expect("a packed block is whole");
    let mut values = low.map(|low| u64::from_le_bytes(low) >> shift);
    if shift + width > WORD_BITS {
        let high = words[word + LANES..].first_chunk::<LANES>().expect("a packed block is whole");
        for (value, high) in values.iter_mut().zip(high) {
            *value |= u64::from_le_bytes(*high) << (WORD_BITS - shift);
        }
    }
    values.map(|value| value & mask)
}
