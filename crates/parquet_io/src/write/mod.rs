//! Rows to a Parquet file.
//!
//! ```text
//! row ─► column: values of a page ─► pages of its chunk ─┐ when the row group is full
//! Sink ◄─ footer ◄─ row group: chunk behind chunk ◄──────┘
//! ```
//! A row group is bounded in rows and in memory, so a file of any length is written in the memory of one. Nothing is
//! written twice: a sink only ever gets the next bytes. Decision 0148 says which types become what.

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

/// Rows of a row group at most: few enough to pass over those that a condition can't meet.
const ROW_GROUP_ROWS_MAX: u64 = if cfg!(test) { 64 } else { 1 << 18 };
/// Bytes that the pages and dictionaries of a row group may take while it is made.
const ROW_GROUP_BYTES_MAX: usize = 64 << 20;
/// How often that is looked at, in rows.
const ROWS_PER_LOOK: u64 = 256;

/// The mark at both ends of a file.
const MARK: &[u8] = b"PAR1";

/// Where the bytes of a file go, from its first to its last.
pub trait Sink {
    /// Takes the next bytes.
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

/// How pages are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// Snappy.
    Snappy,
    /// GZIP.
    Gzip,
    /// Zstandard.
    Zstd,
    /// LZ4 in raw blocks.
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

/// Tells how a type is written, or why it is not.
///
/// # Errors
/// [`crate::Fault::NotSupported`] for `xml` and `sql_variant`.
pub fn check_type(name: &str, ty: &ColumnType) -> Result<()> {
    Shape::of(name, ty).map(drop)
}

/// Writes a file.
pub struct Writer<S> {
    sink: S,
    codec: Codec,
    columns: Vec<ChunkWriter>,
    /// Bytes that the sink has got.
    position: u64,
    row_groups: Vec<RowGroupMetadata>,
    /// Rows of the row group that is being made, and of all.
    group_rows: u64,
    rows: u64,
    /// Rows of a batch that are selected; kept for its memory.
    selected: Vec<u16>,
}

impl<S: Sink> Writer<S> {
    /// Begins a file of these columns.
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

    /// Appends a row: a value for each column.
    ///
    /// # Errors
    /// With column and row, for a value that its type in the file does not have; those of the sink.
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

    /// Appends the selected rows of a batch, the first `rows_max` of them. `places` are those of the file's columns in it.
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

    /// Bytes of memory that the row group takes so far.
    pub fn memory(&self) -> usize {
        self.columns.iter().map(ChunkWriter::memory).sum()
    }

    /// Returns how many rows there are so far.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes what is left and the footer; hands the sink back.
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
