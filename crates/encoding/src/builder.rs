//! `GroupBuilder`: collects the rows of a row group and encodes them. Used by one thread.

use types::batch::{Selection, Vector};
use types::{Bytes, ColumnType, Value};

use super::memory;
use super::segment::{Room, encode};

/// Rows of a full row group: 1,048,576.
pub const GROUP_ROWS_MAX: usize = if cfg!(test) { 5_000 } else { 1 << 20 };

/// Collects rows and encodes them as segments. Its memory is reused from group to group.
pub struct GroupBuilder {
    columns: Vec<Vector>,
    rows: usize,
    room: Room,
}

impl GroupBuilder {
    /// Makes an empty builder for columns of these types.
    pub fn new(columns: &[ColumnType]) -> Self {
        let columns = columns.iter().map(Vector::with_capacity_for).collect();
        Self { columns, rows: 0, room: Room::default() }
    }

    /// Returns the number of rows collected so far.
    pub const fn len(&self) -> usize {
        self.rows
    }

    /// Returns whether it has no rows.
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns whether the group has its maximum number of rows.
    pub const fn is_full(&self) -> bool {
        self.rows >= GROUP_ROWS_MAX
    }

    /// Returns the rows collected so far, one vector per column.
    pub fn columns(&self) -> &[Vector] {
        &self.columns
    }

    /// Adds a row: one value per column, of the column's type.
    pub fn push(&mut self, row: &[Value]) {
        assert_eq!(row.len(), self.columns.len(), "a row has a value for each column");
        let columns = &mut self.columns;
        let push = || columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        memory::booked(push);
        self.rows += 1;
    }

    /// Adds the selected rows of vectors, one vector per column.
    pub fn append<'v>(&mut self, columns: impl Iterator<Item = &'v Vector>, rows: &Selection) {
        memory::booked(|| {
            self.columns.iter_mut().zip(columns).for_each(|(own, more)| own.append(more, rows));
        });
        self.rows += rows.len();
        assert!(self.columns.iter().all(|c| c.len() == self.rows), "columns are equally long");
    }

    /// Encodes each column as a segment and empties the builder. Returns `None`, and changes
    /// nothing, if a column has a type that segments do not support.
    pub fn finish(&mut self) -> Option<Vec<Bytes>> {
        let segments = memory::booked(|| {
            let room = &mut self.room;
            let segment = |column: &Vector| {
                let segment = encode(column, room).map(Bytes::copy_from);
                if memory::gives_back() {
                    *room = Room::default();
                    memory::give_back();
                }
                segment
            };
            self.columns.iter().map(segment).collect::<Option<Vec<Bytes>>>()
        })?;
        self.clear();
        if memory::gives_back() {
            let empty = |column: &Vector| Vector::of_type(column.data_type());
            self.columns = self.columns.iter().map(empty).collect();
            memory::give_back();
        }
        Some(segments)
    }

    /// Returns the bytes of the collected rows, without the memory of long values.
    pub fn memory(&self) -> usize {
        self.columns.iter().map(|column| column.memory()).sum()
    }

    /// Frees the memory that was kept for more rows. The builder is empty.
    pub fn shrink(&mut self) {
        assert!(self.is_empty(), "rows would be lost");
        self.columns = self.columns.iter().map(|c| Vector::of_type(c.data_type())).collect();
        self.room = Room::default();
    }

    /// Drops all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(Vector::clear);
        self.rows = 0;
    }
}
