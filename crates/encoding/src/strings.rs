//! Byte strings, with a dictionary if a sample says that there are few distinct ones.
//!
//! ```text
//!  encoding u8 | 0 u8 | 0 u16 | rows u32 | dictionary: count u32, arena u32, ends u32.., arena, codes (numbers)
//!                                        | plain: blocks u32, words u32, starts u32.., lengths (numbers), arena
//! ```
//! Each plain block begins in the arena at its offset in `starts`.

use std::collections::HashMap;

use super::numbers::{self, Numbers};
use super::{BLOCK_ROWS, put_u32, u32_at};

/// The encoding of the strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StringEncoding {
    Dictionary = 0,
    Plain = 1,
}

const HEADER_BYTES: usize = 8;
/// The largest number of dictionary entries.
const ENTRIES_MAX: usize = if cfg!(test) { 40 } else { 1 << 16 };
/// The sample has one row in `SAMPLE_STEP`.
const SAMPLE_STEP: usize = if cfg!(test) { 4 } else { 64 };

/// The dictionary of some strings, and the code of each row.
struct Coded<'a> {
    entries: Vec<&'a [u8]>,
    codes: Vec<i64>,
}

/// Appends `rows` strings in the smaller encoding.
pub(crate) fn encode<'a>(rows: usize, get: impl Fn(usize) -> &'a [u8], out: &mut Vec<u8>) {
    let coded = coded(rows, &get);
    let encoding = if coded.is_some() { StringEncoding::Dictionary } else { StringEncoding::Plain };
    out.extend_from_slice(&[encoding as u8, 0, 0, 0]);
    put_u32(rows, out);
    match coded {
        Some(coded) => encode_coded(&coded, out),
        None => encode_plain(rows, &get, out),
    }
}

/// Gives each row the code of its string; `None` if there are too many distinct strings.
fn coded<'a>(rows: usize, get: &impl Fn(usize) -> &'a [u8]) -> Option<Coded<'a>> {
    let mut sample: Vec<&[u8]> = (0..rows).step_by(SAMPLE_STEP).map(get).collect();
    let looked_at = sample.len();
    sample.sort_unstable();
    sample.dedup();
    if sample.len() * 2 > looked_at || sample.len() > ENTRIES_MAX {
        return None;
    }
    let mut numbers: HashMap<&[u8], i64, foldhash::fast::RandomState> = HashMap::default();
    let mut coded = Coded { entries: Vec::new(), codes: Vec::with_capacity(rows) };
    for row in 0..rows {
        let next = i64::try_from(coded.entries.len()).expect("a segment has fewer than 2^32 rows");
        let string = get(row);
        let number = *numbers.entry(string).or_insert(next);
        if number == next {
            if coded.entries.len() == ENTRIES_MAX {
                return None;
            }
            coded.entries.push(string);
        }
        coded.codes.push(number);
    }
    Some(coded)
}

fn encode_coded(coded: &Coded<'_>, out: &mut Vec<u8>) {
    put_u32(coded.entries.len(), out);
    put_u32(coded.entries.iter().map(|entry| entry.len()).sum(), out);
    let mut end = 0;
    for entry in &coded.entries {
        end += entry.len();
        put_u32(end, out);
    }
    coded.entries.iter().for_each(|entry| out.extend_from_slice(entry));
    numbers::encode(&coded.codes, out);
}

fn encode_plain<'a>(rows: usize, get: &impl Fn(usize) -> &'a [u8], out: &mut Vec<u8>) {
    let length = |row| i64::try_from(get(row).len()).expect("a string is smaller than 2^63 bytes");
    let lengths: Vec<i64> = (0..rows).map(length).collect();
    let mut encoded = Vec::new();
    numbers::encode(&lengths, &mut encoded);
    put_u32(rows.div_ceil(BLOCK_ROWS), out);
    put_u32(encoded.len(), out);
    let mut start = 0;
    for row in 0..rows {
        if row % BLOCK_ROWS == 0 {
            put_u32(start, out);
        }
        start += get(row).len();
    }
    out.extend_from_slice(&encoded);
    (0..rows).for_each(|row| out.extend_from_slice(get(row)));
}

/// Encoded strings, opened for reading.
#[derive(Clone, Copy)]
pub(crate) struct Strings<'a> {
    pub(crate) encoding: StringEncoding,
    rows: usize,
    rest: &'a [u8],
}

impl<'a> Strings<'a> {
    pub(crate) fn open(bytes: &'a [u8]) -> Self {
        let encoding =
            if bytes[0] == 0 { StringEncoding::Dictionary } else { StringEncoding::Plain };
        Self { encoding, rows: u32_at(bytes, 1), rest: &bytes[HEADER_BYTES..] }
    }

    /// Returns the number of dictionary entries; 0 without a dictionary.
    pub(crate) fn entries(&self) -> usize {
        if self.encoding == StringEncoding::Dictionary { u32_at(self.rest, 0) } else { 0 }
    }

    /// Calls `see` with each string of a block, in row order.
    pub(crate) fn block(&self, block: usize, see: impl FnMut(&'a [u8])) {
        let rows = self.rows.saturating_sub(block * BLOCK_ROWS).min(BLOCK_ROWS);
        if rows == 0 {
            return;
        }
        match self.encoding {
            StringEncoding::Dictionary => self.coded_block(block, see),
            StringEncoding::Plain => self.plain_block(block, see),
        }
    }

    fn coded_block(&self, block: usize, mut see: impl FnMut(&'a [u8])) {
        let (count, arena_bytes) = (u32_at(self.rest, 0), u32_at(self.rest, 1));
        let ends = &self.rest[8..][..count * 4];
        let arena = &self.rest[8 + count * 4..][..arena_bytes];
        let codes = Numbers::open(&self.rest[8 + count * 4 + arena_bytes..]);
        let mut words = [0; BLOCK_ROWS];
        let rows = codes.block(block, &mut words);
        for code in &words[..rows] {
            let code = usize::try_from(*code).expect("a code is a place in the dictionary");
            let start = code.checked_sub(1).map_or(0, |before| u32_at(ends, before));
            see(&arena[start..u32_at(ends, code)]);
        }
    }

    fn plain_block(&self, block: usize, mut see: impl FnMut(&'a [u8])) {
        let (blocks, words_bytes) = (u32_at(self.rest, 0), u32_at(self.rest, 1));
        let starts = &self.rest[8..][..blocks * 4];
        let lengths = Numbers::open(&self.rest[8 + blocks * 4..][..words_bytes]);
        let arena = &self.rest[8 + blocks * 4 + words_bytes..];
        let mut words = [0; BLOCK_ROWS];
        let rows = lengths.block(block, &mut words);
        let mut start = u32_at(starts, block);
        for length in &words[..rows] {
            let end = start + usize::try_from(*length).expect("a length is not negative");
            see(&arena[start..end]);
            start = end;
        }
    }
}
