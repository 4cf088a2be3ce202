//! Reads Parquet files in batches, for OPENROWSET(BULK ..) and external tables.
//!
//! Each execution opens the files again; the plan has the columns and row groups that they had at
//! compile time. Row groups are taken one at a time, so that the workers of a parallel plan can
//! share them.

use std::sync::{Arc, Weak};

use files::open::{Bytewise, damaged, open_parquet, read};
use parquet_io::{ParquetFile, Rows};
use sos::lock::{SpinClass, SpinLock};
use types::batch::{Batch, Vector};
use types::{Bytes, DataType, Msg, Result, Value};

use crate::Cx;
use crate::eval::truth;
use crate::parallel::Share;
use plan::query::{BulkFile, BulkFormat, BulkScan, GroupTest};

/// The open files of a scan, by number. Workers share a file while one of them has it open, so that
/// all read the same file even if its path is replaced.
#[derive(Debug)]
pub struct OpenFiles(SpinLock<Vec<Weak<ParquetFile<Bytewise>>>>);

impl Default for OpenFiles {
    fn default() -> Self {
        Self(SpinLock::new(SpinClass::ServerOther, Vec::new()))
    }
}

impl OpenFiles {
    fn get(&self, number: usize) -> Option<Arc<ParquetFile<Bytewise>>> {
        self.0.lock().get(number)?.upgrade()
    }

    /// Stores an opened file. If another worker has stored the file first, returns that one.
    fn put(&self, number: usize, file: Arc<ParquetFile<Bytewise>>) -> Arc<ParquetFile<Bytewise>> {
        let mut files = self.0.lock();
        let len = files.len().max(number + 1);
        files.resize_with(len, Weak::new);
        if let Some(first) = files[number].upgrade() {
            return first;
        }
        files[number] = Arc::downgrade(&file);
        file
    }
}

/// Reads the batches of Parquet files, row group by row group; with other workers, only the groups
/// that it takes.
pub struct Batches<'p> {
    scan: &'p BulkScan,
    /// For each file, the number of row groups up to its end.
    ends: Vec<usize>,
    /// For each column of a batch: its ordinal in the format, and its type.
    columns: Vec<(u16, DataType)>,
    /// Hands out the row groups, if several workers read the files.
    share: Option<Arc<Share>>,
    /// Number of row groups taken, without other workers.
    taken: usize,
    /// The number of the last row group's file, and the file.
    file: Option<(usize, Arc<ParquetFile<Bytewise>>)>,
    rows: Option<(&'p str, Rows<Bytewise>)>,
}

impl<'p> Batches<'p> {
    /// Starts reading some of a scan's columns, by their ordinals in its format; `None` if the
    /// files are not Parquet files.
    pub fn of(
        scan: &'p BulkScan,
        ordinals: impl Iterator<Item = u16>,
        share: Option<Arc<Share>>,
    ) -> Option<Self> {
        let BulkFormat::Parquet(types) = &scan.format else { return None };
        let columns = ordinals.map(|ordinal| (ordinal, types[usize::from(ordinal)])).collect();
        let mut end = 0;
        let ends = scan.files.iter().map(|file| {
            end += file.groups;
            end
        });
        let ends = ends.collect();
        Some(Self { scan, ends, columns, share, taken: 0, file: None, rows: None })
    }

    /// Makes a batch for [`Self::next`].
    pub fn new_batch(&self) -> Batch {
        Batch::new(self.columns.iter().map(|(_, ty)| Vector::of_type(ty)).collect())
    }

    /// Fills a batch with the next rows; `false` at the end.
    ///
    /// # Errors
    /// As [`open_parquet`]; 15813 for an invalid file; 701.
    pub fn next(&mut self, batch: &mut Batch, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            if let Some((path, rows)) = &mut self.rows {
                let more = rows.next(batch).map_err(|error| damaged(path, &error))?;
                crate::long::wait_for_room(0, cx)?;
                if more {
                    return Ok(true);
                }
                self.rows = None;
            }
            let Some(part) = self.next_part() else { return Ok(false) };
            // At the end there is no file; a file without row groups has the same end as the one
            // before.
            let number = self.ends.partition_point(|end| *end <= part);
            let Some(file) = self.scan.files.get(number) else { return Ok(false) };
            let group = part + file.groups - self.ends[number];
            self.begin(number, file, group, cx)?;
        }
    }

    fn next_part(&mut self) -> Option<usize> {
        if let Some(share) = &self.share {
            return share.next_part();
        }
        self.taken += 1;
        Some(self.taken - 1)
    }

    /// Starts a row group, unless its statistics exclude the wanted rows.
    fn begin(
        &mut self,
        number: usize,
        file: &'p BulkFile,
        group: usize,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        let open = match self.file.take() {
            Some((last, open)) if last == number => open,
            _ => self.open(number, file)?,
        };
        let is_wanted = may_match(&self.scan.tests, &open, file, group, cx);
        if let Some(profile) = &mut cx.profile {
            profile.count_row_groups(self.scan, usize::from(is_wanted), usize::from(!is_wanted));
        }
        if is_wanted {
            let read = self
                .columns
                .iter()
                .map(|(ordinal, data_type)| (file.columns[usize::from(*ordinal)].1, *data_type));
            let rows = open.rows_of(&read.collect::<Vec<_>>(), vec![group]);
            self.rows = Some((&file.path, rows.map_err(|error| damaged(&file.path, &error))?));
        }
        self.file = Some((number, open));
        Ok(())
    }

    /// Opens a file, which must be unchanged since the statement was compiled.
    fn open(&self, number: usize, file: &BulkFile) -> Result<Arc<ParquetFile<Bytewise>>> {
        let shared = self.share.as_ref().map(|share| share.files());
        if let Some(open) = shared.and_then(|files| files.get(number)) {
            return Ok(open);
        }
        let open = open_parquet(&file.path)?;
        let tested = self.scan.tests.iter().flat_map(|test| test.bounds.iter().map(|b| b.0));
        let is_same = |ordinal: u16| {
            let (column, place) = &file.columns[usize::from(ordinal)];
            open.columns().get(*place) == Some(column)
        };
        if !self.columns.iter().map(|c| c.0).chain(tested).all(is_same) {
            let what = "its columns have changed since the statement was compiled";
            return Err(Msg::ExternalFile(what, &file.path).into());
        }
        if open.row_groups() != file.groups {
            let what = "its row groups have changed since the statement was compiled";
            return Err(Msg::ExternalFile(what, &file.path).into());
        }
        let open = Arc::new(open);
        Ok(shared.map_or_else(|| Arc::clone(&open), |files| files.put(number, Arc::clone(&open))))
    }
}

/// Returns false if the statistics of a row group exclude the statement's condition.
fn may_match(
    tests: &[GroupTest],
    open: &ParquetFile<Bytewise>,
    file: &BulkFile,
    group: usize,
    cx: &mut Cx<'_>,
) -> bool {
    'tests: for test in tests {
        for (ordinal, least, greatest) in &test.bounds {
            let place = file.columns[usize::from(*ordinal)].1;
            let bounds = open.bounds(group, place);
            let (low, high) = match (bounds.least, bounds.greatest) {
                // All values are NULL, so no comparison is true.
                _ if bounds.is_null => (Value::Null, Value::Null),
                (Some(low), Some(high)) => (low, high),
                _ => continue 'tests,
            };
            cx.registers[least.index()] = low;
            cx.registers[greatest.index()] = high;
        }
        // An error is raised when a row is evaluated, if at all.
        if truth(&test.condition, cx).is_ok_and(|truth| !truth.is_true()) {
            return false;
        }
    }
    true
}

/// Reads a file as one value, for SINGLE_BLOB, SINGLE_CLOB and SINGLE_NCLOB.
///
/// # Errors
/// 4860 and 4861 for the file; 4806 and 4809 if its characters do not fit the option.
pub fn single(path: &str, as_type: DataType) -> Result<Value> {
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
