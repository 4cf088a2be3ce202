//! The row codec: values to a payload of a row version, and back one column at a time.
//!
//! ```text
//! +-------------+---------------+------------------------+-----------------+
//! | null bitmap | fixed columns | end offsets (u16 each) | variable values |
//! +-------------+---------------+------------------------+-----------------+
//! ```
//! A value longer than [`INLINE_BYTES_MAX`] stays out of line as a shared [`Bytes`] in a side list, so
//! that row versions which do not change it share it; in its place stands its index in the list.

use crate::{Bytes, ColumnType, Value};

/// The longest variable value that is stored within the row, in bytes.
pub const INLINE_BYTES_MAX: usize = 1_024;

/// Where each column of a row lies.
#[derive(Clone, Debug)]
pub struct RowLayout {
    columns: Box<[ColumnType]>,
}

/// An encoded row that owns its bytes; reused from row to row.
#[derive(Clone, Debug, Default)]
pub struct RowBuffer {
    /// The row's bytes.
    pub bytes: Vec<u8>,
    /// The values out of line.
    pub blobs: Vec<Bytes>,
}

/// An encoded row.
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a> {
    layout: &'a RowLayout,
    bytes: &'a [u8],
    blobs: &'a [Bytes],
}

impl RowLayout {
    /// Lays out a row of `columns`.
    pub fn new(columns: &[ColumnType]) -> Self {
        Self { columns: columns.into() }
    }

    /// Returns the columns.
    pub fn columns(&self) -> &[ColumnType] {
        &self.columns
    }

    /// Encodes `values`, one per column, already converted to the columns' types, over `row`.
    pub fn encode(&self, values: &[Value], row: &mut RowBuffer) {
        let _ = values;
        row.bytes.clear();
        row.blobs.clear();
    }

    /// Encodes `source` with the columns in `changes` replaced, over `row`; shares the unchanged blobs.
    pub fn update(&self, source: RowView<'_>, changes: &[(usize, &Value)], row: &mut RowBuffer) {
        let _ = (source, changes);
        row.bytes.clear();
        row.blobs.clear();
    }

    /// Reads a row that was encoded with this layout.
    pub fn view<'a>(&'a self, bytes: &'a [u8], blobs: &'a [Bytes]) -> RowView<'a> {
        RowView { layout: self, bytes, blobs }
    }
}

impl RowView<'_> {
    /// Returns the value of a column. Does not allocate unless it is a variable value of more than
    /// [`crate::bytes::INLINE_MAX`] bytes inside the row.
    pub fn get(&self, ordinal: usize) -> Value {
        let _ = (ordinal, self.layout, self.bytes, self.blobs);
        Value::Null
    }

    /// Tells whether a column is NULL.
    pub fn is_null(&self, ordinal: usize) -> bool {
        self.get(ordinal).is_null()
    }
}
