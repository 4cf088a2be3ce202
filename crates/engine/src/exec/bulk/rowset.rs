//! OPENROWSET(BULK ..): the rows of a file, in batches.
//!
//! The file is opened anew by each execution, whose plan knows the columns that it had when it was bound.

use parquet_io::{Column, Fault, ParquetFile, Rows, Source};
use sos::sys::RandomReader;
use types::batch::Batch;
use types::{Bytes, DataType, Error, Msg, Result, Value};

use super::{not_opened, read};
use crate::plan::query::{BulkFormat, BulkScan};

/// A file as the Parquet reader wants it.
#[derive(Debug)]
pub(crate) struct Bytewise(RandomReader);

impl Source for Bytewise {
    fn len(&self) -> u64 {
        self.0.byte_count()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
        self.0.read_at(offset, into)
    }
}

/// Opens a Parquet file.
///
/// # Errors
/// 4860 and 4861 for the file, 15813 for what is wrong in it.
pub(crate) fn open_parquet(path: &str) -> Result<ParquetFile<Bytewise>> {
    let file = RandomReader::open(path).map_err(|error| not_opened(path, &error))?;
    ParquetFile::new(Bytewise(file)).map_err(|error| damaged(path, &error))
}

fn damaged(path: &str, error: &parquet_io::Error) -> Error {
    match &error.fault {
        Fault::Io(of_system) if of_system.kind() != std::io::ErrorKind::UnexpectedEof => {
            not_opened(path, of_system)
        }
        Fault::Io(_) | Fault::Damaged(_) | Fault::NotSupported(_) | Fault::Value(_) => {
            Msg::ExternalFile(&error.to_string(), path).into()
        }
    }
}

/// The batches of a Parquet file.
pub(crate) struct Batches<'p> {
    path: &'p str,
    rows: Rows<Bytewise>,
}

impl<'p> Batches<'p> {
    /// Opens the file of a scan for some of the scan's columns, by their ordinals in its format.
    ///
    /// # Errors
    /// As [`open_parquet`]; 15813 if the file has other columns by now.
    pub(crate) fn open(
        path: &'p str,
        bound: &[(Column, usize, DataType)],
        ordinals: impl Iterator<Item = u16>,
    ) -> Result<Self> {
        let file = open_parquet(path)?;
        let mut read = Vec::new();
        for ordinal in ordinals {
            let (column, place, data_type) = &bound[usize::from(ordinal)];
            if file.columns().get(*place) != Some(column) {
                let what = "its columns have changed since the statement was compiled";
                return Err(Msg::ExternalFile(what, path).into());
            }
            read.push((*place, *data_type));
        }
        let rows = file.into_rows(&read).map_err(|error| damaged(path, &error))?;
        Ok(Self { path, rows })
    }

    /// Makes a batch for [`Self::next`].
    pub(crate) fn new_batch(&self) -> Batch {
        self.rows.new_batch()
    }

    /// Fills a batch with the next rows; `false` where there are none.
    ///
    /// # Errors
    /// 15813 for what is wrong in the file; 701.
    pub(crate) fn next(&mut self, batch: &mut Batch) -> Result<bool> {
        let more = self.rows.next(batch).map_err(|error| damaged(self.path, &error))?;
        sos::memory::check().map_err(|_| Error::from(Msg::OutOfMemory))?;
        Ok(more)
    }
}

/// Reads the file of SINGLE_BLOB and its kin as one value.
///
/// # Errors
/// 4860 and 4861 for the file; 4806 and 4809 for characters of the other kind.
pub(crate) fn single(path: &str, as_type: DataType) -> Result<Value> {
    let bytes = read(path)?;
    let wide = bytes.strip_prefix(b"\xFF\xFE");
    Ok(match (as_type, wide) {
        (DataType::NVarChar(_), Some(units)) if units.len() % 2 == 0 => {
            Value::NVarChar(Bytes::copy_from(units))
        }
        (DataType::NVarChar(_), _) => return Err(Msg::BulkClobIsNarrow.into()),
        (DataType::VarChar(_), Some(_)) => return Err(Msg::BulkClobIsWide.into()),
        (DataType::VarChar(_), None) => Value::VarChar(Bytes::copy_from(&bytes)),
        _ => Value::VarBinary(Bytes::copy_from(&bytes)),
    })
}

/// Returns the columns of a scan's format that are Parquet's.
pub(crate) fn parquet_columns(scan: &BulkScan) -> Option<&[(Column, usize, DataType)]> {
    match &scan.format {
        BulkFormat::Parquet(columns) => Some(columns),
        BulkFormat::Single(_) => None,
    }
}
