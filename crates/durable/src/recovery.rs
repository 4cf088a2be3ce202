//! A start: from the files of a database to tables, definitions and counters as they were.
//!
//! ```text
//! log, first reading ─► definitions and counters ─► the catalog; each table with its storage
//! checkpoint ─► rows ─► their places in the tables
//! log, second reading ─► changes of rows ─► the same places ─► indexes
//! ```
//!
//! The log is read twice, because a table's definition may come anywhere in it. The second reading comes
//! from the system's cache and keeps no row in memory besides the tables (decision 0394).
//!
//! No session sees the instance before all of it is there. Rows of tables that no definition refers to
//! are left out: those of a dropped table, or of one whose definition did not get into the log.

use std::collections::HashMap;

use catalog::{Catalog, CatalogCell, Object, TableDef, TableRows};
use definitions::{Entries, Entry, EventNames, NewTable, TableMaker};
use log::checkpoint::{CheckpointReader, Checkpoints, RangeKey};
use log::{
    CommitBuffers, Epoch, LogError, LogOptions, LogReader, Mode, ReplayFrom, SegmentWriter, Skipped,
};
use sos::clock;
use sos::lock::{SpinClass, SpinLock};
use sos::sched::Machine;
use sos::sync::Arc;
use sos::sys::Open as OpenFile;
use sos::wait::WaitType;
use storage::recovery::Source;
use storage::{RowId, RowImage, Store, Table, TableId};
use types::Msg;
use types::row::{RowBuffer, RowLayout};

use crate::apply::{Target, Targets, apply_log, describe_orphan};
use crate::checkpoint::{self, Checkpointer};
use crate::commit_log::CommitLog;
use crate::database::Database;
use crate::folder::{Folder, LOG};
use crate::kept::{self, Kept};
use crate::planted::Planted;
use crate::progress::Progress;
use crate::replay::{Counts, Definitions, Transactions, Wanted};
use crate::rows;

/// The size of a segment of the log.
const SEGMENT_BYTES: u64 = 64 << 20;
/// Bytes of a definition in the log besides its key and value.
const ENTRY_BYTES: usize = 64;
/// A group of commits is cut into batches of about this size.
const BATCH_BYTES: usize = 1 << 20;

/// How a start deals with what it finds.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Leave out transactions that were committed later, in units of 100 ns since 0001-01-01 UTC.
    pub until_100ns: Option<u64>,
    /// Go on behind damage, and report what is lost.
    pub salvage: bool,
    /// Keep the rows of SCHEMA_ONLY tables from an orderly stop to the next start.
    pub keep_schema_only: bool,
    /// The size of a new segment of the log, a multiple of 4,096 bytes.
    pub segment_bytes: u64,
    /// Bytes of log per second that a start is expected to replay; `None` for what this one has
    /// measured.
    pub replay_bytes_per_s: Option<u64>,
    /// A deliberate mistake, for crash tests.
    pub planted: Planted,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            until_100ns: None,
            salvage: false,
            keep_schema_only: false,
            segment_bytes: SEGMENT_BYTES,
            replay_bytes_per_s: None,
            planted: Planted::default(),
        }
    }
}

/// What a start fills, before anything else uses it.
#[derive(Clone, Copy)]
pub struct Instance<'a> {
    /// The machine whose schedulers commit.
    pub machine: &'a Machine,
    /// The store, without tables that are durable.
    pub store: &'a Arc<Store>,
    /// The catalog of a fresh instance.
    pub catalog: &'a Arc<CatalogCell>,
    /// The events that event sessions may name.
    pub events: &'a EventNames,
    /// Where the start notes how far it is.
    pub progress: &'a Progress,
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
    /// What SCHEMA_ONLY tables have of the last stop; `None` unless the start asks for it.
    pub kept: Option<Kept>,
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
    let at = folder.name.clone();
    open_folder(folder, settings, instance).map_err(|error| format!("the database {at}: {error}"))
}

/// Says why a folder cannot be read, and what an operator can do.
fn with_advice(error: &LogError, settings: &Settings) -> String {
    let is_lost = match error {
        LogError::Corrupt { .. }
        | LogError::CorruptFile { .. }
        | LogError::MissingFile(_)
        | LogError::MissingSegment(_)
        | LogError::NoSegment => true,
        LogError::Io { error, .. } => error.kind() == std::io::ErrorKind::NotFound,
        LogError::Full { .. }
        | LogError::Suspect
        | LogError::Version { .. }
        | LogError::FileVersion { .. }
        | LogError::ForeignFile(_)
        | LogError::Foreign(_) => false,
    };
    let advice = match (is_lost, settings.salvage) {
        (false, _) => "",
        (true, false) => {
            "; restore a backup into a new folder, or try --salvage, which recovers what is readable \
             and says what is lost"
        }
        (true, true) => "; --salvage cannot do without that: restore a backup into a new folder",
    };
    format!("{error}{advice}")
}

/// As [`open`], with errors that do not name the folder.
fn open_folder(
    folder: Folder,
    settings: &Settings,
    instance: Instance<'_>,
) -> Result<(Database, Recovered), String> {
    let began_ns = clock::monotonic_ns();
    let checkpoints = Checkpoints::open(Arc::clone(&folder.disk), checkpoint::options(&folder));
    let checkpoints = checkpoints.map_err(|error| with_advice(&error, settings))?;
    let reader = checkpoints.reader().map_err(|error| with_advice(&error, settings))?;
    if let (Some(until), Some(manifest)) = (settings.until_100ns, checkpoints.manifest())
        && until < manifest.utc_100ns
    {
        return Err("its last checkpoint is later than the time to recover until".to_owned());
    }
    let entries = read_definitions(reader.as_ref())?;
    let start = checkpoints.manifest().map(|one| (one.first_segment, one.first_epoch));
    let schedulers = instance.machine.scheduler_count();
    let read_began_ns = clock::monotonic_ns();
    let at = LogStart { folder: &folder, settings, start };
    let FirstReading { entries, counts, groups, end, skipped } =
        at.read_definitions(entries, instance.progress)?;
    let log_ns = clock::monotonic_ns() - read_began_ns;
    let mut lost: Vec<String> = skipped.iter().map(describe).collect();

    let last = end.as_ref().map_or(Epoch(0), |end| end.last_epoch);
    // Epochs without commits are not in the log, but a checkpoint may name one of them: a new commit
    // in an epoch before it would be taken for one that the checkpoint has.
    let before_first = start.map_or(Epoch(0), |(_, first)| Epoch(first.0.saturating_sub(1)));
    let last = last.max(before_first);
    let (buffers, _) = CommitBuffers::new(CommitLog::slots(schedulers), last);
    let log = Arc::new(CommitLog::new(buffers, schedulers, settings.planted));
    instance.catalog.set_counter_log(Arc::<CommitLog>::clone(&log));
    let mut tables = Tables { instance, made: HashMap::new() };
    let mut catalog = definitions::decode(&entries, instance.catalog, &mut tables, instance.events)
        .map_err(|error| error.to_string())?;
    let (threads, progress) = (schedulers, instance.progress);
    let mut restored = Restored { tables: &tables.made, settings, threads, progress, log_ns };
    let count = restored.rows(reader.as_ref(), (at, counts, groups), &mut lost)?;
    let is_complete = !entries.is_empty();
    add_column_indexes(&catalog);
    let kept = take_over(&folder, settings, counts, &mut catalog)?;
    instance.catalog.restore(catalog);

    let is_damaged = !lost.is_empty();
    let at_end = LogEnd { end: end.as_ref(), is_damaged: !skipped.is_empty(), last };
    let writer = open_writer(&folder, settings, &at_end).map_err(|error| error.to_string())?;
    let recovered = Recovered {
        is_new: folder.is_new,
        counts,
        rows: count,
        millis: (clock::monotonic_ns() - began_ns) / 1_000_000,
        lost,
        kept,
    };
    let is_partial = is_damaged || counts.later > 0;
    let checkpointer = Checkpointer::new(
        instance.machine,
        (instance.store, instance.catalog),
        (&log, writer.folder()),
        (checkpoints, is_damaged),
        settings
            .replay_bytes_per_s
            .unwrap_or_else(|| checkpoint::replay_rate(counts.bytes, restored.log_ns)),
    );
    kept::remove(&folder)?;
    let threads_of = (instance.machine, instance.store);
    let database = Database::start(folder, Arc::clone(&log), writer, checkpointer, threads_of)
        .map_err(|error| error.to_string())?;
    database.keep_schema_only(settings.keep_schema_only);
    instance.store.set_log(Arc::<CommitLog>::clone(&log));
    listen(instance.catalog, instance.events, &log);
    if !is_complete {
        // From here on a start has all definitions from the log, what was removed included.
        log.define(&definitions::encode(&instance.catalog.load()));
    }
    if is_partial {
        // What was left out must not come back: from here on a start reads this checkpoint and what
        // follows, also after a kill.
        database.checkpoint(None)?;
    }
    Ok((database, recovered))
}

/// Gives tables their nonclustered columnstore indexes.
fn add_column_indexes(catalog: &Catalog) {
    for table in tables_of(catalog) {
        if let Some(index) = &table.column_index {
            // Its groups are made again by the tuple mover; until then the rows are read.
            table.rows.data.add_column_index(index.storage_id);
        }
    }
}

/// Takes over from the last stop what is not in the log: rows of SCHEMA_ONLY tables. A start that
/// leaves something out takes nothing over, and ends the chains of log backups.
fn take_over(
    folder: &Folder,
    settings: &Settings,
    counts: Counts,
    catalog: &mut Catalog,
) -> Result<Option<Kept>, String> {
    let is_earlier = settings.salvage || counts.later > 0;
    if is_earlier {
        // The log has a gap, which no backup of it may pass over.
        Arc::make_mut(&mut catalog.backups).end_log_chains();
    }
    if !settings.keep_schema_only {
        return Ok(None);
    }
    let tables = tables_of(catalog).filter(|table| table.schema_only);
    if is_earlier { Ok(Some(Kept::default())) } else { kept::take_back(folder, tables).map(Some) }
}

/// Where the log goes on.
struct LogEnd<'a> {
    /// What the reader has found; `None` without a segment.
    end: Option<&'a log::End>,
    /// Whether salvage has left out a part of the log.
    is_damaged: bool,
    /// The last epoch in use.
    last: Epoch,
}

/// Opens the log for writing, behind what was read.
fn open_writer(
    folder: &Folder,
    settings: &Settings,
    at: &LogEnd<'_>,
) -> Result<SegmentWriter, LogError> {
    let options = LogOptions {
        folder: LOG.to_owned(),
        sync: folder.sync_method()?,
        database: folder.id,
        segment_bytes: settings.segment_bytes,
        batch_bytes: BATCH_BYTES,
    };
    let disk = Arc::clone(&folder.disk);
    match at.end {
        // A start that reads the damaged part again would be refused: the log goes on in a new segment.
        Some(_) if at.is_damaged => {
            SegmentWriter::create_at(disk, options, last_segment(folder)? + 1, at.last)
        }
        Some(end) => SegmentWriter::resume(disk, options, end),
        None => SegmentWriter::create(disk, options),
    }
}

/// Writes each change of the catalog to the log before it is published.
fn listen(catalog: &CatalogCell, events: &EventNames, log: &Arc<CommitLog>) {
    let (listening, events) = (Arc::clone(log), *events);
    catalog.set_listener(Box::new(move |base, next| {
        let entries = definitions::diff(base, next);
        if entries.is_empty() {
            return Ok(());
        }
        definitions::check(&entries, next, &events).map_err(|error| unreadable(&error))?;
        let bytes = entries.iter().map(bytes_of).sum();
        listening.admit_definitions(bytes).map_err(|error| refusal(&error))?;
        listening.define(&entries);
        Ok(())
    }));
}

/// Returns about how many bytes a definition has in the log, at most.
fn bytes_of(entry: &Entry) -> u64 {
    (entry.key.len() + entry.value.as_ref().map_or(0, Vec::len) + ENTRY_BYTES) as u64
}

/// Returns the highest number of a segment, good or not.
fn last_segment(folder: &Folder) -> Result<u64, LogError> {
    let names = folder.disk.list(LOG).map_err(LogError::io(LOG))?;
    let numbers = names.iter().filter_map(|name| number_of(name));
    Ok(numbers.max().unwrap_or(0))
}

fn number_of(name: &str) -> Option<u64> {
    name.strip_suffix(".log")?.parse().ok()
}

/// Returns the bytes of the segments from one on, as far as they can be read: for the progress.
fn log_bytes(folder: &Folder, first: u64) -> u64 {
    let bytes = |name: &String| {
        number_of(name).filter(|number| *number >= first)?;
        let path = format!("{LOG}/{name}");
        folder
            .disk
            .open(&path, OpenFile::Read, WaitType::IoCompletion)
            .and_then(|file| file.len())
            .ok()
    };
    folder.disk.list(LOG).map_or(0, |names| names.iter().filter_map(bytes).sum())
}

/// Returns the message of a definition that the next start could not read.
fn unreadable(error: &definitions::Error) -> types::Error {
    let text = format!("{error} The next start would end with this, so nothing was changed.");
    types::Error::custom(3624, 16, 1, text)
}

/// Returns the message of a definition that the log refuses.
fn refusal(error: &storage::Error) -> types::Error {
    match error {
        storage::Error::LogFull => Msg::LogFull("master", "DISK_FULL").into(),
        _ => Msg::LogNotAvailable("master").into(),
    }
}

/// Iterates over the tables of all databases.
pub(crate) fn tables_of(catalog: &Catalog) -> impl Iterator<Item = &TableDef> {
    let objects = catalog.databases.values().flat_map(|database| database.objects.values());
    objects.filter_map(|object| match object {
        Object::Table(table) => Some(&**table),
        _ => None,
    })
}

/// Reads the definitions of a checkpoint.
pub(crate) fn read_definitions(reader: Option<&CheckpointReader>) -> Result<Entries, String> {
    let mut buffer = Vec::new();
    let Some(reader) = reader else { return Ok(Entries::new()) };
    let read = reader.definitions(&mut buffer).map_err(|error| error.to_string())?;
    Ok(read.map(|(key, value)| (key.to_vec(), value.to_vec())).collect())
}

/// Where the log of a start is, and what of it counts.
#[derive(Clone, Copy)]
struct LogStart<'a> {
    folder: &'a Folder,
    settings: &'a Settings,
    /// The first segment and epoch, after a checkpoint.
    start: Option<(u64, Epoch)>,
}

/// What the first reading of a log has found.
#[derive(Default)]
struct FirstReading {
    entries: Entries,
    counts: Counts,
    /// The number of groups of commits.
    groups: u64,
    /// `None` without a segment.
    end: Option<log::End>,
    skipped: Vec<Skipped>,
}

impl LogStart<'_> {
    fn mode(&self) -> Mode {
        if self.settings.salvage { Mode::Salvage } else { Mode::Strict }
    }

    /// Reads the log from the start of replay to its end, for its definitions, which come on top of
    /// `entries`.
    fn read_definitions(
        &self,
        entries: Entries,
        progress: &Progress,
    ) -> Result<FirstReading, String> {
        let disk = Arc::clone(&self.folder.disk);
        let (first_segment, first_epoch) = self.start.unzip();
        let first_epoch = first_epoch.unwrap_or_default();
        progress.begin(1, log_bytes(self.folder, first_segment.unwrap_or(0)));
        let opened = LogReader::open(disk, LOG, self.folder.id, first_segment, self.mode());
        let mut reader = match opened {
            Ok(reader) => reader,
            Err(LogError::NoSegment) if self.start.is_none() => {
                return Ok(FirstReading { entries, ..FirstReading::default() });
            }
            Err(error) => return Err(with_advice(&error, self.settings)),
        };
        let mut transactions = Transactions::until(self.settings.until_100ns);
        let mut definitions = Definitions::new(entries, self.settings.planted);
        let mut groups = 0;
        while let Some(batch) =
            reader.next_batch().map_err(|error| with_advice(&error, self.settings))?
        {
            let number = batch.header.number;
            progress.advance(batch.byte_count as u64);
            if batch.header.last_epoch < first_epoch {
                continue;
            }
            transactions
                .read(batch.payload, |timestamp, wanted| match wanted {
                    Wanted::Definition(bytes) => definitions.take(timestamp, bytes),
                    Wanted::Change(_) => Ok(()),
                })
                .map_err(|why| format!("batch {number} of the log: {why}"))?;
            if batch.header.is_last {
                definitions.end_group();
                groups += 1;
            }
        }
        let skipped = reader.skipped().to_vec();
        let (entries, counts) = (definitions.finish(), transactions.counts);
        Ok(FirstReading { entries, counts, groups, end: reader.end().copied(), skipped })
    }

    /// Opens the log for the second reading.
    fn open(&self) -> Result<log::Replay, String> {
        let (segment, epoch) = self.start.unzip();
        let from = ReplayFrom { segment, epoch: epoch.unwrap_or_default(), until_utc_100ns: None };
        let disk = Arc::clone(&self.folder.disk);
        log::Replay::open(disk, LOG, self.folder.id, from, self.mode())
            .map_err(|error| with_advice(&error, self.settings))
    }
}

fn describe(part: &Skipped) -> String {
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
        if table.is_shape {
            store.drop_table(rows.data.id());
        } else if table.shape.durable {
            let layout = Arc::clone(table.shape.layout);
            self.made.insert(rows.data.id(), Made { table: Arc::clone(&rows.data), layout });
        }
        Ok(rows)
    }
}

/// What a thread keeps from one range to the next: new memory costs more than reading a range into it.
#[derive(Default)]
struct RangeBuffers {
    range: Vec<u8>,
    row: RowBuffer,
}

/// Puts rows back, on several threads.
struct Restored<'a> {
    tables: &'a HashMap<TableId, Made>,
    settings: &'a Settings,
    threads: usize,
    progress: &'a Progress,
    /// How long the log took: to read it, and to apply its changes.
    log_ns: u64,
}

impl<'a> Restored<'a> {
    /// Puts the rows of a checkpoint and then those of the log into their tables, and builds the
    /// indexes; returns how many rows there are.
    fn rows(
        &mut self,
        reader: Option<&CheckpointReader>,
        (log, counts, groups): (LogStart<'_>, Counts, u64),
        lost: &mut Vec<String>,
    ) -> Result<u64, String> {
        let target = |(id, made): (&TableId, &'a Made)| {
            (*id, Target { id: *id, restore: made.table.restore(), layout: &made.layout })
        };
        let targets: Targets<'a> = self.tables.iter().map(target).collect();
        let ranges = reader.map_or(0, |reader| reader.ranges().len());
        self.progress.begin(2, ranges as u64 + groups);
        if let Some(reader) = reader {
            let keys: Vec<RangeKey> = reader.ranges().keys().copied().collect();
            let found = self
                .in_parallel(keys, |buffers, key| self.range(&targets, (reader, key), buffers))?;
            lost.extend(found.into_iter().flatten());
        }
        if counts.changes > 0 {
            let began_ns = clock::monotonic_ns();
            self.changes(&targets, (log, counts), lost)?;
            self.log_ns += clock::monotonic_ns() - began_ns;
        }
        self.progress.begin(3, targets.len() as u64);
        let targets = targets.into_values().collect();
        let counts = self.in_parallel(targets, |_: &mut (), target: Target<'_>| {
            target.restore.finish().map_err(|error| format!("table {}: {error}", target.id.0))
        })?;
        Ok(counts.into_iter().sum())
    }

    /// Applies the changes of the log, which the first reading has counted.
    fn changes(
        &self,
        targets: &Targets<'_>,
        (log, counts): (LogStart<'_>, Counts),
        lost: &mut Vec<String>,
    ) -> Result<(), String> {
        let mut replay = log.open()?;
        let until_100ns = self.settings.until_100ns;
        let advance = || self.progress.advance(1);
        let (again, orphans) = apply_log(&mut replay, targets, self.threads, until_100ns, advance)?;
        if again != counts {
            return Err(format!(
                "the log has changed while it was read: {} changes, and {} before",
                again.changes, counts.changes
            ));
        }
        // Only what salvage has left out can have had the row's insertion.
        let mut without_row = orphans.iter().map(describe_orphan);
        match without_row.next() {
            Some(why) if !self.settings.salvage => return Err(why),
            first => lost.extend(first.into_iter().chain(without_row)),
        }
        Ok(())
    }

    /// Puts the rows of a range back; returns what salvage loses of it.
    fn range(
        &self,
        targets: &Targets<'_>,
        (reader, key): (&CheckpointReader, RangeKey),
        buffers: &mut RangeBuffers,
    ) -> Result<Option<String>, String> {
        let Some(target) = targets.get(&TableId(key.table)) else { return Ok(None) };
        let RangeBuffers { range, row } = buffers;
        let found = match reader.range(key, range) {
            Ok(found) => found,
            Err(error) if self.settings.salvage => {
                let RangeKey { table, part, range } = key;
                let place = format!("rows from {range} on of part {part} of table {table}");
                return Ok(Some(format!("{place} are lost: {error}")));
            }
            Err(error) => return Err(with_advice(&error, self.settings)),
        };
        for (id, image) in found {
            let named = |why: &dyn std::fmt::Display| {
                format!("row {id} of part {} of table {}: {why}", key.part, key.table)
            };
            rows::decode(image, row).ok_or_else(|| named(&"its image is cut"))?;
            let put =
                target.restore.put(key.part, RowId(id), RowImage::from(&*row), Source::Checkpoint);
            if !put.map_err(|error| named(&error))? {
                return Err(named(&"no table has such a row"));
            }
        }
        Ok(None)
    }

    /// Runs `work` on each of `items`, on as many threads as there are schedulers, each with buffers of
    /// its own; returns the results in any order, or the first error.
    fn in_parallel<T: Send, B: Default, R: Send>(
        &self,
        items: Vec<T>,
        work: impl Fn(&mut B, T) -> Result<R, String> + Sync,
    ) -> Result<Vec<R>, String> {
        let threads = self.threads.min(items.len());
        let items = SpinLock::new(SpinClass::ServerOther, items);
        let next = || items.lock().pop();
        let run = || {
            let (mut buffers, mut done) = (B::default(), Vec::new());
            while let Some(item) = next() {
                done.push(work(&mut buffers, item)?);
                self.progress.advance(1);
            }
            Ok(done)
        };
        let results: Vec<Result<Vec<R>, String>> = std::thread::scope(|scope| {
            let started: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
            let failed = |_| Err("a thread of the recovery panicked".to_owned());
            started.into_iter().map(|thread| thread.join().unwrap_or_else(failed)).collect()
        });
        let mut all = Vec::new();
        for result in results {
            all.extend(result?);
        }
        Ok(all)
    }
}
