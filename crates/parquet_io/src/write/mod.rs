//! Writes rows to a Parquet file.
//!
//! ```text
//! row ─► column: values of a page ─► pages of its chunk ─┐ when the row group is full
//! Sink ◄─ footer ◄─ row group: chunk behind chunk ◄──────┘
//! ```
//! A row group is limited in rows and in memory, so a file of any length is written in the memory
//! of one. Nothing is written twice: a sink only gets consecutive bytes. Decision 0148 says how
//! each T-SQL type is written.

mod append;
mod chunk;
mod dictionary;
mod footer;
mod hybrid;
mod shape;
mod statistics;
mod thrift;
mod value;

use types::Value;
use types::batch::Batch;
use types::value::ColumnType;

use crate::codec::Codec;
use crate::{Error, Result};
use chunk::ChunkWriter;
use footer::{ChunkMetadata, RowGroupMetadata};
use shape::Shape;

/// The largest number of rows in a row group: few enough to skip groups that cannot satisfy a
/// condition.
const ROW_GROUP_ROWS_MAX: u64 = if cfg!(test) { 64 } else { 1 << 18 };
/// The largest memory, in bytes, of a row group's pages and dictionaries while it is made.
const ROW_GROUP_BYTES_MAX: usize = 64 << 20;
/// Rows between two checks of that memory.
const ROWS_PER_LOOK: u64 = 256;

/// The magic number at both ends of a file.
const MARK: &[u8] = b"PAR1";

/// Receives the bytes of a file, from the first to the last.
pub trait Sink {
    /// Writes the next bytes of the file.
    ///
    /// # Errors
    /// Those of the system.
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()>;
}

impl Sink for Vec<u8> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// The compression of the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Pages are not compressed.
    #[default]
    None,
    /// Snappy: fast, moderate size.
    Snappy,
    /// GZIP: slower, and small.
    Gzip,
    /// Zstandard: fast and small.
    Zstd,
    /// LZ4_RAW: LZ4 blocks without a frame.
    Lz4,
}

impl Compression {
    const fn codec(self) -> Codec {
        match self {
            Self::None => Codec::Uncompressed,
            Self::Snappy => Codec::Snappy,
            Self::Gzip => Codec::Gzip,
            Self::Zstd => Codec::Zstd,
            Self::Lz4 => Codec::Lz4Raw,
        }
    }
}

/// Checks whether a type can be written.
///
/// # Errors
/// [`crate::Fault::NotSupported`] for `xml` and `sql_variant`.
pub fn check_type(name: &str, ty: &ColumnType) -> Result<()> {
    Shape::of(name, ty).map(drop)
}

/// Writes a Parquet file row by row or batch by batch.
pub struct Writer<S> {
    sink: S,
    codec: Codec,
    columns: Vec<ChunkWriter>,
    /// Bytes that have been written to the sink.
    position: u64,
    row_groups: Vec<RowGroupMetadata>,
    /// Rows of the current row group, and of the whole file.
    group_rows: u64,
    rows: u64,
    /// The selected rows of a batch; kept to reuse its memory.
    selected: Vec<u16>,
}

impl<S: Sink> Writer<S> {
    /// Starts a file with these columns.
    ///
    /// # Errors
    /// As [`check_type`], and those of the sink.
    pub fn new(
        sink: S,
        columns: &[(String, ColumnType)],
        compression: Compression,
    ) -> Result<Self> {
        let chunk = |(name, ty): &(String, ColumnType)| Shape::of(name, ty).map(ChunkWriter::new);
        let mut writer = Self {
            sink,
            codec: compression.codec(),
            columns: columns.iter().map(chunk).collect::<Result<_>>()?,
            position: 0,
            row_groups: Vec::new(),
            group_rows: 0,
            rows: 0,
            selected: Vec::new(),
        };
        writer.put(MARK)?;
        Ok(writer)
    }

    /// Appends a row, one value per column.
    ///
    /// # Errors
    /// With column and row, if a value cannot be written in its type; those of the sink.
    pub fn push(&mut self, row: &[Value]) -> Result<()> {
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value, self.codec).map_err(|mut error| {
                error.place.column = Some(column.name().to_owned());
                error.place.row = Some(self.rows);
                error
            })?;
        }
        self.end_rows(1)
    }

    /// Appends the first `rows_max` selected rows of a batch. `places` has the batch's column for
    /// each column of the file.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn push_batch(&mut self, batch: &Batch, places: &[usize], rows_max: usize) -> Result<()> {
        let mut selected = std::mem::take(&mut self.selected);
        selected.clear();
        let rows = batch.selection.iter().take(rows_max);
        selected.extend(rows.filter_map(|row| u16::try_from(row).ok()));
        let mut left = selected.as_slice();
        while !left.is_empty() {
            let room = (ROW_GROUP_ROWS_MAX - self.group_rows).min(ROWS_PER_LOOK);
            let count = usize::try_from(room).unwrap_or(usize::MAX).min(left.len());
            let (now, later) = left.split_at(count);
            for (column, place) in self.columns.iter_mut().zip(places) {
                column.append(&batch.columns[*place], now, self.codec).map_err(|mut error| {
                    error.place.column = Some(column.name().to_owned());
                    error.place.row = error.place.row.map(|row| row.saturating_add(self.rows));
                    error
                })?;
            }
            self.end_rows(u64::try_from(count).unwrap_or(u64::MAX))?;
            left = later;
        }
        self.selected = selected;
        Ok(())
    }

    fn end_rows(&mut self, count: u64) -> Result<()> {
        let looks_before = self.group_rows / ROWS_PER_LOOK;
        self.rows += count;
        self.group_rows += count;
        let is_full = self.group_rows >= ROW_GROUP_ROWS_MAX
            || (self.group_rows / ROWS_PER_LOOK > looks_before
                && self.memory() > ROW_GROUP_BYTES_MAX);
        if is_full { self.end_row_group() } else { Ok(()) }
    }

    /// Returns the bytes of memory that the current row group takes.
    pub fn memory(&self) -> usize {
        self.columns.iter().map(ChunkWriter::memory).sum()
    }

    /// Returns the number of rows written so far.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes the last row group and the footer; returns the sink.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(mut self) -> Result<S> {
        if self.group_rows > 0 {
            self.end_row_group()?;
        }
        let shapes = self.columns.iter().map(ChunkWriter::shape);
        let footer = footer::write(shapes, &self.row_groups, self.rows);
        self.put(&footer)?;
        let length = u32::try_from(footer.len())
            .map_err(|_| Error::not_supported("a footer of more than 4 GB"))?;
        self.put(&length.to_le_bytes())?;
        self.put(MARK)?;
        Ok(self.sink)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.sink.write(bytes)?;
        self.position += u64::try_from(bytes.len()).unwrap_or(0);
        Ok(())
    }

    fn end_row_group(&mut self) -> Result<()> {
        let mut chunks: Vec<ChunkMetadata> = Vec::with_capacity(self.columns.len());
        for column in &mut self.columns {
            let chunk = column.finish(self.codec)?;
            let start = self.position;
            for part in [&chunk.dictionary, &chunk.pages] {
                self.sink.write(part)?;
                self.position += u64::try_from(part.len()).unwrap_or(0);
            }
            chunks.push(chunk.described(start, self.codec));
            column.reuse(chunk.pages);
        }
        self.row_groups.push(RowGroupMetadata { chunks, rows: self.group_rows });
        self.group_rows = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
