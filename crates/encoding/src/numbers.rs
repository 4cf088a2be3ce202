//! 64-bit numbers, in the encoding that a sample says is the smallest.
//!
//! | encoding | when | bytes |
//! |---|---|---|
//! | constant | all are equal | 16 |
//! | run-length | few runs of equal ones | 12 a run |
//! | dictionary | few different ones, far apart | 8 each, and a packed code a row |
//! | bit-packed | else | the difference of each to the minimum, packed: frame of reference |
//!
//! ```text
//!  encoding u8 | width u8 | 0 u16 | rows u32 | base i64 | runs: count u32, ends u32.., values i64..
//!                                                       | dictionary: count u32, values i64.., blocks
//!                                                       | packed: blocks
//! ```

use std::collections::HashMap;

use super::bit_pack::{self, bits, pack, packed_bytes, unpack};
use super::{BLOCK_ROWS, i64_at, put_u32, simd, u32_at};

/// The encoding of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberEncoding {
    Constant = 0,
    Runs = 1,
    Dictionary = 2,
    Packed = 3,
}

const HEADER_BYTES: usize = 16;
/// Bytes per run: its end and its value.
const RUN_BYTES: usize = 12;
/// The largest number of dictionary entries.
const ENTRIES_MAX: usize = if cfg!(test) { 50 } else { 1 << 14 };
/// The sample has one row in `SAMPLE_STEP`.
const SAMPLE_STEP: usize = if cfg!(test) { 4 } else { 64 };

/// Statistics of a segment's numbers.
struct Facts {
    least: i64,
    largest: i64,
    runs: usize,
}

impl Facts {
    fn of(values: &[i64]) -> Self {
        if values.is_empty() {
            return Self { least: 0, largest: 0, runs: 0 };
        }
        let (least, largest, changes) = simd::extent(values);
        Self { least, largest, runs: changes + 1 }
    }

    /// Returns the bits of the difference between minimum and maximum.
    fn width(&self) -> usize {
        bits(distance(self.least, self.largest))
    }
}

fn distance(base: i64, value: i64) -> u64 {
    value.wrapping_sub(base).cast_unsigned()
}

/// Appends the numbers in the smallest encoding.
pub(crate) fn encode(values: &[i64], out: &mut Vec<u8>) {
    let facts = Facts::of(values);
    if facts.runs <= 1 {
        return header(NumberEncoding::Constant, 0, values.len(), facts.least, out);
    }
    let packed = blocks(values.len()) * packed_bytes(facts.width());
    let runs = facts.runs * RUN_BYTES;
    let dictionary = dictionary_of(values, facts.width());
    let coded = dictionary.as_ref().map_or(usize::MAX, |entries| {
        entries.len() * 8 + blocks(values.len()) * packed_bytes(code_width(entries))
    });
    if runs < packed.min(coded) {
        encode_runs(values, &facts, out);
    } else if let Some(entries) = dictionary.filter(|_| coded < packed) {
        encode_codes(values, &entries, out);
    } else {
        header(NumberEncoding::Packed, facts.width(), values.len(), facts.least, out);
        pack_all(values, facts.width(), |values, to| simd::distances(values, facts.least, to), out);
    }
}

fn blocks(rows: usize) -> usize {
    rows.div_ceil(BLOCK_ROWS)
}

fn code_width(entries: &[i64]) -> usize {
    bits(u64::try_from(entries.len().saturating_sub(1)).unwrap_or(u64::MAX))
}

fn header(encoding: NumberEncoding, width: usize, rows: usize, base: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&[encoding as u8, u8::try_from(width).unwrap_or(u8::MAX), 0, 0]);
    put_u32(rows, out);
    out.extend_from_slice(&base.to_le_bytes());
}

/// Returns the distinct numbers in ascending order; `None` if there are too many.
fn dictionary_of(values: &[i64], width: usize) -> Option<Vec<i64>> {
    let mut sample: Vec<i64> = values.iter().copied().step_by(SAMPLE_STEP).collect();
    let looked_at = sample.len();
    sample.sort_unstable();
    sample.dedup();
    // If most of a sample differ, so do most of all; and codes must be narrower than the numbers.
    if sample.len() * 2 > looked_at || code_width(&sample) >= width || sample.len() > ENTRIES_MAX {
        return None;
    }
    let mut known: HashMap<i64, (), foldhash::fast::RandomState> = HashMap::default();
    let mut last = None;
    for value in values {
        if last != Some(*value) && known.insert(*value, ()).is_none() && known.len() > ENTRIES_MAX {
            return None;
        }
        last = Some(*value);
    }
    let mut entries: Vec<i64> = known.into_keys().collect();
    entries.sort_unstable();
    Some(entries)
}

fn encode_runs(values: &[i64], facts: &Facts, out: &mut Vec<u8>) {
    header(NumberEncoding::Runs, 0, values.len(), facts.least, out);
    put_u32(facts.runs, out);
    let mut end = 0;
    let mut firsts = Vec::with_capacity(facts.runs);
    for run in values.chunk_by(|a, b| a == b) {
        end += run.len();
        put_u32(end, out);
        firsts.push(run[0]);
    }
    firsts.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

fn encode_codes(values: &[i64], entries: &[i64], out: &mut Vec<u8>) {
    let width = code_width(entries);
    header(NumberEncoding::Dictionary, width, values.len(), 0, out);
    put_u32(entries.len(), out);
    entries.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    let mut last = (entries[0], 0);
    let mut code = |value: i64| {
        if value != last.0 {
            let place = entries.partition_point(|entry| *entry < value);
            last = (value, u64::try_from(place).unwrap_or(u64::MAX));
        }
        last.1
    };
    let codes = |values: &[i64], to: &mut Block| {
        to.iter_mut().zip(values).for_each(|(to, value)| *to = code(*value));
    };
    pack_all(values, width, codes, out);
}

type Block = [u64; BLOCK_ROWS];

/// Packs block by block: `fill` turns the numbers of a block into what is packed.
fn pack_all(
    values: &[i64],
    width: usize,
    mut fill: impl FnMut(&[i64], &mut Block),
    out: &mut Vec<u8>,
) {
    let mut block = [0; BLOCK_ROWS];
    for values in values.chunks(BLOCK_ROWS) {
        fill(values, &mut block);
        block[values.len()..].fill(0);
        pack(&block, width, out);
    }
}

/// Encoded numbers, opened for reading.
#[derive(Clone, Copy)]
pub(crate) struct Numbers<'a> {
    pub(crate) encoding: NumberEncoding,
    width: usize,
    rows: usize,
    base: i64,
    rest: &'a [u8],
}

impl<'a> Numbers<'a> {
    pub(crate) fn open(bytes: &'a [u8]) -> Self {
        let encoding = match bytes[0] {
            0 => NumberEncoding::Constant,
            1 => NumberEncoding::Runs,
            2 => NumberEncoding::Dictionary,
            3 => NumberEncoding::Packed,
            other => unreachable!("{other} is no encoding of numbers"),
        };
        let (width, rows, base) = (usize::from(bytes[1]), u32_at(bytes, 1), i64_at(bytes, 1));
        Self { encoding, width, rows, base, rest: &bytes[HEADER_BYTES..] }
    }

    /// Returns the number of dictionary entries; 0 without a dictionary.
    pub(crate) fn entries(&self) -> usize {
        if self.encoding == NumberEncoding::Dictionary { u32_at(self.rest, 0) } else { 0 }
    }

    /// Decodes a block and returns its number of rows. Values of `out` behind them are arbitrary.
    pub(crate) fn block(&self, block: usize, out: &mut [i64; BLOCK_ROWS]) -> usize {
        let first = block * BLOCK_ROWS;
        let rows = self.rows.saturating_sub(first).min(BLOCK_ROWS);
        if rows == 0 {
            return 0;
        }
        match self.encoding {
            NumberEncoding::Constant => out.fill(self.base),
            NumberEncoding::Runs => self.runs(first, &mut out[..rows]),
            NumberEncoding::Packed => unpack(self.packed(0, block), self.width, self.base, out),
            NumberEncoding::Dictionary => {
                let entries = &self.rest[4..][..self.entries() * 8];
                unpack(self.packed(4 + entries.len(), block), self.width, 0, out);
                for word in &mut out[..rows] {
                    let code = usize::try_from(*word).expect("a code is a place in the dictionary");
                    *word = i64_at(entries, code);
                }
            }
        }
        rows
    }

    /// Decodes the wanted numbers of a block, whose places are in ascending order, and returns its
    /// number of rows. The other values of `out` are arbitrary.
    pub(crate) fn some(&self, block: usize, wanted: &[u16], out: &mut [i64; BLOCK_ROWS]) -> usize {
        let rows = self.rows.saturating_sub(block * BLOCK_ROWS).min(BLOCK_ROWS);
        let wanted = wanted.iter().copied().map(usize::from);
        match self.encoding {
            NumberEncoding::Constant | NumberEncoding::Runs => return self.block(block, out),
            NumberEncoding::Packed => {
                let packed = self.packed(0, block);
                for row in wanted {
                    let word = bit_pack::one(packed, self.width, row).cast_signed();
                    out[row] = word.wrapping_add(self.base);
                }
            }
            NumberEncoding::Dictionary => {
                let entries = &self.rest[4..][..self.entries() * 8];
                let packed = self.packed(4 + entries.len(), block);
                for row in wanted {
                    let code = usize::try_from(bit_pack::one(packed, self.width, row));
                    out[row] = i64_at(entries, code.expect("a code is a place in the dictionary"));
                }
            }
        }
        rows
    }

    /// Returns the sum of a block, without decoding each number where the encoding allows it.
    pub(crate) fn sum(&self, block: usize) -> i128 {
        let first = block * BLOCK_ROWS;
        let rows = self.rows.saturating_sub(first).min(BLOCK_ROWS);
        let all = rows as i128 * i128::from(self.base);
        match self.encoding {
            NumberEncoding::Constant => return all,
            NumberEncoding::Packed => {
                // The padding of the last block is 0, so it does not change the sum.
                if let Some(sum) = bit_pack::sum(self.packed(0, block), self.width) {
                    return all + i128::from(sum);
                }
            }
            NumberEncoding::Runs | NumberEncoding::Dictionary => {}
        }
        let mut words = [0; BLOCK_ROWS];
        let rows = self.block(block, &mut words);
        simd::sum_words(&words[..rows])
    }

    fn packed(&self, start: usize, block: usize) -> &'a [u8] {
        let bytes = packed_bytes(self.width);
        &self.rest[start + block * bytes..][..bytes]
    }

    /// Decodes run-length encoded rows from `first` on.
    fn runs(&self, first: usize, mut out: &mut [i64]) {
        let count = u32_at(self.rest, 0);
        let ends = &self.rest[4..][..count * 4];
        let values = &self.rest[4 + count * 4..];
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = usize::midpoint(low, high);
            if u32_at(ends, middle) <= first { low = middle + 1 } else { high = middle }
        }
        let mut at = first;
        while !out.is_empty() {
            let end = u32_at(ends, low);
            let rows = (end - at).min(out.len());
            let (run, rest) = out.split_at_mut(rows);
            run.fill(i64_at(values, low));
            (out, at, low) = (rest, at + rows, low + 1);
        }
    }
}
