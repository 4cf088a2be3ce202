//! `ByteRows`: the strings of a vector, stored one after the other in one buffer.

use crate::{Bytes, Value};

/// The kind of value that the bytes of a row are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteKind {
    /// Rows are [`Value::VarChar`], in a code page.
    VarChar,
    /// Rows are [`Value::NVarChar`], in UTF-16LE.
    NVarChar,
    /// Rows are [`Value::VarBinary`], plain bytes.
    VarBinary,
}

impl ByteKind {
    /// Makes a value of this kind from bytes.
    #[inline]
    pub fn value(self, bytes: Bytes) -> Value {
        match self {
            Self::VarChar => Value::VarChar(bytes),
            Self::NVarChar => Value::NVarChar(bytes),
            Self::VarBinary => Value::VarBinary(bytes),
        }
    }

    /// Returns the kind and the bytes of a string or binary value.
    pub fn of(value: &Value) -> Option<(Self, &Bytes)> {
        match value {
            Value::VarChar(bytes) => Some((Self::VarChar, bytes)),
            Value::NVarChar(bytes) => Some((Self::NVarChar, bytes)),
            Value::VarBinary(bytes) => Some((Self::VarBinary, bytes)),
            _ => None,
        }
    }
}

/// Strings in one buffer: row `i` is `arena[ends[i - 1]..ends[i]]`.
#[derive(Clone, Debug)]
pub struct ByteRows {
    /// The kind of value of every row.
    pub kind: ByteKind,
    ends: Vec<u32>,
    arena: Vec<u8>,
    /// The dictionary that the rows come from, and the code of each row: valid if there are as many
    /// codes as rows.
    dictionary: DictionaryId,
    codes: Vec<u32>,
}

/// Identifies a dictionary among those that a statement reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DictionaryId {
    /// Where the dictionary is in memory.
    pub address: usize,
    /// Number of its entries: codes are less than this.
    pub entries: usize,
}

/// The codes of rows that come from a dictionary: rows of equal codes are equal. The codes of NULL
/// rows and of rows that were not decoded are arbitrary.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'a> {
    /// The dictionary that all rows come from.
    pub dictionary: DictionaryId,
    /// The code of each row.
    pub rows: &'a [u32],
}

impl PartialEq for ByteRows {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, &self.ends, &self.arena) == (other.kind, &other.ends, &other.arena)
    }
}

impl Eq for ByteRows {}

impl ByteRows {
    /// Makes an empty list of rows.
    #[inline]
    pub const fn new(kind: ByteKind) -> Self {
        let dictionary = DictionaryId { address: 0, entries: 0 };
        Self { kind, ends: Vec::new(), arena: Vec::new(), dictionary, codes: Vec::new() }
    }

    /// Returns the number of rows.
    #[inline]
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is no row.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the sum of the rows' lengths, in bytes.
    #[inline]
    pub const fn total(&self) -> usize {
        self.arena.len()
    }

    /// Returns a row's bytes.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.arena[start as usize..self.ends[row] as usize]
    }

    /// Returns whether `bytes` more bytes fit: the sum of lengths is counted in 32 bits.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        u32::try_from(self.arena.len() + bytes).is_ok()
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If there is no room: see [`Self::has_room`].
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        self.arena.extend_from_slice(bytes);
        self.end_row();
    }

    /// Appends `source[start..end]` as a row. A short row is copied as a fixed number of bytes if
    /// the source has as many, which is far cheaper than a copy of variable length.
    ///
    /// # Panics
    /// As [`Self::push`], and if `end` is past the end of the source.
    #[inline]
    pub fn push_part(&mut self, source: &[u8], start: usize, end: usize) {
        const PIECE: usize = 32;
        if end - start <= PIECE
            && let Some(piece) = source.get(start..start + PIECE)
        {
            let len = self.arena.len() + (end - start);
            self.arena.extend_from_slice(piece);
            self.arena.truncate(len);
        } else {
            self.arena.extend_from_slice(&source[start..end]);
        }
        self.end_row();
    }

    /// Appends a row of `source`.
    ///
    /// # Panics
    /// As [`Self::push`], and if `source` has no such row.
    #[inline]
    pub fn push_row(&mut self, source: &Self, row: usize) {
        let start = if row == 0 { 0 } else { source.ends[row - 1] };
        self.push_part(&source.arena, start as usize, source.ends[row] as usize);
    }

    /// Appends rows that lie one after the other in `bytes`, whose lengths these are.
    ///
    /// # Panics
    /// If there is no room, or the lengths do not add up to all bytes.
    pub fn push_run(&mut self, bytes: &[u8], lengths: impl Iterator<Item = u32>) {
        let mut end = self.ends.last().copied().unwrap_or(0);
        self.arena.extend_from_slice(bytes);
        self.ends.extend(lengths.map(|length| {
            end = end.wrapping_add(length);
            end
        }));
        assert_eq!(usize::try_from(end), Ok(self.arena.len()), "the rows are all of the bytes");
    }

    /// Reserves memory for rows and bytes.
    #[inline]
    pub fn reserve(&mut self, rows: usize, bytes: usize) {
        self.ends.reserve(rows);
        self.arena.reserve(bytes);
    }

    /// Appends `rows` empty rows.
    #[inline]
    pub fn push_empty(&mut self, rows: usize) {
        let end = self.ends.last().copied().unwrap_or(0);
        self.ends.resize(self.ends.len() + rows, end);
    }

    /// Appends a row that `write` appends to the arena.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn push_with<R>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let result = write(&mut self.arena);
        self.end_row();
        result
    }

    /// Drops all rows; keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.ends.clear();
        self.arena.clear();
        self.codes.clear();
    }

    /// Notes that all rows come from a dictionary, and the code of each. Rows that are added later
    /// make this void.
    ///
    /// # Panics
    /// If there are not as many codes as rows.
    pub fn set_codes(&mut self, dictionary: DictionaryId, codes: impl Iterator<Item = u32>) {
        self.dictionary = dictionary;
        self.codes.clear();
        self.codes.extend(codes);
        assert_eq!(self.codes.len(), self.ends.len(), "each row has a code");
    }

    /// Returns the codes of the rows, if all come from one dictionary.
    #[inline]
    pub fn codes(&self) -> Option<Codes<'_>> {
        let are_valid = !self.codes.is_empty() && self.codes.len() == self.ends.len();
        are_valid.then_some(Codes { dictionary: self.dictionary, rows: &self.codes })
    }

    #[inline]
    fn end_row(&mut self) {
        let end = u32::try_from(self.arena.len()).expect("the caller has asked has_room");
        self.ends.push(end);
    }
}
