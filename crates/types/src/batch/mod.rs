//! Column batches: the unit that operators of the vector executor pass to each other.
//!
//! ```text
//! Batch ── columns ──► Vector ── data ──► Data::Int([..]), Data::Bytes(offsets, arena), ..
//!   │                    └────── nulls ─► Nulls: one bit per row, none if no row is NULL
//!   └───── selection ─► Selection: all rows, or the numbers of the live ones
//! ```
//!
//! A vector holds values of one type as an array of their Rust type, without a tag per value, so
//! that a kernel is a loop over a slice. No value is lost: one that the array cannot hold (a
//! decimal of another scale, a blob) turns the vector into one of [`Value`](crate::Value)s.
//! Decision 0060 says why the vectors are our own.

mod bytes;
mod data;
mod gather;
mod nulls;
mod selection;
mod vector;

pub use bytes::{ByteKind, ByteRows, Codes, DictionaryId};
pub use data::Data;
pub use nulls::Nulls;
pub use selection::Selection;
pub use vector::Vector;

/// Rows of a full batch.
pub const BATCH_ROWS: usize = 1024;

/// Columns of equal length, and the selection of their live rows.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The columns; each has [`Self::rows`] rows.
    pub columns: Vec<Vector>,
    /// The rows that are live; the others have been filtered out.
    pub selection: Selection,
    rows: usize,
}

impl Batch {
    /// Makes an empty batch from columns.
    #[inline]
    pub fn new(columns: Vec<Vector>) -> Self {
        Self { columns, selection: Selection::default(), rows: 0 }
    }

    /// Returns the number of rows in the columns, dead ones included.
    #[inline]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Records that all columns have `rows` rows now, all of them live.
    ///
    /// # Panics
    /// If a column has another length.
    pub fn set_rows(&mut self, rows: usize) {
        let is_full = |column: &Vector| column.len() == rows;
        assert!(self.columns.iter().all(is_full), "the columns of a batch are equally long");
        self.rows = rows;
        self.selection.set_all(rows);
    }

    /// Drops all rows; keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(Vector::clear);
        self.selection.set_all(0);
        self.rows = 0;
    }
}

#[cfg(test)]
mod tests;
