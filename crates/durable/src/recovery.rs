//! A start: from the files of a database to tables, definitions and counters as they were.
//!
//! ```text
//! log ─► replay: definitions, and one change for each row
//!          ├─► counters
//!          ├─► definitions ─► the catalog; each table with its storage
//!          └─► rows ─► their places in the tables ─► indexes
//! ```
//!
//! Nobody sees the instance before all of it is there. Rows of tables that no definition refers to
//! are left out: those of a dropped table, or of one whose definition did not get into the log.

use std::collections::HashMap;
use std::time::Instant;

use catalog::{CatalogCell, TableRows};
use definitions::{NewTable, TableMaker};
use log::{CommitBuffers, Epoch, LogError, LogOptions, LogReader, Mode, SegmentWriter, Skipped};
use sos::sched::Machine;
use sos::sync::Arc;
use storage::{RowId, RowImage, Store, Table, TableId};
use types::row::RowBuffer;

use crate::commit_log::CommitLog;
use crate::database::Database;
use crate::folder::{Folder, LOG};
use crate::images::{self, table_and_part};
use crate::replay::{Change, Counts, Replay, Rows, lent};

/// The size of a segment of the log.
const SEGMENT_BYTES: u64 = 64 << 20;
/// A group of commits is cut into batches of about this size.
const BATCH_BYTES: usize = 1 << 20;

/// How a start deals with what it finds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Leave out transactions that were committed later, in units of 100 ns since 0001-01-01 UTC.
    pub until_100ns: Option<u64>,
    /// Go on behind damage, and report what is lost.
    pub salvage: bool,
}

/// What a start fills, before anything else uses it.
#[derive(Clone, Copy)]
pub struct Instance<'a> {
    /// The machine whose schedulers commit.
    pub machine: &'a Machine,
    /// The store, without tables that are durable.
    pub store: &'a Arc<Store>,
    /// The catalog of a fresh instance.
    pub catalog: &'a CatalogCell,
}

/// What a start has found.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Whether the folder is new: nothing was there.
    pub is_new: bool,
    /// What was read of the log.
    pub counts: Counts,
    /// Rows that are in tables now.
    pub rows: u64,
    /// How long it took, in milliseconds.
    pub millis: u64,
    /// What salvage has left out.
    pub lost: Vec<String>,
}

/// Opens a database: recovers what its folder has into an instance, and starts its log.
///
/// # Errors
/// A sentence that names the file and what is wrong with it. The folder is as before.
pub fn open(
    folder: Folder,
    settings: &Settings,
    instance: Instance<'_>,
) -> Result<(Database, Recovered), String> {
    let began = Instant::now();
    let at = folder.name.clone();
    let named = |error: &dyn std::fmt::Display| format!("the database {at}: {error}");
    let mut replay = Replay::new(definitions::Entries::new(), settings.until_100ns);
    let (end, lost) = read_log(&folder, settings, &mut replay).map_err(|error| named(&error))?;
    let (entries, rows, counts) = replay.finish();

    let schedulers = instance.machine.scheduler_count();
    let last = end.as_ref().map_or(Epoch(0), |end| end.last_epoch);
    let (buffers, _) = CommitBuffers::new(CommitLog::slots(schedulers), last);
    let log = Arc::new(CommitLog::new(buffers, schedulers));
    instance.catalog.set_counter_log(Arc::<CommitLog>::clone(&log));
    let mut tables = Tables { instance, made: HashMap::new() };
    let catalog = definitions::decode(&entries, instance.catalog, &mut tables)
        .map_err(|error| named(&error))?;
    let count = restore_rows(&tables.made, rows).map_err(|error| named(&error))?;
    instance.catalog.restore(catalog);

    let options = LogOptions {
        folder: LOG.to_owned(),
        database: folder.id,
        segment_bytes: SEGMENT_BYTES,
        batch_bytes: BATCH_BYTES,
    };
    let disk = Arc::clone(&folder.disk);
    let writer = match &end {
        Some(end) => SegmentWriter::resume(disk, options, end),
        None => SegmentWriter::create(disk, options),
    };
    let writer = writer.map_err(|error| named(&error))?;
    let recovered = Recovered {
        is_new: folder.is_new,
        counts,
        rows: count,
        millis: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        lost: lost.iter().map(skipped).collect(),
    };
    let database = Database::start(folder, Arc::clone(&log), writer, instance.machine)
        .map_err(|error| named(&error))?;
    instance.store.set_log(Arc::<CommitLog>::clone(&log));
    let listening = Arc::clone(&log);
    instance.catalog.set_listener(Box::new(move |base, next| {
        let entries = definitions::diff(base, next);
        if !entries.is_empty() {
            listening.define(&entries);
        }
        Ok(())
    }));
    Ok((database, recovered))
}

/// Reads the log to its end; `None` without a segment.
fn read_log(
    folder: &Folder,
    settings: &Settings,
    replay: &mut Replay,
) -> Result<(Option<log::End>, Vec<Skipped>), String> {
    let mode = if settings.salvage { Mode::Salvage } else { Mode::Strict };
    let disk = Arc::clone(&folder.disk);
    let mut reader = match LogReader::open(disk, LOG, folder.id, None, mode) {
        Ok(reader) => reader,
        Err(LogError::NoSegment) => return Ok((None, Vec::new())),
        Err(error) => return Err(error.to_string()),
    };
    while let Some(batch) = reader.next_batch().map_err(|error| error.to_string())? {
        let number = batch.header.number;
        replay.take(&batch).map_err(|why| format!("batch {number} of the log: {why}"))?;
    }
    let skipped = reader.skipped().to_vec();
    Ok((reader.end().copied(), skipped))
}

fn skipped(part: &Skipped) -> String {
    let (from, to) = (part.from, part.to);
    format!(
        "batches {} to {} of the log are lost: segment {} from offset {} to segment {} offset {}: {}",
        part.batches.0,
        part.batches.1.saturating_sub(1),
        from.0,
        from.1,
        to.0,
        to.1,
        part.problem
    )
}

/// Makes the storage of the catalog's tables, and keeps those whose rows come back.
struct Tables<'a> {
    instance: Instance<'a>,
    made: HashMap<TableId, Arc<Table>>,
}

impl TableMaker for Tables<'_> {
    fn make(&mut self, table: &NewTable<'_>) -> types::Result<Arc<TableRows>> {
        let Instance { store, catalog, .. } = self.instance;
        let rows = catalog::create_rows(store, catalog, &table.shape)?;
        if table.shape.durable && !table.is_shape {
            self.made.insert(rows.data.id(), Arc::clone(&rows.data));
        }
        Ok(rows)
    }
}

/// Puts the rows into their tables; returns how many there are.
fn restore_rows(
    tables: &HashMap<TableId, Arc<Table>>,
    changes: HashMap<u32, Rows>,
) -> Result<u64, String> {
    let mut restores = HashMap::new();
    for (id, table) in tables {
        restores.insert(*id, table.restore().map_err(|error| error.to_string())?);
    }
    for (number, rows) in changes {
        let (id, part) = table_and_part(number);
        let Some(restore) = restores.get(&id) else { continue };
        let layout = restore.layout(part);
        let mut row = RowBuffer::default();
        for (row_id, change) in rows {
            let columns = match change {
                Change::Whole(columns) => columns,
                Change::Gone => continue,
                Change::Part(_) => {
                    return Err(format!("row {row_id} of table {} has no beginning", id.0));
                }
            };
            images::assemble(layout, None, lent(&columns), &mut row)
                .map_err(|why| format!("row {row_id} of table {}: {why}", id.0))?;
            restore
                .put(part, RowId(row_id), RowImage::from(&row))
                .map_err(|error| format!("row {row_id} of table {}: {error}", id.0))?;
        }
    }
    let mut count = 0;
    for (id, restore) in restores {
        count += restore.finish().map_err(|error| format!("table {}: {error}", id.0))?;
    }
    Ok(count)
}
