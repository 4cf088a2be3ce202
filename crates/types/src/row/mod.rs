//! The row codec: encodes values to the payload of a row version, and decodes one column at a time.
//!
//! ```text
//! +-------------+---------------+-----------------------+-----------------+
//! | null bitmap | fixed columns | end of each variable  | variable values |
//! +-------------+---------------+-----------------------+-----------------+
//! ```
//! An end is 16 bits, or 32 if the columns could fill more than 32 KB; it is an offset from the
//! start of the variable values. A value longer than [`INLINE_BYTES_MAX`] is kept out of line as a
//! shared [`Bytes`] in a side list, so that row versions which do not change it share it: its end
//! has the top bit set, and its place in the row holds its index in the list.

mod decode;
mod fixed;
mod images;
mod variant;

use crate::{Bytes, ColumnType, DataType, Value};
pub use decode::Images;
use fixed::FixedKind;
pub use images::ImageError;

/// The longest variable value that is stored within the row, in bytes.
pub const INLINE_BYTES_MAX: usize = 1_024;

/// The offset of each column in a row.
#[derive(Clone, Debug)]
pub struct RowLayout {
    types: Box<[ColumnType]>,
    columns: Box<[Column]>,
    /// Offset of the first end.
    ends_start: usize,
    /// Offset of the first variable value.
    variable_start: usize,
    wide_ends: bool,
}

#[derive(Clone, Copy, Debug)]
enum Column {
    /// At this offset from the start of the row.
    Fixed(FixedKind, usize),
    /// The n-th variable column.
    Variable(VariableKind, usize),
}

#[derive(Clone, Copy, Debug)]
enum VariableKind {
    VarChar,
    NVarChar,
    VarBinary,
    Variant,
}

/// An encoded row that owns its bytes; reused from row to row.
#[derive(Clone, Debug, Default)]
pub struct RowBuffer {
    /// The row's fixed and inline bytes.
    pub bytes: Vec<u8>,
    /// The values that are out of line.
    pub blobs: Vec<Bytes>,
}

/// An encoded row, borrowed, with its layout.
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a> {
    layout: &'a RowLayout,
    bytes: &'a [u8],
    blobs: &'a [Bytes],
}

/// A string or binary value, borrowed from an encoded row.
#[derive(Clone, Copy, Debug)]
pub enum RowText<'a> {
    /// A string in the column's code page.
    VarChar(&'a [u8]),
    /// A string in UTF-16LE.
    NVarChar(&'a [u8]),
    /// Bytes of a binary type.
    VarBinary(&'a [u8]),
}

/// What a comparison of the bytes of two values shows about the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// Equal: the bytes are the same.
    Same,
    /// Unequal: other bytes always mean another value.
    Differs,
    /// Perhaps equal although the bytes differ: 0.0 and -0.0, or letters of two cases.
    Unknown,
}

/// A variable value, in the row or out of line.
enum Slot<'a> {
    Inline(&'a [u8]),
    Blob(&'a Bytes),
}

impl RowLayout {
    /// Lays out a row of `columns`.
    pub fn new(columns: &[ColumnType]) -> Self {
        // The null bitmap comes first.
        let (mut offset, mut variables, mut variable_bytes) = (columns.len().div_ceil(8), 0, 0);
        let places = columns.iter().map(|column| match place(&column.data_type) {
            Place::Fixed(kind) => {
                let at = offset;
                offset += kind.size();
                Column::Fixed(kind, at)
            }
            Place::Variable(kind) => {
                let longest = column.data_type.bytes_max().map_or(INLINE_BYTES_MAX, usize::from);
                variable_bytes += longest.min(INLINE_BYTES_MAX);
                variables += 1;
                Column::Variable(kind, variables - 1)
            }
        });
        let places = places.collect();
        let wide_ends = variable_bytes >= 1 << 15;
        let end_size = if wide_ends { 4 } else { 2 };
        Self {
            types: columns.into(),
            columns: places,
            ends_start: offset,
            variable_start: offset + variables * end_size,
            wide_ends,
        }
    }

    /// Returns the columns' types, in order.
    #[inline]
    pub fn columns(&self) -> &[ColumnType] {
        &self.types
    }

    /// Encodes `values`, one per column, already converted to the columns' types, over `row`.
    ///
    /// # Panics
    /// If a value is not of its column's type.
    pub fn encode(&self, values: &[Value], row: &mut RowBuffer) {
        assert_eq!(values.len(), self.columns.len(), "a row has a value per column");
        self.start(row);
        for (ordinal, value) in values.iter().enumerate() {
            self.push(ordinal, value, row);
        }
    }

    /// Encodes `source` with the columns in `changes` (each at most once) replaced, over `row`;
    /// shares the unchanged blobs.
    ///
    /// # Panics
    /// If a value is not of its column's type.
    pub fn update(&self, source: RowView<'_>, changes: &[(usize, &Value)], row: &mut RowBuffer) {
        let is_fixed = |ordinal: usize| matches!(self.columns[ordinal], Column::Fixed(..));
        if changes.iter().all(|(ordinal, _)| is_fixed(*ordinal)) {
            row.bytes.clear();
            row.bytes.extend_from_slice(source.bytes);
            row.blobs.clear();
            row.blobs.extend_from_slice(source.blobs);
            changes.iter().for_each(|(ordinal, value)| self.push(*ordinal, value, row));
            return;
        }
        self.start(row);
        row.bytes[..self.ends_start].copy_from_slice(&source.bytes[..self.ends_start]);
        for (ordinal, column) in self.columns.iter().enumerate() {
            let change = changes.iter().find(|(changed, _)| *changed == ordinal);
            match (change, column) {
                (Some((_, value)), _) => self.push(ordinal, value, row),
                (None, Column::Fixed(..)) => {}
                (None, Column::Variable(_, index)) => {
                    self.push_slot(source.slot(*index), *index, row)
                }
            }
        }
    }

    /// Reads a row that was encoded with this layout.
    pub fn view<'a>(&'a self, bytes: &'a [u8], blobs: &'a [Bytes]) -> RowView<'a> {
        RowView { layout: self, bytes, blobs }
    }

    /// Makes an empty row: no NULL, fixed columns zero, no variable values.
    fn start(&self, row: &mut RowBuffer) {
        row.bytes.clear();
        row.bytes.resize(self.variable_start, 0);
        row.blobs.clear();
    }

    /// Writes one column. Variable columns must come in order.
    fn push(&self, ordinal: usize, value: &Value, row: &mut RowBuffer) {
        let mask = 1 << (ordinal % 8);
        if value.is_null() {
            row.bytes[ordinal / 8] |= mask;
        } else {
            row.bytes[ordinal / 8] &= !mask;
        }
        match self.columns[ordinal] {
            Column::Fixed(kind, at) => kind.write(value, &mut row.bytes[at..at + kind.size()]),
            Column::Variable(kind, index) => match (kind, value) {
                (_, Value::Null) => self.push_slot(Slot::Inline(&[]), index, row),
                (VariableKind::Variant, Value::Variant(inner)) => {
                    let encoded = Bytes::from(variant::encode(&inner.0, &inner.1));
                    self.push_slot(Slot::of(&encoded), index, row);
                }
                (VariableKind::VarChar, Value::VarChar(bytes))
                | (VariableKind::NVarChar, Value::NVarChar(bytes))
                | (VariableKind::VarBinary, Value::VarBinary(bytes)) => {
                    self.push_slot(Slot::of(bytes), index, row);
                }
                _ => mismatch(value),
            },
        }
    }

    fn push_slot(&self, slot: Slot<'_>, index: usize, row: &mut RowBuffer) {
        let is_blob = match slot {
            Slot::Inline(bytes) => {
                row.bytes.extend_from_slice(bytes);
                false
            }
            Slot::Blob(blob) => {
                let number =
                    u16::try_from(row.blobs.len()).expect("a row has at most 1,024 columns");
                row.bytes.extend_from_slice(&number.to_le_bytes());
                row.blobs.push(blob.clone());
                true
            }
        };
        let end = row.bytes.len() - self.variable_start;
        if self.wide_ends {
            let at = self.ends_start + index * 4;
            let end = u32::try_from(end).expect("a row is at most 1 MB") | u32::from(is_blob) << 31;
            row.bytes[at..at + 4].copy_from_slice(&end.to_le_bytes());
        } else {
            let at = self.ends_start + index * 2;
            let end = u16::try_from(end).expect("the layout chose short ends");
            let end = end | u16::from(is_blob) << 15;
            row.bytes[at..at + 2].copy_from_slice(&end.to_le_bytes());
        }
    }
}

impl<'a> RowView<'a> {
    /// Returns the layout of the row.
    #[inline]
    pub fn layout(&self) -> &'a RowLayout {
        self.layout
    }

    /// Returns the value of a column. Does not allocate unless it is a variable value of more than
    /// [`crate::bytes::INLINE_MAX`] bytes inside the row.
    pub fn get(&self, ordinal: usize) -> Value {
        if self.is_null(ordinal) {
            return Value::Null;
        }
        match self.layout.columns[ordinal] {
            Column::Fixed(kind, at) => kind.read(&self.bytes[at..at + kind.size()]),
            Column::Variable(kind, index) => {
                let slot = self.slot(index);
                match kind {
                    VariableKind::VarChar => Value::VarChar(slot.to_bytes()),
                    VariableKind::NVarChar => Value::NVarChar(slot.to_bytes()),
                    VariableKind::VarBinary => Value::VarBinary(slot.to_bytes()),
                    VariableKind::Variant => variant::decode(slot.as_slice()),
                }
            }
        }
    }

    /// Returns the bytes of a string or binary column, borrowed from the row; `None` for NULL and
    /// for columns of other types.
    #[inline]
    pub fn string_bytes(&self, ordinal: usize) -> Option<&'a [u8]> {
        self.text(ordinal).map(|text| match text {
            RowText::VarChar(bytes) | RowText::NVarChar(bytes) | RowText::VarBinary(bytes) => bytes,
        })
    }

    /// Returns a string or binary column, borrowed from the row; `None` for NULL and for columns of
    /// other types.
    pub fn text(&self, ordinal: usize) -> Option<RowText<'a>> {
        match self.layout.columns[ordinal] {
            Column::Variable(kind, index) if !self.is_null(ordinal) => match kind {
                VariableKind::VarChar => Some(RowText::VarChar(self.slot(index).as_slice())),
                VariableKind::NVarChar => Some(RowText::NVarChar(self.slot(index).as_slice())),
                VariableKind::VarBinary => Some(RowText::VarBinary(self.slot(index).as_slice())),
                VariableKind::Variant => None,
            },
            _ => None,
        }
    }

    /// Compares a column of two rows of one layout without decoding it: [`Likeness::Same`] if the
    /// bytes are equal, [`Likeness::Differs`] if different bytes mean different values.
    pub fn likeness(&self, other: &Self, ordinal: usize) -> Likeness {
        match (self.is_null(ordinal), other.is_null(ordinal)) {
            (true, true) => return Likeness::Same,
            (false, false) => {}
            (true, false) | (false, true) => return Likeness::Differs,
        }
        let (is_same, is_exact) = match self.layout.columns[ordinal] {
            Column::Fixed(kind, at) => {
                let range = at..at + kind.size();
                (self.bytes[range.clone()] == other.bytes[range], kind.is_exact())
            }
            Column::Variable(_, index) => {
                (self.slot(index).as_slice() == other.slot(index).as_slice(), false)
            }
        };
        match (is_same, is_exact) {
            (true, _) => Likeness::Same,
            (false, true) => Likeness::Differs,
            (false, false) => Likeness::Unknown,
        }
    }

    /// Returns whether a column is NULL.
    #[inline]
    pub fn is_null(&self, ordinal: usize) -> bool {
        self.bytes[ordinal / 8] & 1 << (ordinal % 8) != 0
    }

    #[inline]
    fn slot(&self, index: usize) -> Slot<'a> {
        let (start, _) = if index == 0 { (0, false) } else { self.end(index - 1) };
        let (end, is_blob) = self.end(index);
        let base = self.layout.variable_start;
        let bytes = &self.bytes[base + start..base + end];
        if is_blob { Slot::blob(bytes, self.blobs) } else { Slot::Inline(bytes) }
    }

    /// Returns the end of a variable value, and whether it is out of line.
    #[inline]
    fn end(&self, index: usize) -> (usize, bool) {
        let ends = &self.bytes[self.layout.ends_start..];
        if self.layout.wide_ends {
            wide_end(&ends[index * 4..index * 4 + 4])
        } else {
            short_end(&ends[index * 2..index * 2 + 2])
        }
    }
}

/// Decodes an end of 32 bits: the place, and whether the value is out of line.
#[inline]
fn wide_end(bytes: &[u8]) -> (usize, bool) {
    let end = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let place = usize::try_from(end & 0x7FFF_FFFF).expect("a 64-bit machine");
    (place, end >> 31 != 0)
}

/// Decodes an end of 16 bits.
#[inline]
fn short_end(bytes: &[u8]) -> (usize, bool) {
    let end = u16::from_le_bytes([bytes[0], bytes[1]]);
    (usize::from(end & 0x7FFF), end >> 15 != 0)
}

impl<'a> Slot<'a> {
    fn of(bytes: &'a Bytes) -> Self {
        if bytes.len() > INLINE_BYTES_MAX { Self::Blob(bytes) } else { Self::Inline(bytes) }
    }

    /// Returns the value whose place in the row has the number of a blob.
    #[inline]
    fn blob(place: &[u8], blobs: &'a [Bytes]) -> Self {
        Self::Blob(&blobs[usize::from(u16::from_le_bytes([place[0], place[1]]))])
    }

    fn as_slice(&self) -> &'a [u8] {
        match self {
            Self::Inline(bytes) => bytes,
            Self::Blob(blob) => blob,
        }
    }

    fn to_bytes(&self) -> Bytes {
        match self {
            Self::Inline(bytes) => Bytes::copy_from(bytes),
            Self::Blob(blob) => (*blob).clone(),
        }
    }
}

/// How a data type is stored.
enum Place {
    Fixed(FixedKind),
    Variable(VariableKind),
}

fn place(data_type: &DataType) -> Place {
    if let Some(kind) = FixedKind::of(data_type) {
        return Place::Fixed(kind);
    }
    Place::Variable(match data_type.family() {
        crate::Family::String => VariableKind::VarChar,
        crate::Family::UnicodeString | crate::Family::Xml => VariableKind::NVarChar,
        crate::Family::Binary => VariableKind::VarBinary,
        _ => VariableKind::Variant,
    })
}

#[cold]
fn mismatch(value: &Value) -> ! {
    panic!("a value is of its column's type: {value:?}")
}

#[cfg(test)]
mod tests;
