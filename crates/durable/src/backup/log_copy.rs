//! Copies the part of the log that a database has written from the log of the instance to a backup.
//!
//! The log is read twice: for the definitions, which say what tables the database has had, and for
//! the records of these tables. A table that was dropped since is copied as well, because a restore
//! may stop before that.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use definitions::Entry;
use log::{Batch, LogReader, Mode, Nesting, Record, Records, Transaction};
use sos::park;
use sos::wait::WaitType;

use super::BackupWriter;
use crate::commit_log::ENTRY;
use crate::entry;
use crate::folder::{Folder, LOG};
use crate::images::table_and_part;

/// How often the log is read that may be written at that moment.
const TRIES: u32 = 20;
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(5);
/// Bytes of records in a block, about.
const BLOCK_BYTES: usize = 256 << 10;

/// A part of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The segment that has its beginning.
    pub segment: u64,
    /// The first epoch that is in it.
    pub first: u64,
    /// The last epoch, which is durable.
    pub last: u64,
}

/// A database, as the log knows it.
#[derive(Debug)]
pub struct OwnTables {
    /// The id of the database.
    pub database: i16,
    /// Storage ids of the tables that it has had.
    pub tables: BTreeSet<u32>,
}

/// Why a part of the log was not copied.
#[derive(Debug)]
pub enum CopyError {
    /// The log cannot be read.
    Log(String),
    /// The backup cannot be written.
    Backup(io::Error),
}

/// Copies the records of a database to a backup. Returns when the last transaction was committed, in
/// units of 100 ns since 0001-01-01; 0 without one.
pub(crate) fn copy(
    folder: &Folder,
    span: Span,
    own: &mut OwnTables,
    writer: &mut BackupWriter<'_>,
) -> Result<u64, CopyError> {
    let last_batch = find_tables(folder, span, own).map_err(CopyError::Log)?;
    let mut copying = Copying { own, writer, records: Vec::new(), open: None, last_utc: 0 };
    let mut nesting = Nesting::default();
    let read = each_batch(folder, span, last_batch, &mut |batch| {
        nesting = copying.batch(batch, nesting)?;
        Ok(())
    });
    match read {
        Ok(()) => Ok(copying.last_utc),
        Err(Failure::Log(why)) => Err(CopyError::Log(why)),
        Err(Failure::Backup(error)) => Err(CopyError::Backup(error)),
    }
}

enum Failure {
    Log(String),
    Backup(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Backup(error)
    }
}

/// Finds the tables that are defined in the span; returns the number of its last batch.
fn find_tables(folder: &Folder, span: Span, own: &mut OwnTables) -> Result<u64, String> {
    let mut tries = 0;
    loop {
        let mut last = 0;
        let mut nesting = Nesting::default();
        let read = each_batch(folder, span, u64::MAX, &mut |batch| {
            let mut records = Records::new(batch.payload, nesting);
            for record in records.by_ref() {
                let record = record.map_err(|error| Failure::Log(error.to_string()))?;
                if let Record::Definition { kind: ENTRY, bytes } = record {
                    note_table(&entry_of(bytes)?, own);
                }
            }
            nesting = records.nesting();
            last = batch.header.number;
            Ok(())
        });
        tries += 1;
        match read {
            Ok(()) => return Ok(last),
            // What is being written behind the span may look like damage.
            Err(Failure::Log(_)) if tries < TRIES => {
                park::sleep(PAUSE, WaitType::IoCompletion, None);
            }
            Err(Failure::Log(why)) => return Err(why),
            Err(Failure::Backup(error)) => return Err(error.to_string()),
        }
    }
}

fn entry_of(bytes: &[u8]) -> Result<Entry, Failure> {
    entry::decode(bytes).ok_or_else(|| Failure::Log("a definition is not readable".to_owned()))
}

fn note_table(entry: &Entry, own: &mut OwnTables) {
    if definitions::database_of_key(&entry.key) == Some(own.database) {
        own.tables.extend(definitions::storage_of(entry).map(|table| table.0));
    }
}

/// Shows the batches of the groups in a span, up to the one with a number.
fn each_batch(
    folder: &Folder,
    span: Span,
    last_batch: u64,
    visit: &mut dyn FnMut(&Batch<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let disk = Arc::clone(&folder.disk);
    let opened = LogReader::open(disk, LOG, folder.id, Some(span.segment), Mode::Strict);
    let failed = |error: log::LogError| Failure::Log(error.to_string());
    let mut reader = opened.map_err(failed)?;
    loop {
        let batch = match reader.next_batch() {
            Ok(Some(batch)) => batch,
            Ok(None) => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        let (first, last) = (batch.header.first_epoch.0, batch.header.last_epoch.0);
        if first > span.last {
            return Ok(());
        }
        if last >= span.first {
            visit(&batch)?;
        }
        if batch.header.number >= last_batch || (batch.header.is_last && last >= span.last) {
            return Ok(());
        }
    }
}

/// Copies records to a backup.
struct Copying<'a, 'w> {
    own: &'a OwnTables,
    writer: &'a mut BackupWriter<'w>,
    records: Vec<u8>,
    open: Option<Begun>,
    last_utc: u64,
}

/// A transaction of the log; it is begun in the copy with its first record there.
#[derive(Clone, Copy)]
struct Begun {
    times: (u64, u64),
    paused: Option<log::Paused>,
}

impl Copying<'_, '_> {
    fn batch(&mut self, batch: &Batch<'_>, nesting: Nesting) -> Result<Nesting, Failure> {
        let mut records = Records::new(batch.payload, nesting);
        for record in records.by_ref() {
            self.record(&record.map_err(|error| Failure::Log(error.to_string()))?)?;
            if self.records.len() >= BLOCK_BYTES {
                self.flush(false)?;
            }
        }
        if batch.header.is_last {
            self.flush(true)?;
        }
        Ok(records.nesting())
    }

    fn flush(&mut self, ends_group: bool) -> Result<(), Failure> {
        if !self.records.is_empty() {
            self.writer.log(&self.records, ends_group)?;
            self.records.clear();
        }
        Ok(())
    }

    fn record(&mut self, record: &Record<'_>) -> Result<(), Failure> {
        match record {
            Record::Begin { timestamp, utc_100ns } => {
                self.open = Some(Begun { times: (*timestamp, *utc_100ns), paused: None });
            }
            Record::End => {
                if let Some(Begun { paused: Some(paused), times }) = self.open.take() {
                    Transaction::resume(&mut self.records, paused).end();
                    self.last_utc = self.last_utc.max(times.1);
                }
            }
            Record::Insert { table, row, columns } if self.has(*table) => {
                self.put(|to| to.insert(*table, *row, columns.clone()));
            }
            Record::Update { table, row, columns } if self.has(*table) => {
                self.put(|to| to.update(*table, *row, columns.clone()));
            }
            Record::Delete { table, row } if self.has(*table) => {
                self.put(|to| to.delete(*table, *row));
            }
            Record::Insert { .. } | Record::Update { .. } | Record::Delete { .. } => {}
            Record::Definition { kind, bytes } => {
                if *kind == ENTRY && self.wants(&entry_of(bytes)?) {
                    self.put(|to| to.definition(*kind, bytes));
                }
            }
        }
        Ok(())
    }

    fn has(&self, number: u32) -> bool {
        self.own.tables.contains(&table_and_part(number).0.0)
    }

    /// Returns whether a definition belongs to the database, or is the position of a counter that
    /// may do so.
    fn wants(&self, entry: &Entry) -> bool {
        match definitions::counter_of_key(&entry.key) {
            Some(catalog::CounterKey::Identity(table)) => self.own.tables.contains(&table.0),
            // Its number is unique in the instance: a restore finds those of its sequences.
            Some(catalog::CounterKey::Sequence(_)) => true,
            Some(_) => false,
            None => definitions::database_of_key(&entry.key) == Some(self.own.database),
        }
    }

    fn put(&mut self, write: impl FnOnce(&mut Transaction<'_>)) {
        let Some(begun) = &mut self.open else { return };
        let mut transaction = match begun.paused {
            Some(paused) => Transaction::resume(&mut self.records, paused),
            None => Transaction::begin(&mut self.records, begun.times.0, begun.times.1),
        };
        write(&mut transaction);
        begun.paused = Some(transaction.pause());
    }
}
