//! Byte strings, with a dictionary if a sample says that there are few distinct ones.
//!
//! ```text
//!  encoding u8 | 0 u8 | 0 u16 | rows u32 | dictionary: count u32, arena u32, ends u32.., arena, codes (numbers)
//!                                        | plain: blocks u32, words u32, starts u32.., lengths (numbers), arena
//! ```
//! Each plain block begins in the arena at its offset in `starts`.

use std::collections::HashMap;

use types::batch::{ByteRows, DictionaryId};

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

    /// Appends the strings of a block; of those that are not in `wanted`, only empty ones. `wanted`
    /// is in ascending order, `None` for all.
    pub(crate) fn append(&self, block: usize, wanted: Option<&[u16]>, out: &mut ByteRows) {
        let rows = self.rows.saturating_sub(block * BLOCK_ROWS).min(BLOCK_ROWS);
        if rows == 0 {
            return;
        }
        let mut words = [0; BLOCK_ROWS];
        match (self.encoding, wanted) {
            (StringEncoding::Dictionary, None) => {
                let dictionary = self.dictionary();
                dictionary.codes.block(block, &mut words);
                for code in &words[..rows] {
                    let (start, end) = dictionary.range(*code);
                    out.push_part(dictionary.arena, start, end);
                }
                out.set_codes(dictionary.id(), words[..rows].iter().copied().map(code_of));
            }
            (StringEncoding::Dictionary, Some(wanted)) => {
                let dictionary = self.dictionary();
                dictionary.codes.some(block, wanted, &mut words);
                push_some(wanted, rows, out, |row, out| {
                    let (start, end) = dictionary.range(words[row]);
                    out.push_part(dictionary.arena, start, end);
                });
                out.set_codes(dictionary.id(), words[..rows].iter().copied().map(code_of));
            }
            (StringEncoding::Plain, None) => {
                let (lengths, start, arena) = self.plain(block);
                lengths.block(block, &mut words);
                let total: usize = words[..rows].iter().copied().map(length).sum();
                let lengths = words[..rows]
                    .iter()
                    .map(|word| u32::try_from(*word).expect("a string is smaller than 4 GB"));
                out.push_run(&arena[start..start + total], lengths);
            }
            (StringEncoding::Plain, Some(wanted)) => {
                let (lengths, mut start, arena) = self.plain(block);
                lengths.block(block, &mut words);
                let mut at = 0;
                push_some(wanted, rows, out, |row, out| {
                    start += words[at..row].iter().copied().map(length).sum::<usize>();
                    at = row;
                    out.push_part(arena, start, start + length(words[row]));
                });
            }
        }
    }

    fn coded_block(&self, block: usize, mut see: impl FnMut(&'a [u8])) {
        let dictionary = self.dictionary();
        let mut words = [0; BLOCK_ROWS];
        let rows = dictionary.codes.block(block, &mut words);
        for code in &words[..rows] {
            let (start, end) = dictionary.range(*code);
            see(&dictionary.arena[start..end]);
        }
    }

    /// Returns the dictionary of coded strings.
    pub(crate) fn dictionary(&self) -> Dictionary<'a> {
        let (count, arena_bytes) = (u32_at(self.rest, 0), u32_at(self.rest, 1));
        let ends = &self.rest[8..][..count * 4];
        let arena = &self.rest[8 + count * 4..][..arena_bytes];
        let codes = Numbers::open(&self.rest[8 + count * 4 + arena_bytes..]);
        Dictionary { ends, arena, codes }
    }

    fn plain_block(&self, block: usize, mut see: impl FnMut(&'a [u8])) {
        let (lengths, mut start, arena) = self.plain(block);
        let mut words = [0; BLOCK_ROWS];
        let rows = lengths.block(block, &mut words);
        for word in &words[..rows] {
            let end = start + length(*word);
            see(&arena[start..end]);
            start = end;
        }
    }

    /// Returns the lengths of plain strings, where those of a block begin in the arena, and the
    /// arena.
    fn plain(&self, block: usize) -> (Numbers<'a>, usize, &'a [u8]) {
        let (blocks, words_bytes) = (u32_at(self.rest, 0), u32_at(self.rest, 1));
        let starts = &self.rest[8..][..blocks * 4];
        let lengths = Numbers::open(&self.rest[8 + blocks * 4..][..words_bytes]);
        (lengths, u32_at(starts, block), &self.rest[8 + blocks * 4 + words_bytes..])
    }
}

/// The different strings of a segment, and the code of each row.
#[derive(Clone, Copy)]
pub struct Dictionary<'a> {
    ends: &'a [u8],
    arena: &'a [u8],
    codes: Numbers<'a>,
}

impl<'a> Dictionary<'a> {
    /// Returns what identifies the dictionary as long as its segment is in memory.
    pub fn id(&self) -> DictionaryId {
        DictionaryId { address: self.ends.as_ptr().addr(), entries: self.ends.len() / 4 }
    }

    /// Returns the string of a code.
    ///
    /// # Panics
    /// If no row has this code.
    pub fn get(&self, code: u32) -> &'a [u8] {
        let (start, end) = self.range(i64::from(code));
        &self.arena[start..end]
    }

    /// Replaces `out` by the codes of a block's rows. Those of rows that are not in `wanted`, which is
    /// in ascending order, are arbitrary; `None` is all rows. NULL rows have some code too.
    pub fn codes(&self, block: usize, wanted: Option<&[u16]>, out: &mut Vec<u32>) {
        let mut words = [0; BLOCK_ROWS];
        let rows = match wanted {
            None => self.codes.block(block, &mut words),
            Some(wanted) => self.codes.some(block, wanted, &mut words),
        };
        out.clear();
        out.extend(words[..rows].iter().copied().map(code_of));
    }

    /// Returns where the string of a code begins and ends in the arena.
    #[inline]
    fn range(&self, code: i64) -> (usize, usize) {
        let code = usize::try_from(code).expect("a code is a place in the dictionary");
        let start = code.checked_sub(1).map_or(0, |before| u32_at(self.ends, before));
        (start, u32_at(self.ends, code))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a dictionary has fewer than 2^32 entries"
)]
const fn code_of(word: i64) -> u32 {
    word as u32
}

fn length(word: i64) -> usize {
    usize::try_from(word).expect("a length is not negative")
}

/// Appends `rows` rows: the wanted ones by `push`, the others empty.
fn push_some(
    wanted: &[u16],
    rows: usize,
    out: &mut ByteRows,
    mut push: impl FnMut(usize, &mut ByteRows),
) {
    let mut next = 0;
    for row in wanted.iter().copied().map(usize::from) {
        out.push_empty(row - next);
        push(row, out);
        next = row + 1;
    }
    out.push_empty(rows - next);
}
