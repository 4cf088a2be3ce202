//! An open Parquet file, and an iterator over its rows.

use std::sync::Arc;

use types::DataType;
use types::batch::{BATCH_ROWS, Batch, Vector};

use crate::bounds::{self, Bounds};
use crate::column::ColumnReader;
use crate::metadata::{self, Metadata};
use crate::schema::Column;
use crate::{Error, Result, Source};

/// The largest memory for pages and dictionaries while a file is read, in bytes.
const MEMORY_BYTES_MAX: usize = 2 << 30;

/// An open file whose footer has been read.
#[derive(Debug)]
pub struct ParquetFile<S> {
    source: S,
    metadata: Metadata,
}

impl<S: Source> ParquetFile<S> {
    /// Opens a file by reading its footer.
    ///
    /// # Errors
    /// If there is no footer, it is damaged, or it uses features that are not supported.
    pub fn new(source: S) -> Result<Self> {
        let metadata = metadata::read(&source)?;
        Ok(Self { source, metadata })
    }

    /// Returns the columns, including nested and other unsupported ones.
    pub fn columns(&self) -> &[Column] {
        &self.metadata.columns
    }

    /// Returns the number of rows of the file.
    pub fn row_count(&self) -> u64 {
        self.metadata.row_groups.iter().fold(0, |sum, group| sum.saturating_add(group.rows))
    }

    /// Returns the number of row groups.
    pub fn row_groups(&self) -> usize {
        self.metadata.row_groups.len()
    }

    /// Returns the footer's bounds of a column's values in a row group.
    pub fn bounds(&self, row_group: usize, column: usize) -> Bounds {
        if !self.metadata.has_order {
            return Bounds::default();
        }
        let column = &self.metadata.columns[column];
        let group = &self.metadata.row_groups[row_group];
        bounds::of(column, &group.chunks[column.chunk].statistics, group.rows)
    }

    /// Starts reading the rows, with these columns: the index of each, and the type that its vector
    /// shall have: the column's own, or the same without a length limit.
    ///
    /// # Errors
    /// For a column that is not supported, and for another type.
    pub fn into_rows(self, columns: &[(usize, DataType)]) -> Result<Rows<S>> {
        let all = (0..self.row_groups()).collect();
        Arc::new(self).rows_of(columns, all)
    }

    /// Like [`Self::into_rows`], but of these row groups only. Several threads may each read some
    /// at the same time.
    ///
    /// # Errors
    /// As [`Self::into_rows`].
    pub fn rows_of(
        self: &Arc<Self>,
        columns: &[(usize, DataType)],
        groups: Vec<usize>,
    ) -> Result<Rows<S>> {
        let mut read = Vec::with_capacity(columns.len());
        for (place, data_type) in columns {
            let mut column = self.metadata.columns[*place].clone();
            let own = column.data_type.clone().map_err(Error::not_supported)?;
            if !is_readable_as(own, *data_type) {
                return Err(Error::not_supported(format!("{own:?} as {data_type:?}")));
            }
            column.data_type = Ok(*data_type);
            read.push(column);
        }
        let groups = groups.into_iter();
        let file = Arc::clone(self);
        Ok(Rows { file, columns: read, group: None, current: 0, groups, row: 0 })
    }
}

fn is_readable_as(own: DataType, wanted: DataType) -> bool {
    match (own, wanted) {
        (DataType::VarChar(_), DataType::VarChar(length))
        | (DataType::VarBinary(_), DataType::VarBinary(length)) => {
            length == types::Length::Max || own == wanted
        }
        _ => own == wanted,
    }
}

/// The rows of a file, read batch by batch.
pub struct Rows<S> {
    file: Arc<ParquetFile<S>>,
    columns: Vec<Column>,
    group: Option<Group>,
    /// The index of the row group that is being read, and those that follow.
    current: usize,
    groups: std::vec::IntoIter<usize>,
    /// The number, within the file, of the next row.
    row: u64,
}

/// The row group that is being read.
struct Group {
    columns: Vec<ColumnReader>,
    left: u64,
}

impl<S: Source> Rows<S> {
    /// Makes an empty batch with a vector for each column.
    pub fn new_batch(&self) -> Batch {
        let vector =
            |column: &Column| Vector::of_type(column.data_type.as_ref().unwrap_or(&DataType::Int));
        Batch::new(self.columns.iter().map(vector).collect())
    }

    /// Fills a batch with the next rows; returns `false`, with an empty batch, at the end.
    ///
    /// # Errors
    /// With row group, column and page, and the row if a value is at fault. The batch is empty
    /// then.
    pub fn next(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        let filled = self.fill(batch);
        if filled.is_err() {
            batch.clear();
        }
        filled
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        let Some(mut group) = self.group.take().or_else(|| self.next_group()) else {
            return Ok(false);
        };
        let rows = usize::try_from(group.left).unwrap_or(BATCH_ROWS).min(BATCH_ROWS);
        let mut memory = 0_usize;
        for (column, vector) in group.columns.iter_mut().zip(&mut batch.columns) {
            let read = column.read(&self.file.source, rows, vector);
            read.map_err(|error| self.placed(error))?;
            memory = memory.saturating_add(column.memory());
            if memory > MEMORY_BYTES_MAX {
                let error = Error::not_supported("pages of more than 2 GB at one time");
                return Err(self.placed(error));
            }
        }
        batch.set_rows(rows);
        let given = u64::try_from(rows).unwrap_or(0);
        self.row += given;
        group.left -= given;
        if group.left > 0 {
            self.group = Some(group);
        }
        Ok(true)
    }

    /// Adds the place within the file to a column's error.
    fn placed(&self, mut error: Error) -> Error {
        error.place.row_group = Some(self.current);
        error.place.row = error.place.row.map(|row| row.saturating_add(self.row));
        error
    }

    /// Opens the next row group that has rows.
    fn next_group(&mut self) -> Option<Group> {
        loop {
            self.current = self.groups.next()?;
            let groups = &self.file.metadata.row_groups;
            let group = &groups[self.current];
            if group.rows == 0 {
                continue;
            }
            self.row = groups[..self.current].iter().fold(0, |sum, g| sum.saturating_add(g.rows));
            let reader = |column: &Column| {
                let chunk = group.chunks[column.chunk].clone();
                ColumnReader::new(column.clone(), chunk, group.rows)
            };
            return Some(Group {
                columns: self.columns.iter().map(reader).collect(),
                left: group.rows,
            });
        }
    }
}
