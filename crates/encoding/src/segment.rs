//! `Segment`: the encoded values of one column of a row group.
//!
//! ```text
//!  kind u8 | ordered u8 | 0 u16 | rows u32 | NULLs u32 | data u32 | least i64 | largest i64
//!  NULLs: 128 bytes a block, if there are any | zones: least and largest of each block, if ordered | data
//! ```

use types::batch::{Selection, Vector};

use super::convert::{bytes_of, is_ordered, push_bytes, push_words, words_of};
use super::numbers::{self, NumberEncoding, Numbers};
use super::strings::{self, Dictionary, StringEncoding, Strings};
use super::{BLOCK_ROWS, i64_at, put_u32, simd, u32_at};

const HEADER_BYTES: usize = 32;
/// Bytes of the NULL bitmap of a block.
const NULL_BYTES: usize = BLOCK_ROWS / 8;
/// Bytes of a zone: minimum and maximum.
const ZONE_BYTES: usize = 16;

/// Rows of a block for each one that is wanted, from which on the wanted ones are decoded alone.
const FEW_ROWS: usize = 8;

/// Returns the selected rows of a block, if they are so few that they are decoded alone.
pub fn few_of(rows: &Selection) -> Option<&[u16]> {
    rows.list().filter(|list| list.len() * FEW_ROWS <= BLOCK_ROWS)
}

/// How a segment is encoded: what `sys.column_store_segments.encoding_type` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// All rows have one value.
    Constant,
    /// Runs of equal numbers.
    RunLength,
    /// Codes into a dictionary of numbers.
    NumberDictionary,
    /// Bit-packed differences to the minimum.
    Packed,
    /// Codes into a dictionary of strings.
    StringDictionary,
    /// The strings one after the other, without a dictionary.
    Strings,
}

/// The minimum and maximum of some rows, as words, without NULLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// The minimum, as a word.
    pub least: i64,
    /// The maximum, as a word.
    pub largest: i64,
}

impl Zone {
    /// The zone of no row: it contains no word.
    const NONE: Self = Self { least: i64::MAX, largest: i64::MIN };

    fn see(&mut self, word: i64) {
        self.least = self.least.min(word);
        self.largest = self.largest.max(word);
    }

    fn join(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), largest: self.largest.max(other.largest) }
    }
}

/// Buffers that are reused from segment to segment.
#[derive(Default)]
pub(crate) struct Room {
    words: Vec<i64>,
    bytes: Vec<u8>,
}

/// Encodes a column; `None` if segments do not support its type.
pub(crate) fn encode<'r>(column: &Vector, room: &'r mut Room) -> Option<&'r [u8]> {
    let Room { words, bytes: out } = room;
    words.clear();
    out.clear();
    let is_words = words_of(column.data(), words);
    let is_ordered = is_words && is_ordered(column.data());
    let nulls = (0..column.len()).filter(|row| column.is_null(*row)).count();
    let zones = if is_words { zones_of(column, words, nulls > 0) } else { Vec::new() };
    let whole = zones.iter().copied().fold(Zone::NONE, Zone::join);
    let blocks = column.len().div_ceil(BLOCK_ROWS);
    let data = HEADER_BYTES
        + if nulls > 0 { blocks * NULL_BYTES } else { 0 }
        + if is_ordered { blocks * ZONE_BYTES } else { 0 };
    out.extend_from_slice(&[u8::from(!is_words), u8::from(is_ordered), 0, 0]);
    put_u32(column.len(), out);
    put_u32(nulls, out);
    put_u32(data, out);
    out.extend_from_slice(&whole.least.to_le_bytes());
    out.extend_from_slice(&whole.largest.to_le_bytes());
    if nulls > 0 {
        let words = column.nulls().words();
        for place in 0..blocks * NULL_BYTES / 8 {
            let word = words.get(place).copied().unwrap_or(0);
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
    if is_ordered {
        for zone in zones {
            out.extend_from_slice(&zone.least.to_le_bytes());
            out.extend_from_slice(&zone.largest.to_le_bytes());
        }
    }
    if is_words {
        numbers::encode(words, out);
        return Some(out);
    }
    encode_bytes(column, out).then_some(out)
}

/// Computes the zone of each block; a NULL gets the number before it, which encodes smallest.
fn zones_of(column: &Vector, words: &mut [i64], has_nulls: bool) -> Vec<Zone> {
    let mut zones = Vec::with_capacity(words.len().div_ceil(BLOCK_ROWS));
    let first = (0..words.len()).find(|row| !column.is_null(*row));
    let mut last = first.map_or(0, |row| words[row]);
    for (block, words) in words.chunks_mut(BLOCK_ROWS).enumerate() {
        let mut zone = Zone::NONE;
        for (row, word) in words.iter_mut().enumerate() {
            if has_nulls && column.is_null(block * BLOCK_ROWS + row) {
                *word = last;
            } else {
                zone.see(*word);
                last = *word;
            }
        }
        zones.push(zone);
    }
    zones
}

fn encode_bytes(column: &Vector, out: &mut Vec<u8>) -> bool {
    let rows = column.len();
    if let Some(strings) = column.byte_rows() {
        // The content of a NULL row is arbitrary and is not kept.
        let get = |row| if column.is_null(row) { &[][..] } else { strings.get(row) };
        strings::encode(rows, get, out);
        return true;
    }
    let (mut arena, mut ends) = (Vec::new(), Vec::with_capacity(rows));
    for row in 0..rows {
        if !bytes_of(&column.get(row), &mut arena) {
            return false;
        }
        ends.push(arena.len());
    }
    let start = |row: usize| row.checked_sub(1).map_or(0, |before| ends[before]);
    strings::encode(rows, |row| &arena[start(row)..ends[row]], out);
    true
}

/// An encoded column, opened for reading.
#[derive(Clone, Copy)]
pub struct Segment<'a> {
    bytes: &'a [u8],
}

impl<'a> Segment<'a> {
    /// Opens the bytes that [`super::GroupBuilder::finish`] made.
    pub fn open(bytes: &'a [u8]) -> Self {
        assert!(bytes.len() >= HEADER_BYTES, "a segment has a header");
        Self { bytes }
    }

    /// Returns the number of rows, including NULLs.
    pub fn rows(&self) -> usize {
        u32_at(self.bytes, 1)
    }

    /// Returns the number of NULL rows.
    pub fn nulls(&self) -> usize {
        u32_at(self.bytes, 2)
    }

    /// Returns the number of blocks of 1,024 rows.
    pub fn blocks(&self) -> usize {
        self.rows().div_ceil(BLOCK_ROWS)
    }

    /// Returns the size of the segment in bytes.
    pub const fn memory(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the encoding of the segment's values.
    pub fn encoding(&self) -> Encoding {
        if self.is_words() {
            return match Numbers::open(self.data()).encoding {
                NumberEncoding::Constant => Encoding::Constant,
                NumberEncoding::Runs => Encoding::RunLength,
                NumberEncoding::Dictionary => Encoding::NumberDictionary,
                NumberEncoding::Packed => Encoding::Packed,
            };
        }
        match Strings::open(self.data()).encoding {
            StringEncoding::Dictionary => Encoding::StringDictionary,
            StringEncoding::Plain => Encoding::Strings,
        }
    }

    /// Returns the number of entries of its dictionary; 0 if it has none.
    pub fn dictionary_entries(&self) -> usize {
        match self.is_words() {
            true => Numbers::open(self.data()).entries(),
            false => Strings::open(self.data()).entries(),
        }
    }

    /// Returns minimum and maximum; `None` if words do not order like the values, or all are NULL.
    pub fn zone(&self) -> Option<Zone> {
        self.zone_at(2).filter(|zone| zone.least <= zone.largest)
    }

    /// Returns the minimum and maximum of one block, like [`Self::zone`].
    pub fn block_zone(&self, block: usize) -> Option<Zone> {
        let nulls = if self.nulls() > 0 { self.blocks() * NULL_BYTES } else { 0 };
        self.zone_at((HEADER_BYTES + nulls + block * ZONE_BYTES) / 8)
            .filter(|zone| zone.least <= zone.largest)
    }

    /// Returns the number of NULL rows of a block.
    pub fn block_nulls(&self, block: usize) -> usize {
        let mut nulls = 0;
        self.nulls_of(block, |_| nulls += 1);
        nulls
    }

    /// Returns the sum of the words of a block's rows that are not NULL; `None` if words do not
    /// order like the values. Bit-packed numbers are added without unpacking.
    pub fn block_sum(&self, block: usize) -> Option<i128> {
        if !self.is_words() || self.bytes[1] == 0 {
            return None;
        }
        let words = Numbers::open(self.data());
        if self.nulls() == 0 {
            return Some(words.sum(block));
        }
        let mut all = [0; BLOCK_ROWS];
        let rows = words.block(block, &mut all);
        // The word of a NULL row is arbitrary.
        self.nulls_of(block, |row| all[row] = 0);
        Some(simd::sum_words(&all[..rows]))
    }

    /// Decodes a block into `out`, a vector of the column's type.
    pub fn block(&self, block: usize, out: &mut Vector) {
        self.decode(block, None, out);
    }

    /// Decodes the selected rows of a block into `out`, a vector of the column's type that then has
    /// all of the block's rows. The values of the other rows are arbitrary.
    pub fn rows_of_block(&self, block: usize, rows: &Selection, out: &mut Vector) {
        self.decode(block, few_of(rows), out);
    }

    /// Returns the dictionary of the segment's strings; `None` if it has none.
    pub fn dictionary(&self) -> Option<Dictionary<'a>> {
        if self.is_words() {
            return None;
        }
        let strings = Strings::open(self.data());
        (strings.encoding == StringEncoding::Dictionary).then(|| strings.dictionary())
    }

    /// Decodes a block, at least its wanted rows.
    fn decode(&self, block: usize, wanted: Option<&[u16]>, out: &mut Vector) {
        out.clear();
        if self.is_words() {
            let mut words = [0; BLOCK_ROWS];
            let numbers = Numbers::open(self.data());
            let rows = match wanted {
                None => numbers.block(block, &mut words),
                Some(wanted) => numbers.some(block, wanted, &mut words),
            };
            push_words(&words[..rows], out.parts_mut().0);
            self.nulls_of(block, |row| out.parts_mut().1.set(row));
            return;
        }
        let strings = Strings::open(self.data());
        if let Some(rows) = out.byte_rows_mut() {
            // The string of a NULL row is empty.
            strings.append(block, wanted, rows);
            return self.nulls_of(block, |row| out.parts_mut().1.set(row));
        }
        let mut is_null = [false; BLOCK_ROWS];
        self.nulls_of(block, |row| is_null[row] = true);
        let mut row = 0;
        strings.block(block, |bytes| {
            if is_null[row] {
                out.push_null()
            } else {
                push_bytes(bytes, out)
            }
            row += 1;
        });
    }

    fn nulls_of(&self, block: usize, mut see: impl FnMut(usize)) {
        if self.nulls() == 0 {
            return;
        }
        let (words, _) =
            self.bytes[HEADER_BYTES + block * NULL_BYTES..][..NULL_BYTES].as_chunks::<8>();
        for (place, word) in words.iter().enumerate() {
            let mut word = u64::from_le_bytes(*word);
            while word != 0 {
                see(place * 64 + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
    }

    fn zone_at(&self, place: usize) -> Option<Zone> {
        let zone =
            || Zone { least: i64_at(self.bytes, place), largest: i64_at(self.bytes, place + 1) };
        (self.bytes[1] != 0).then(zone)
    }

    const fn is_words(&self) -> bool {
        self.bytes[0] == 0
    }

    fn data(&self) -> &'a [u8] {
        &self.bytes[u32_at(self.bytes, 3)..]
    }
}
