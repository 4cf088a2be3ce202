//! The rows of files, in batches: OPENROWSET(BULK ..) and external tables.
//!
//! Files are opened anew by each execution, whose plan knows the columns that they had when it was bound.

use parquet_io::{Fault, ParquetFile, Rows, Source};
use sos::sched::{Unblocked, blocking};
use sos::sys::RandomReader;
use sos::wait::WaitType;
use types::batch::{Batch, Vector};
use types::{Bytes, DataType, Error, Msg, Result, Value};

use super::{not_opened, read};
use crate::exec::Cx;
use crate::exec::eval::truth;
use crate::plan::query::{BulkFile, BulkFormat, BulkScan, GroupTest};

/// A file as the Parquet reader wants it.
#[derive(Debug)]
pub(crate) struct Bytewise(RandomReader);

impl Source for Bytewise {
    fn len(&self) -> u64 {
        self.0.byte_count()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
        waiting(|| self.0.read_at(offset, into))
    }
}

/// Runs what waits for a file, as the wait that SQL Server has for it: others have the scheduler meanwhile.
pub(crate) fn waiting<T>(read: impl FnOnce() -> std::io::Result<T>) -> std::io::Result<T> {
    let mut done = Err(std::io::ErrorKind::Interrupted.into());
    blocking(WaitType::BulkRead, || {
        done = read();
        Unblocked::Now
    });
    done
}

/// Opens a Parquet file.
///
/// # Errors
/// 4860 and 4861 for the file, 15813 for what is wrong in it.
pub(crate) fn open_parquet(path: &str) -> Result<ParquetFile<Bytewise>> {
    let file = waiting(|| RandomReader::open(path)).map_err(|error| not_opened(path, &error))?;
    ParquetFile::new(Bytewise(file)).map_err(|error| damaged(path, &error))
}

/// Returns how long a data file is.
///
/// # Errors
/// 4860 and 4861.
pub(crate) fn text_bytes(path: &str) -> Result<u64> {
    let file = waiting(|| RandomReader::open(path)).map_err(|error| not_opened(path, &error))?;
    Ok(file.byte_count())
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

/// The batches of Parquet files.
pub(crate) struct Batches<'p> {
    scan: &'p BulkScan,
    files: std::slice::Iter<'p, BulkFile>,
    /// By column of the batches: its ordinal in the format, and its type.
    columns: Vec<(u16, DataType)>,
    open: Option<(&'p str, Rows<Bytewise>)>,
}

impl<'p> Batches<'p> {
    /// Begins to read some of a scan's columns, by their ordinals in its format; `None` where the files are no Parquet files.
    pub(crate) fn of(scan: &'p BulkScan, ordinals: impl Iterator<Item = u16>) -> Option<Self> {
        let BulkFormat::Parquet(types) = &scan.format else { return None };
        let columns = ordinals.map(|ordinal| (ordinal, types[usize::from(ordinal)])).collect();
        Some(Self { scan, files: scan.files.iter(), columns, open: None })
    }

    /// Makes a batch for [`Self::next`].
    pub(crate) fn new_batch(&self) -> Batch {
        Batch::new(self.columns.iter().map(|(_, ty)| Vector::of_type(ty)).collect())
    }

    /// Fills a batch with the next rows; `false` where there are none.
    ///
    /// # Errors
    /// As [`open_parquet`]; 15813 for what is wrong in a file; 701.
    pub(crate) fn next(&mut self, batch: &mut Batch, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            if let Some((path, rows)) = &mut self.open {
                let more = rows.next(batch).map_err(|error| damaged(path, &error))?;
                sos::memory::check().map_err(|_| Error::from(Msg::OutOfMemory))?;
                if more {
                    return Ok(true);
                }
                self.open = None;
            }
            let Some(file) = self.files.next() else { return Ok(false) };
            self.open = Some((&file.path, self.open_file(file, cx)?));
        }
    }

    fn open_file(&self, file: &BulkFile, cx: &mut Cx<'_>) -> Result<Rows<Bytewise>> {
        let open = open_parquet(&file.path)?;
        let mut read = Vec::with_capacity(self.columns.len());
        let tested = self.scan.tests.iter().flat_map(|test| test.bounds.iter().map(|b| b.0));
        for ordinal in self.columns.iter().map(|c| c.0).chain(tested) {
            let (column, place) = &file.columns[usize::from(ordinal)];
            if open.columns().get(*place) != Some(column) {
                let what = "its columns have changed since the statement was compiled";
                return Err(Msg::ExternalFile(what, &file.path).into());
            }
        }
        for (ordinal, data_type) in &self.columns {
            read.push((file.columns[usize::from(*ordinal)].1, *data_type));
        }
        let all = open.row_groups();
        let mut groups = Vec::with_capacity(all);
        for group in 0..all {
            if may_match(&self.scan.tests, (&open, file, group), cx) {
                groups.push(group);
            }
        }
        if let Some(profile) = &mut cx.profile {
            profile.count_row_groups(self.scan, groups.len(), all - groups.len());
        }
        open.into_rows_of(&read, groups).map_err(|error| damaged(&file.path, &error))
    }
}

/// Tells whether a row of a row group may satisfy the statement's condition, as far as its footer says.
fn may_match(
    tests: &[GroupTest],
    (open, file, group): (&ParquetFile<Bytewise>, &BulkFile, usize),
    cx: &mut Cx<'_>,
) -> bool {
    'tests: for test in tests {
        for (ordinal, least, greatest) in &test.bounds {
            let place = file.columns[usize::from(*ordinal)].1;
            let bounds = open.bounds(group, place);
            let (low, high) = match (bounds.least, bounds.greatest) {
                // Where no row has a value, no comparison holds.
                _ if bounds.is_null => (Value::Null, Value::Null),
                (Some(low), Some(high)) => (low, high),
                _ => continue 'tests,
            };
            cx.registers[least.index()] = low;
            cx.registers[greatest.index()] = high;
        }
        // An error is for the rows to make, if there are any that make it.
        if truth(&test.condition, cx).is_ok_and(|truth| !truth.is_true()) {
            return false;
        }
    }
    true
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
