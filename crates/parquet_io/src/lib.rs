//! Reads Parquet files into column vectors, and writes rows to Parquet files.
//!
//! ```text
//! Source ─► footer: schema, row groups ─► chunk of a column ─► page ─► levels, values ─► Vector
//! ```
//! The crate knows bytes and columns; a [`Source`] provides the bytes. It trusts no input: every
//! length is checked against the bytes that exist before memory is allocated for it, every fault is
//! an [`Error`] with its place, and the pages in memory at one time have a limit. The format is
//! <https://github.com/apache/parquet-format>. Nested columns are reported as such and not read.
//! Decision 0140 says why the reader is our own.

#![forbid(unsafe_code)]

mod bounds;
mod codec;
mod column;
mod convert;
mod delta;
mod error;
mod file;
mod metadata;
mod page;
mod rle;
mod schema;
mod thrift;
mod values;
mod window;
mod write;

pub use bounds::Bounds;
pub use error::{Error, Fault, Place, Result};
pub use file::{ParquetFile, Rows};
pub use schema::{Column, Physical};
pub use write::{Compression, Sink, Writer, check_type};

/// Provides the bytes of a file.
pub trait Source {
    /// Returns the length of the file in bytes.
    fn len(&self) -> u64;

    /// Returns whether the file is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `into` with the bytes from `offset` on.
    ///
    /// # Errors
    /// Those of the system; [`std::io::ErrorKind::UnexpectedEof`] if the file ends before.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> std::io::Result<()>;
}

impl Source for Vec<u8> {
    fn len(&self) -> u64 {
        u64::try_from(self.as_slice().len()).unwrap_or(u64::MAX)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
        let start = usize::try_from(offset).map_err(|_| std::io::ErrorKind::UnexpectedEof)?;
        let part = start.checked_add(into.len()).and_then(|end| self.get(start..end));
        into.copy_from_slice(part.ok_or(std::io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}
