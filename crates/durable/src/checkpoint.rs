//! `Checkpointer`: writes what has changed since the last checkpoint, while requests go on.
//!
//! ```text
//! number the checkpoint ─► where replay starts ─► definitions, under the catalog's latch
//!   ─► ranges of rows that have changed ─► wait until the log is durable up to now ─► publish
//!   ─► log segments before the start of replay become spares
//! ```
//!
//! A row is written as it is when the scan passes. What changed earlier and is not in the scan is in
//! the log from the start of replay on, and what the scan saw of later commits is replaced by the
//! log: so the scan need not be of one moment. `storage::recovery` says why no change is missed.

use std::collections::HashSet;
use std::time::Duration;

use catalog::{Catalog, CatalogCell};
use log::checkpoint::{CheckpointOptions, CheckpointWriter, Checkpoints, RangeKey};
use log::{DatabaseId, Epoch, LogError, LogFolder};
use sos::clock;
use sos::lock::{SpinClass, SpinLock};
use sos::park::{self, Cancel};
use sos::sched::Machine;
use sos::sync::{Arc, AtomicBool, AtomicU64, Ordering};
use sos::sys;
use sos::wait::WaitType;
use storage::recovery::RowRange;
use storage::{Store, Table};

use crate::commit_log::CommitLog;
use crate::folder::{CHECKPOINT, Folder};
use crate::kept::{self, Kept};
use crate::pace::{Advance, Pace};
use crate::planted::Bug;
use crate::report;
use crate::rows;

/// The usual size of a range file.
const FILE_BYTES: u64 = 64 << 20;
/// The usual size of a block in it.
const BLOCK_BYTES: usize = 64 << 10;
/// How often the thread looks whether a checkpoint is due.
const LOOK_PERIOD: Duration = Duration::from_millis(500);
/// Bytes of log that make a checkpoint due, at least.
const DUE_LOG_BYTES: u64 = 256 << 20;
/// Bytes of log per second that a start replays, until one has measured it.
const REPLAY_BYTES_PER_S: u64 = 50_000_000;
/// What `recovery interval` 0 means, as in SQL Server: about a minute.
const RECOVERY_INTERVAL_S: u64 = 60;
/// How much lower than that of other threads the priority of the thread is, in steps of nice(2): a scheduler
/// that wakes runs before it, and a busy one leaves it a quarter of a CPU.
const NICE_STEPS: i32 = 5;
/// A replay of fewer bytes measures nothing.
const MEASURED_BYTES_MIN: u64 = 16 << 20;

/// Returns how checkpoints are kept in a folder.
pub(crate) fn options(folder: &Folder) -> CheckpointOptions {
    options_of(folder.id)
}

/// As [`options`], of a database by its id.
pub(crate) fn options_of(database: DatabaseId) -> CheckpointOptions {
    CheckpointOptions {
        folder: CHECKPOINT.to_owned(),
        database,
        file_bytes: FILE_BYTES,
        block_bytes: BLOCK_BYTES,
    }
}

/// Returns the bytes of log per second that the next start is expected to replay, from what this one
/// has replayed and the time that it took.
pub(crate) fn replay_rate(bytes: u64, nanos: u64) -> u64 {
    let micros = (nanos / 1000).max(1);
    if bytes < MEASURED_BYTES_MIN { REPLAY_BYTES_PER_S } else { bytes * 1_000_000 / micros }
}

/// Returns how many seconds a start may replay the log: the least of the databases, which share it.
fn recovery_target_s(catalog: &Catalog) -> u64 {
    let interval_s = match catalog.settings.recovery_interval.in_use {
        0 => RECOVERY_INTERVAL_S,
        minutes => u64::try_from(minutes).map_or(RECOVERY_INTERVAL_S, |minutes| minutes * 60),
    };
    let targets =
        catalog.databases.values().map(|database| match database.options.target_recovery_s() {
            0 => interval_s,
            seconds => seconds,
        });
    targets.min().unwrap_or(interval_s)
}

/// What a checkpoint has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checkpointed {
    /// Checkpoints that were published since the start.
    pub count: u64,
    /// Ranges of rows that the last one has written.
    pub ranges: u64,
    /// Rows that the last one has written.
    pub rows: u64,
    /// How long the last one took, in milliseconds.
    pub millis: u64,
    /// Bytes of all files of checkpoints.
    pub disk_bytes: u64,
    /// Attempts that failed since the start.
    pub failed: u64,
}

/// Writes checkpoints of an instance. One thread writes; any thread may ask.
pub(crate) struct Checkpointer {
    store: Arc<Store>,
    catalog: Arc<CatalogCell>,
    log: Arc<CommitLog>,
    segments: Arc<LogFolder>,
    /// `None` while a thread uses it.
    work: SpinLock<Option<Work>>,
    /// How many checkpoints were asked for, and how many requests the last one has met.
    asked: AtomicU64,
    met: AtomicU64,
    is_exact: AtomicBool,
    machine: Machine,
    /// Set when the server stops: a checkpoint takes no rests any more.
    hurry: AtomicBool,
    /// Bytes of log per second that a start is expected to replay.
    replay_bytes_per_s: u64,
    /// How many backups need all segments of the log that are there now.
    holds: AtomicU64,
    /// The first segment that the last checkpoint needs.
    first_segment: AtomicU64,
    done: SpinLock<(Checkpointed, Option<String>)>,
}

struct Work {
    checkpoints: Checkpoints,
    /// The number of the checkpoint on disk; ranges that have changed since are written.
    since: u64,
    /// Bytes that the log had flushed when the last checkpoint began.
    flushed_bytes: u64,
}

impl std::fmt::Debug for Checkpointer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkpointer").field("done", &self.done()).finish_non_exhaustive()
    }
}

impl Checkpointer {
    /// Makes the writer of checkpoints that follow the one in `checkpoints`, which salvage may have
    /// found damaged.
    pub(crate) fn new(
        machine: &Machine,
        (store, catalog): (&Arc<Store>, &Arc<CatalogCell>),
        (log, segments): (&Arc<CommitLog>, &Arc<LogFolder>),
        (checkpoints, is_damaged): (Checkpoints, bool),
        replay_bytes_per_s: u64,
    ) -> Self {
        // Without a checkpoint on disk every range has changed, and a damaged one is replaced whole.
        let is_kept = checkpoints.manifest().is_some() && !is_damaged;
        let since = if is_kept { store.checkpoint_number() } else { 0 };
        let disk_bytes = checkpoints.disk_bytes();
        let work = Work { checkpoints, since, flushed_bytes: 0 };
        Self {
            store: Arc::clone(store),
            catalog: Arc::clone(catalog),
            log: Arc::clone(log),
            segments: Arc::clone(segments),
            work: SpinLock::new(SpinClass::ServerOther, Some(work)),
            asked: AtomicU64::new(0),
            met: AtomicU64::new(0),
            is_exact: AtomicBool::new(false),
            machine: machine.clone(),
            hurry: AtomicBool::new(false),
            replay_bytes_per_s,
            holds: AtomicU64::new(0),
            first_segment: AtomicU64::new(0),
            done: SpinLock::new(
                SpinClass::ServerOther,
                (Checkpointed { disk_bytes, ..Checkpointed::default() }, None),
            ),
        }
    }

    /// Returns what checkpoints have done so far.
    pub(crate) fn done(&self) -> Checkpointed {
        self.done.lock().0
    }

    /// Returns why the last attempt failed; `None` if it did not.
    pub(crate) fn failure(&self) -> Option<String> {
        self.done.lock().1.clone()
    }

    /// Asks for a checkpoint that begins after this call, and waits for it.
    ///
    /// # Errors
    /// Why it failed.
    pub(crate) fn request(&self, cancel: Option<&Cancel>) -> Result<(), String> {
        // SeqCst, here and in `run`: a request is either seen before the sleep, or wakes the thread.
        let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        park::unpark_one(self.asked_key());
        let must_wait = || self.met.load(Ordering::SeqCst) < number;
        while must_wait() {
            let wake = park::park(self.met_key(), WaitType::XtpCheckpoint, must_wait, None, cancel);
            if wake == park::Wake::Cancelled {
                return Ok(());
            }
        }
        self.failure().map_or(Ok(()), Err)
    }

    /// Writes checkpoints when they are due or asked for, until `stop` is set.
    pub(crate) fn run(&self, stop: &AtomicBool) {
        sys::lower_priority(NICE_STEPS);
        // Acquire: pairs with the Release of the thread that asks for the stop.
        while !stop.load(Ordering::Acquire) {
            let asked = self.asked.load(Ordering::SeqCst);
            if asked > self.met.load(Ordering::SeqCst) || self.is_due() {
                self.attempt();
                self.met.fetch_max(asked, Ordering::SeqCst);
                park::unpark_all(self.met_key());
                continue;
            }
            let must_wait =
                || self.asked.load(Ordering::SeqCst) == asked && !stop.load(Ordering::Acquire);
            let period = Some(LOOK_PERIOD);
            park::park(self.asked_key(), WaitType::CheckpointQueue, must_wait, period, None);
        }
        self.met.fetch_max(u64::MAX, Ordering::SeqCst);
        park::unpark_all(self.met_key());
    }

    /// Wakes the thread, and lets it take no rests: after a request to stop.
    pub(crate) fn wake(&self) {
        // Relaxed: it is seen at one of the next rests.
        self.hurry.store(true, Ordering::Relaxed);
        park::unpark_one(self.asked_key());
    }

    /// Writes the last checkpoint of an orderly stop: no value of a counter will be taken any more.
    pub(crate) fn finish(&self) {
        self.is_exact.store(true, Ordering::Relaxed);
        self.attempt();
    }

    /// Begins to count the ranges of rows that change from now on; returns the
    /// number for `Table::changed_ranges`.
    pub(crate) fn mark_ranges(&self, cancel: Option<&Cancel>) -> Option<u64> {
        self.store.begin_checkpoint(cancel)
    }

    /// Keeps all segments of the log that are there now, until [`Self::release`].
    pub(crate) fn hold(&self) {
        // SeqCst: a segment that is named after this call is behind all that `retire` takes.
        self.holds.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends a call of [`Self::hold`].
    pub(crate) fn release(&self) {
        self.holds.fetch_sub(1, Ordering::SeqCst);
    }

    /// Retires the segments that neither the last checkpoint nor a backup of the log needs.
    pub(crate) fn retire(&self) {
        if self.holds.load(Ordering::SeqCst) > 0 {
            return;
        }
        let needed = self.catalog.load().first_segment_to_back_up();
        let first = self.first_segment.load(Ordering::Relaxed);
        self.segments.retire(needed.map_or(first, |needed| needed.min(first)));
    }

    /// Writes the rows of SCHEMA_ONLY tables at an orderly stop.
    pub(crate) fn write_schema_only(&self, folder: &Folder) -> std::io::Result<Kept> {
        kept::write(folder, &self.catalog.load())
    }

    fn asked_key(&self) -> usize {
        std::ptr::from_ref(&self.asked).addr()
    }

    fn met_key(&self) -> usize {
        std::ptr::from_ref(&self.met).addr()
    }

    /// Returns whether the log since the last checkpoint is long: half as long as the checkpoint
    /// itself, so that the work of checkpoints stays a share of that of the log; or so long that its
    /// replay would take longer than it may.
    fn is_due(&self) -> bool {
        let stats = self.log.buffers().stats();
        let work = self.work.lock();
        let Some(work) = &*work else { return false };
        stats.bytes_flushed.saturating_sub(work.flushed_bytes) >= self.due_bytes(work)
    }

    /// Returns the growth of the log that makes a checkpoint due.
    fn due_bytes(&self, work: &Work) -> u64 {
        let target_s = recovery_target_s(&self.catalog.load());
        let by_time = self.replay_bytes_per_s.saturating_mul(target_s);
        DUE_LOG_BYTES.max(work.checkpoints.disk_bytes() / 2).min(by_time)
    }

    /// Writes a checkpoint, and notes how that went.
    fn attempt(&self) {
        let Some(mut work) = self.work.lock().take() else { return };
        let began_ns = clock::monotonic_ns();
        let outcome = self.write(&mut work);
        let disk_bytes = work.checkpoints.disk_bytes();
        *self.work.lock() = Some(work);
        let mut done = self.done.lock();
        match outcome {
            Ok((ranges, rows)) => {
                let millis = (clock::monotonic_ns() - began_ns) / 1_000_000;
                let before = done.0;
                let count = before.count + 1;
                done.0 = Checkpointed { count, ranges, rows, millis, disk_bytes, ..before };
                done.1 = None;
            }
            Err(error) => {
                done.0.failed += 1;
                let text = error.to_string();
                if done.1.as_ref() != Some(&text) {
                    report::line(&format_args!(
                        "A checkpoint failed: {text}. Nothing is lost: a start reads the one before and more of the log"
                    ));
                }
                done.1 = Some(text);
            }
        }
    }

    fn write(&self, work: &mut Work) -> Result<(u64, u64), LogError> {
        let buffers = self.log.buffers();
        let flushed_bytes = buffers.stats().bytes_flushed;
        let Some(number) = self.store.begin_checkpoint(None) else { return Ok((0, 0)) };
        // The segment first: the group of the first epoch begins there or later.
        let (segment, _) = buffers.replay_start();
        let first = Epoch(buffers.durability().epoch.0 + 1);
        let due_bytes = self.due_bytes(work);
        let mut writer = work.checkpoints.begin(segment, first)?;
        let tables = self.store.durable_tables();
        let ids: HashSet<u32> = tables.iter().map(|table| table.id().0).collect();
        writer.retain_ranges(|key| work.since > 0 && ids.contains(&key.table));
        let is_exact = self.is_exact.load(Ordering::Relaxed);
        for entry in self.definitions(is_exact) {
            if let Some(value) = &entry.value {
                writer.definition(&entry.key, value)?;
            }
        }
        let scan = Scan { tables: &tables, since: work.since, due_bytes, flushed_bytes };
        let mut pace = Pace::new(&self.machine, &self.hurry);
        let (ranges, count) = self.scan(&scan, &mut writer, &mut pace)?;
        // What the scan has seen must be durable before the checkpoint counts.
        let (_, last) = buffers.replay_start();
        let is_durable = self.log.planted().has(Bug::CheckpointBeforeLog)
            || buffers.wait(last, None, None).epoch >= last;
        if !is_durable {
            return Err(LogError::Suspect);
        }
        let at_end = Advance { done: 1, total: 1, grown_bytes: 0, due_bytes };
        writer.publish(|| pace.rest(|| at_end))?;
        work.since = number;
        work.flushed_bytes = flushed_bytes;
        // Relaxed: the number alone counts.
        self.first_segment.store(segment, Ordering::Relaxed);
        self.retire();
        Ok((ranges, count))
    }

    /// Writes the ranges that have changed; returns how many they are, and how many rows they have.
    fn scan(
        &self,
        scan: &Scan<'_>,
        writer: &mut CheckpointWriter<'_>,
        pace: &mut Pace<'_>,
    ) -> Result<(u64, u64), LogError> {
        let changed = scan.changed_ranges();
        let total = changed.len() as u64;
        let (mut ranges, mut count) = (0, 0);
        let mut image = Vec::new();
        for (done, (table, range)) in (1_u64..).zip(changed) {
            if self.log.planted().has(Bug::RangeMissed) && done.is_multiple_of(5) {
                continue;
            }
            let key = RangeKey { table: table.id().0, part: range.part, range: range.first.0 };
            let mut writing = writer.range(key)?;
            let (mut from, mut written) = (Some(0), Ok(()));
            while let Some(start) = from {
                from = table.read_run(range, start, |id, row| {
                    if written.is_ok() {
                        rows::encode(row, &mut image);
                        written = writing.row(id.0, &image);
                        count += 1;
                    }
                });
                std::mem::replace(&mut written, Ok(()))?;
                writing.settle()?;
                pace.rest(|| {
                    let flushed_bytes = self.log.buffers().stats().bytes_flushed;
                    let grown_bytes = flushed_bytes.saturating_sub(scan.flushed_bytes);
                    Advance { done, total, grown_bytes, due_bytes: scan.due_bytes }
                });
            }
            writing.end()?;
            ranges += 1;
        }
        Ok((ranges, count))
    }

    /// Returns all definitions and counters. Under the catalog's latch: a definition that is in the
    /// log is in the catalog as well.
    fn definitions(&self, is_exact: bool) -> Vec<definitions::Entry> {
        self.catalog.while_unchanged(|catalog| {
            let mut entries = definitions::encode(catalog);
            entries.extend(definitions::counters(catalog, &self.catalog, is_exact));
            entries
        })
    }
}

/// What a checkpoint scans, and what it is paced by.
struct Scan<'a> {
    tables: &'a [Arc<Table>],
    /// The number of the checkpoint before.
    since: u64,
    /// Growth of the log that makes a checkpoint due.
    due_bytes: u64,
    /// Bytes that the log had flushed when this checkpoint began.
    flushed_bytes: u64,
}

impl Scan<'_> {
    fn changed_ranges(&self) -> Vec<(&Table, RowRange)> {
        let parts =
            self.tables.iter().flat_map(|table| (0..table.part_count()).map(move |p| (table, p)));
        let ranges = parts.flat_map(|(table, part)| {
            table.changed_ranges(part, self.since).into_iter().map(move |range| (&**table, range))
        });
        ranges.collect()
    }
}
