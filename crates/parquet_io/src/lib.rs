//! Parquet files to column vectors, and rows to Parquet files.
//!
//! ```text
//! Source ─► footer: schema, row groups ─► chunk of a column ─► page ─► levels, values ─► Vector
//! ```
//! The crate knows bytes and columns; where the bytes come from is a [`Source`]'s matter. It trusts nothing
//! in them: every length is compared with what there is before memory is taken for it, whatever is wrong is an
//! [`Error`] with its place, and the pages that are in memory at one time have a limit. Formats are those of
//! <https://github.com/apache/parquet-format>. Columns within columns are told as such and not read. Decision
//! 0140 says why the reader is our own.

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

/// Where the bytes of a file come from.
pub trait Source {
    /// Returns how many there are.
    fn len(&self) -> u64;

    /// Tells whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `into` with what begins at `offset`.
    ///
    /// # Errors
    /// Those of the system; [`std::io::ErrorKind::UnexpectedEof`] where the file ends before.
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
