//! `GroupBuilder`: the rows of a row group while it is being made, one writer's own.

use super::memory;
use super::segment::{Room, encode};
use types::batch::{Selection, Vector};
use types::{Bytes, ColumnType, Value};

/// Rows of a full row group.
pub const GROUP_ROWS_MAX: usize = if cfg!(test) { 5_000 } else { 1 << 20 };

/// Gathers rows and makes segments of them. Its memory is taken once, and serves one group after the other.
pub struct GroupBuilder {
    columns: Vec<Vector>,
    rows: usize,
    room: Room,
}

impl GroupBuilder {
    /// Makes an empty one for columns of these types.
    pub fn new(columns: &[ColumnType]) -> Self {
        let columns = columns.iter().map(Vector::with_capacity_for).collect();
        Self { columns, rows: 0, room: Room::default() }
    }

    /// Returns the number of rows.
    pub const fn len(&self) -> usize {
        self.rows
    }

    /// Tells whether there is no row.
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Tells whether no row more goes into this group.
    pub const fn is_full(&self) -> bool {
        self.rows >= GROUP_ROWS_MAX
    }

    /// Returns the rows as they are.
    pub fn columns(&self) -> &[Vector] {
        &self.columns
    }

    /// Adds a row: a value of its type for each column.
    pub fn push(&mut self, row: &[Value]) {
        assert_eq!(row.len(), self.columns.len(), "a row has a value for each column");
        let columns = &mut self.columns;
        let push = || columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        memory::booked(push);
        self.rows += 1;
    }

    /// Adds the selected rows of vectors, one per column.
    pub fn append<'v>(&mut self, columns: impl Iterator<Item = &'v Vector>, rows: &Selection) {
        memory::booked(|| {
            self.columns.iter_mut().zip(columns).for_each(|(own, more)| own.append(more, rows));
        });
        self.rows += rows.len();
        assert!(self.columns.iter().all(|c| c.len() == self.rows), "columns are equally long");
    }

    /// Makes a segment of each column, and is empty again; none, and nothing is done, if a column's type is
    /// one that no segment holds.
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

    /// Returns the bytes that the rows take, without what long values hold.
    pub fn memory(&self) -> usize {
        self.columns.iter().map(|column| column.memory()).sum()
    }

    /// Gives up the memory that it has kept for more rows. There are none in it.
    pub fn shrink(&mut self) {
        assert!(self.is_empty(), "rows would be lost");
        self.columns = self.columns.iter().map(|c| Vector::of_type(c.data_type())).collect();
        self.room = Room::default();
    }

    /// Drops all rows; keeps the memory.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(Vector::clear);
        self.rows = 0;
    }
}
