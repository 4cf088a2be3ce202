//! `Reading`: the log of a folder as it is on the disk, read without its lock, also while a server
//! writes it.
//!
//! What is being written may look like damage: a batch that is half there, and a good one behind it
//! a moment later. So a place that looks damaged is read once more; by then it is whole. A
//! checkpoint may take segments away during that; then reading ends with an error that says so.

use std::sync::Arc;

use definitions::Entries;
use log::{Batch, Columns, DatabaseId, LogError, LogReader, Mode, Nesting, Record, Records, Row};
use sos::sys::{Disk, Open, OsDisk};
use sos::wait::WaitType;
use storage::TableId;

use crate::checkpoint;
use crate::entry;
use crate::folder::{Folder, IDENTITY, LOG, read_identity};
use crate::images::table_and_part;
use crate::recovery::read_definitions;

/// How often a checkpoint is read that another one may replace at that moment.
const TRIES: u32 = 3;

/// The log of a folder.
#[derive(Clone, Debug)]
pub struct Reading {
    disk: Arc<dyn Disk>,
    name: String,
    id: DatabaseId,
}

/// A segment of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number: one more than that of the segment before.
    pub number: u64,
    /// How often its file was used.
    pub generation: u64,
    /// The bytes of its file.
    pub bytes: u64,
    /// The number of its first batch.
    pub first_batch: u64,
}

/// Where a record is. Later records have higher positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The segment that has it.
    pub segment: u64,
    /// The batch; batches are numbered through all segments.
    pub batch: u64,
    /// The record in the batch, from 1.
    pub record: u64,
}

/// A record of the log.
#[derive(Debug)]
pub enum Change<'a> {
    /// The beginning of a transaction.
    Begin {
        /// The commit timestamp that orders changes.
        timestamp: u64,
        /// Its commit time in UTC, in units of 100 ns since 0001-01-01.
        utc_100ns: u64,
    },
    /// A row is new.
    Insert {
        /// The table by its storage id.
        table: TableId,
        /// 0 for the table's own rows, 1 and more for the internal tables of a columnstore.
        part: u8,
        /// The number of the row.
        row: u64,
        /// All columns of the row.
        columns: Columns<'a>,
    },
    /// A row has other values.
    Update {
        /// The table by its storage id.
        table: TableId,
        /// The part of the table, as in `Insert`.
        part: u8,
        /// The number of the row.
        row: u64,
        /// The columns that have changed.
        columns: Columns<'a>,
    },
    /// A row is gone.
    Delete {
        /// The table by its storage id.
        table: TableId,
        /// The part of the table, as in `Insert`.
        part: u8,
        /// The number of the row.
        row: u64,
    },
    /// A definition has another value.
    Define(definitions::Entry),
    /// The end of a transaction.
    End,
}

/// What is kept of a reading from one attempt to the next.
#[derive(Debug, Default)]
struct Progress {
    /// The last batch that was read.
    batch: u64,
    nesting: Nesting,
}

/// Why an attempt ended early.
enum Fault {
    /// The log cannot be read at a place; perhaps it is being written there.
    Log(LogError),
    /// A checkpoint has taken batches away that were not read.
    Gone,
    /// The bytes are no records of this program, or the visitor had enough.
    Final(String),
}

impl Reading {
    /// Opens the log of the folder at a path, without locking it.
    ///
    /// # Errors
    /// A sentence that says why it is not a folder of a database.
    pub fn open(path: &str) -> Result<Self, String> {
        let disk = OsDisk::open(path).map_err(|error| format!("the folder {path}: {error}"))?;
        let names = disk.list("").map_err(|error| format!("the folder {path}: {error}"))?;
        if !names.iter().any(|name| name == IDENTITY) {
            return Err(format!("the folder {path} has no Clearway database in it"));
        }
        let id = read_identity(&disk).map_err(|why| format!("{path}/{IDENTITY}: {why}"))?;
        Ok(Self { disk: Arc::new(disk), name: path.to_owned(), id })
    }

    /// Returns the log of a folder that this process has open.
    pub(crate) fn of(folder: &Folder) -> Self {
        Self { disk: Arc::clone(&folder.disk), name: folder.name.clone(), id: folder.id }
    }

    /// Returns the segments in the order of their numbers.
    ///
    /// # Errors
    /// What the disk says. A segment that is being made is left out.
    pub fn segments(&self) -> Result<Vec<Segment>, String> {
        let fails = |error: std::io::Error| format!("{}/{LOG}: {error}", self.name);
        let mut names = self.disk.list(LOG).map_err(fails)?;
        names.retain(|name| {
            let digits = name.strip_suffix(".log").unwrap_or_default();
            digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit())
        });
        names.sort_unstable();
        let mut found = Vec::new();
        for name in names {
            let path = format!("{LOG}/{name}");
            let Ok(file) = self.disk.open(&path, Open::Read, WaitType::IoCompletion) else {
                // It has become a spare by now.
                continue;
            };
            let mut block = [0; log::BLOCK_BYTES];
            file.read_at(0, &mut block).map_err(fails)?;
            let bytes = file.len().map_err(fails)?;
            let header = log::SegmentHeader::decode(&block);
            found.extend(header.ok().map(|header| Segment {
                number: header.number,
                generation: header.generation,
                bytes,
                first_batch: header.first_batch,
            }));
        }
        Ok(found)
    }

    /// Returns the files in a folder of the database, `log` or `checkpoint`, and their sizes.
    ///
    /// # Errors
    /// What the disk says.
    pub fn files(&self, folder: &str) -> Result<Vec<(String, u64)>, String> {
        let fails = |error: std::io::Error| format!("{}/{folder}: {error}", self.name);
        let mut names = self.disk.list(folder).map_err(fails)?;
        names.sort_unstable();
        let mut files = Vec::new();
        for name in names {
            let path = format!("{folder}/{name}");
            // A file that is gone by now is left out.
            if let Ok(file) = self.disk.open(&path, Open::Read, WaitType::IoCompletion) {
                files.push((path, file.len().map_err(fails)?));
            }
        }
        Ok(files)
    }

    /// Returns the bytes of the files in such a folder.
    ///
    /// # Errors
    /// What the disk says.
    pub fn bytes_of(&self, folder: &str) -> Result<u64, String> {
        Ok(self.files(folder)?.into_iter().map(|(_, bytes)| bytes).sum())
    }

    /// Returns the definitions of the last checkpoint: those of the log come on top. None without a
    /// checkpoint.
    ///
    /// # Errors
    /// What is wrong with the checkpoint.
    pub fn definitions(&self) -> Result<Entries, String> {
        let options = checkpoint::options_of(self.id);
        let mut tries = 0;
        loop {
            tries += 1;
            let found = log::checkpoint::look(&*self.disk, &options)
                .map_err(|error| error.to_string())
                .and_then(|reader| read_definitions(reader.as_ref()));
            match found {
                Ok(entries) => return Ok(entries),
                // Perhaps a new checkpoint was published in between.
                Err(_) if tries < TRIES => {}
                Err(error) => return Err(format!("the database {}: {error}", self.name)),
            }
        }
    }

    /// Shows each record of the log, from the first segment to the last group that is complete.
    ///
    /// # Errors
    /// What is wrong with the log, or the error of `visit`.
    pub fn records(
        &self,
        mut visit: impl FnMut(Position, &Change<'_>) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut walk = self.clone().walk();
        while walk.batch(&mut visit)? {}
        Ok(())
    }

    /// Begins to read the records of the log, batch by batch.
    pub fn walk(self) -> Walk {
        Walk { reading: self, progress: Progress::default(), seen: None, open: None }
    }
}

/// Reads the records of a log while its database goes on. A fault is met once more before it counts:
/// the log may have changed in between.
#[derive(Debug)]
pub struct Walk {
    reading: Reading,
    progress: Progress,
    /// The last fault, and the batch before it.
    seen: Option<(u64, String)>,
    open: Option<OpenLog>,
}

#[derive(Debug)]
struct OpenLog {
    reader: LogReader,
    segments: Vec<Segment>,
    is_first: bool,
}

impl Walk {
    /// Shows the records of the next batch; returns false behind the last group that is complete.
    ///
    /// # Errors
    /// What is wrong with the log, or the error of `visit`.
    pub fn batch(
        &mut self,
        visit: &mut impl FnMut(Position, &Change<'_>) -> Result<(), String>,
    ) -> Result<bool, String> {
        loop {
            let error = match self.attempt(visit) {
                Ok(more) => return Ok(more),
                Err(Fault::Final(why)) => return Err(why),
                Err(Fault::Gone) => {
                    return Err(format!(
                        "batches behind {} were taken away by a checkpoint while they were read",
                        self.progress.batch
                    ));
                }
                Err(Fault::Log(error)) => error,
            };
            let fault = (self.progress.batch, error.to_string());
            if self.seen.as_ref() == Some(&fault) {
                return Err(format!("the database {}: {}", self.reading.name, fault.1));
            }
            self.seen = Some(fault);
            self.open = None;
        }
    }

    fn attempt(
        &mut self,
        visit: &mut impl FnMut(Position, &Change<'_>) -> Result<(), String>,
    ) -> Result<bool, Fault> {
        if self.open.is_none() {
            let disk = Arc::clone(&self.reading.disk);
            let reader = match LogReader::open(disk, LOG, self.reading.id, None, Mode::Strict) {
                Ok(reader) => reader,
                Err(LogError::NoSegment) => return Ok(false),
                Err(error) => return Err(Fault::Log(error)),
            };
            let segments = self.reading.segments().map_err(Fault::Final)?;
            self.open = Some(OpenLog { reader, segments, is_first: true });
        }
        let Some(OpenLog { reader, segments, is_first }) = &mut self.open else {
            return Ok(false);
        };
        let progress = &mut self.progress;
        loop {
            let Some(batch) = reader.next_batch().map_err(Fault::Log)? else { return Ok(false) };
            let number = batch.header.number;
            if *is_first && progress.batch > 0 && number > progress.batch + 1 {
                return Err(Fault::Gone);
            }
            *is_first = false;
            if number <= progress.batch {
                continue;
            }
            let segment = segments.partition_point(|segment| segment.first_batch <= number);
            let segment = segments.get(segment.wrapping_sub(1)).map_or(0, |it| it.number);
            progress.nesting = show((segment, progress.nesting), &batch, visit)
                .map_err(|why| Fault::Final(format!("batch {number} of the log: {why}")))?;
            progress.batch = number;
            return Ok(true);
        }
    }
}

/// Shows the records of a batch; returns the nesting behind it.
fn show(
    (segment, nesting): (u64, Nesting),
    batch: &Batch<'_>,
    visit: &mut impl FnMut(Position, &Change<'_>) -> Result<(), String>,
) -> Result<Nesting, String> {
    let mut records = Records::new(batch.payload, nesting);
    for (number, record) in (1..).zip(records.by_ref()) {
        let record = record.map_err(|error| error.to_string())?;
        let change = change_of(record)?;
        visit(Position { segment, batch: batch.header.number, record: number }, &change)?;
    }
    Ok(records.nesting())
}

fn change_of(record: Record<'_>) -> Result<Change<'_>, String> {
    let id = |row: Row<'_>| match row {
        Row::Id(id) => Ok(id),
        Row::Key(_) => Err("a row is named by its key".to_owned()),
    };
    Ok(match record {
        Record::Begin { timestamp, utc_100ns } => Change::Begin { timestamp, utc_100ns },
        Record::End => Change::End,
        Record::Insert { table, row, columns } => {
            let (table, part) = table_and_part(table);
            Change::Insert { table, part, row: id(row)?, columns }
        }
        Record::Update { table, row, columns } => {
            let (table, part) = table_and_part(table);
            Change::Update { table, part, row: id(row)?, columns }
        }
        Record::Delete { table, row } => {
            let (table, part) = table_and_part(table);
            Change::Delete { table, part, row: id(row)? }
        }
        Record::Definition { kind: crate::commit_log::ENTRY, bytes } => {
            Change::Define(entry::decode(bytes).ok_or("a definition is not readable")?)
        }
        Record::Definition { kind, .. } => {
            return Err(format!("a definition is of the unknown kind {kind}"));
        }
    })
}
