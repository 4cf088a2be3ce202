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
use definitions::{EventNames, NewTable, TableMaker};
use log::{CommitBuffers, Epoch, LogError, LogOptions, LogReader, Mode, SegmentWriter, Skipped};
use sos::sched::Machine;
use sos::sync::Arc;
use storage::recovery::{Restore, Source};
use storage::{RowId, RowImage, Store, Table, TableId};
use types::row::{RowBuffer, RowLayout};

use crate::commit_log::CommitLog;
use crate::database::Database;
use crate::folder::{Folder, LOG};
use crate::images::{self, table_number};
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
    /// The events that event sessions may name.
    pub events: &'a EventNames,
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
    let catalog = definitions::decode(&entries, instance.catalog, &mut tables, instance.events)
        .map_err(|error| named(&error))?;
    let count = restore_rows(&tables.made, rows).map_err(|error| named(&error))?;
    instance.catalog.restore(catalog);

    let sync = log::probe_sync(&*folder.disk, LOG).map_err(|error| named(&error))?;
    let options = LogOptions {
        folder: LOG.to_owned(),
        sync: sync.chosen,
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

/// A table whose rows come back.
struct Made {
    table: Arc<Table>,
    layout: Arc<RowLayout>,
}

/// Makes the storage of the catalog's tables, and keeps those whose rows come back.
struct Tables<'a> {
    instance: Instance<'a>,
    made: HashMap<TableId, Made>,
}

impl TableMaker for Tables<'_> {
    fn make(&mut self, table: &NewTable<'_>) -> types::Result<Arc<TableRows>> {
        let Instance { store, catalog, .. } = self.instance;
        let rows = catalog::create_rows(store, catalog, &table.shape)?;
        if table.shape.durable && !table.is_shape {
            let layout = Arc::clone(table.shape.layout);
            self.made.insert(rows.data.id(), Made { table: Arc::clone(&rows.data), layout });
        }
        Ok(rows)
    }
}

/// Puts the rows into their tables; returns how many there are.
fn restore_rows(
    tables: &HashMap<TableId, Made>,
    mut changes: HashMap<u32, Rows>,
) -> Result<u64, String> {
    let mut count = 0;
    for (id, made) in tables {
        let restore = made.table.restore();
        for part in 0..made.table.part_count() {
            let Some(rows) = changes.remove(&table_number(*id, part)) else { continue };
            let layout = (part == 0).then_some(&*made.layout);
            apply(&restore, (part, layout), rows)
                .map_err(|why| format!("table {}, {why}", id.0))?;
        }
        count += restore.finish().map_err(|error| format!("table {}: {error:?}", id.0))?;
    }
    Ok(count)
}

/// Applies what the log says to the rows of a part.
fn apply(
    restore: &Restore<'_>,
    (part, layout): (u8, Option<&RowLayout>),
    rows: Rows,
) -> Result<(), String> {
    let mut row = RowBuffer::default();
    for (number, change) in rows {
        let id = RowId(number);
        let named = |why: &dyn std::fmt::Display| format!("row {number} of part {part}: {why}");
        let is_placed = match change {
            Change::Gone => Ok(restore.remove(part, id, Source::Log)),
            Change::Whole(columns) => {
                images::assemble(layout, None, lent(&columns), &mut row)
                    .map_err(|why| named(&why))?;
                restore.put(part, id, RowImage::from(&row), Source::Log)
            }
            Change::Part(columns) => {
                let assembled = restore.show(part, id, |base| match base {
                    None => Err("it has changed and was never inserted".to_owned()),
                    Some(base) => images::assemble(layout, Some(base), lent(&columns), &mut row),
                });
                assembled.map_err(|why| named(&why))?;
                restore.put(part, id, RowImage::from(&row), Source::Log)
            }
        };
        if !is_placed.map_err(|error| named(&error))? {
            return Err(named(&"no table has such a row"));
        }
    }
    Ok(())
}
