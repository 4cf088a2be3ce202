//! Encodes numbers in the hybrid of runs and bit-packed groups; `crate::rle` decodes it.
//!
//! <https://github.com/apache/parquet-format/blob/master/Encodings.md#run-length-encoding--bit-packing-hybrid-rle--3>

/// Numbers per bit-packed group; only whole groups are packed.
const GROUP: usize = 8;

/// Encodes numbers of `width` bits, 1 to 32.
pub(super) fn encode(numbers: &[u32], width: u8, out: &mut Vec<u8>) {
    let (mut at, mut packed_from) = (0, 0);
    while at < numbers.len() {
        let run = run_length(&numbers[at..]);
        let unaligned = (at - packed_from) % GROUP;
        if run < GROUP {
            at += run;
        } else if unaligned > 0 {
            // The group before the run is filled up with numbers of the run.
            at += GROUP - unaligned;
        } else {
            pack(&numbers[packed_from..at], width, out);
            repeat(numbers[at], run, width, out);
            at += run;
            packed_from = at;
        }
    }
    pack(&numbers[packed_from..], width, out);
}

fn run_length(numbers: &[u32]) -> usize {
    numbers.iter().take_while(|number| **number == numbers[0]).count()
}

/// Appends a run: `count` times one number of `width` bits.
pub(super) fn repeat(number: u32, count: usize, width: u8, out: &mut Vec<u8>) {
    varint(wide(count) << 1, out);
    out.extend_from_slice(&number.to_le_bytes()[..usize::from(width.div_ceil(8))]);
}

/// Appends bit-packed groups. Only the last group of a sequence may be partial.
fn pack(numbers: &[u32], width: u8, out: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let groups = numbers.len().div_ceil(GROUP);
    varint(wide(groups) << 1 | 1, out);
    let end = out.len() + groups * usize::from(width);
    let (mut bits, mut filled) = (0_u64, 0_u32);
    for number in numbers {
        bits |= u64::from(*number) << filled;
        filled += u32::from(width);
        if filled >= u32::BITS {
            out.extend_from_slice(&bits.to_le_bytes()[..4]);
            bits >>= u32::BITS;
            filled -= u32::BITS;
        }
    }
    while filled > 0 {
        out.push(bits.to_le_bytes()[0]);
        bits >>= 8;
        filled = filled.saturating_sub(8);
    }
    out.resize(end, 0);
}

fn wide(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Appends a number with 7 bits per byte (ULEB128).
pub(super) fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Returns the bits of the numbers below `count`; at least 1, because some readers do not accept 0.
pub(super) fn width_for(count: usize) -> u8 {
    let last = u32::try_from(count.saturating_sub(1)).unwrap_or(u32::MAX);
    u8::try_from(32 - last.leading_zeros()).unwrap_or(32).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{encode, width_for};
    use crate::rle::Hybrid;

    fn round_trip(numbers: &[u32], width: u8) -> Vec<u32> {
        let mut bytes = Vec::new();
        encode(numbers, width, &mut bytes);
        let mut read = Vec::new();
        let mut hybrid = Hybrid::new(0, bytes.len(), width).unwrap();
        hybrid.read(&bytes, numbers.len(), &mut read).unwrap();
        read
    }

    #[test]
    fn the_example_of_the_format_is_written_so() {
        // "Bit-packing deprecated .. the numbers 1 through 7 using bit width 3" and 0 before them.
        let mut bytes = Vec::new();
        encode(&[0, 1, 2, 3, 4, 5, 6, 7], 3, &mut bytes);
        assert_eq!(bytes, [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            runs in prop::collection::vec((0..5_u32, 1..40_usize), 0..40),
            more in 1..20_u32,
        ) {
            let numbers: Vec<u32> =
                runs.iter().flat_map(|(n, count)| vec![n * more; *count]).collect();
            let most = usize::try_from(4 * more + 1).unwrap();
            prop_assert_eq!(round_trip(&numbers, width_for(most)), numbers);
        }
    }

    #[test]
    fn numbers_of_all_widths_are_read_again() {
        for width in 1..=32_u8 {
            let most = u32::MAX >> (32 - width);
            let numbers: Vec<u32> =
                (0..100_u32).map(|n| n.wrapping_mul(0x9E37_79B9) & most).collect();
            assert_eq!(round_trip(&numbers, width), numbers, "{width}");
        }
    }
}
