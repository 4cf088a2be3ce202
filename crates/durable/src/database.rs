//! `Database`: an open database, the threads that write its log, and what replies wait for.

use std::collections::BTreeSet;
use std::thread::JoinHandle;

use log::{Epoch, Keeper, LogFolder, LogStats, LogThread};
use sos::lock::{SpinClass, SpinLock};
use sos::park::Cancel;
use sos::sched::{self, Machine};
use sos::sync::{Arc, AtomicBool, Ordering};
use sos::wait::WaitType;
use storage::Store;

use crate::backup::{self, BackupWriter, CopyError, OwnTables, Span};
use crate::checkpoint::{Checkpointed, Checkpointer};
use crate::commit_log::CommitLog;
use crate::disk_counts::DiskCounts;
use crate::folder::Folder;
use crate::planted::Bug;
use crate::reading::Reading;
use crate::report;

/// Whether what a reply depends on is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is durable: the reply may leave.
    Durable,
    /// It will be durable in a moment.
    Waits,
    /// It will never be: the log has failed.
    Lost,
}

/// An open database and the threads that write it.
#[derive(Debug)]
pub struct Database {
    pub(crate) folder: Folder,
    log: Arc<CommitLog>,
    segments: Arc<LogFolder>,
    checkpointer: Arc<Checkpointer>,
    stopping: Arc<AtomicBool>,
    checkpoints_stopping: Arc<AtomicBool>,
    /// A number of this start: numbers of ranges hold within it.
    life: u64,
    /// Databases whose log or rows are being backed up, and whether it is the log.
    backing_up: SpinLock<BTreeSet<(i16, bool)>>,
    /// Whether an orderly stop keeps the rows of SCHEMA_ONLY tables.
    keeps_schema_only: AtomicBool,
    /// The thread of checkpoints first, then those of the log.
    threads: SpinLock<Vec<JoinHandle<()>>>,
}

impl Database {
    /// Starts the threads of a log that has been opened.
    pub(crate) fn start(
        folder: Folder,
        log: Arc<CommitLog>,
        writer: log::SegmentWriter,
        checkpointer: Checkpointer,
        (machine, store): (&Machine, &Arc<Store>),
    ) -> std::io::Result<Self> {
        let segments = Arc::clone(writer.folder());
        let stopping = Arc::new(AtomicBool::new(false));
        let ending = Arc::clone(&log);
        machine.at_round_end(Box::new(move |scheduler| ending.end_round(scheduler)));
        let releasing = machine.clone();
        let losing = Arc::clone(store);
        let mut thread = LogThread::new(Arc::clone(log.buffers()), writer, move |now| {
            if now.is_suspect {
                losing.lose(now.epoch.0);
            }
            // Once the log has failed no reply waits any longer: each becomes an error.
            releasing.release(if now.is_suspect { u64::MAX } else { now.epoch.0 });
        });
        let name = folder.name.clone();
        let is_stopping = Arc::clone(&stopping);
        let writing = machine.spawn_apart("log writer", move || {
            if let Err(error) = thread.run(&is_stopping, WaitType::LogManagerQueue) {
                report::line(&format_args!(
                    "The log of {name} is not available (error 9001), and its databases are \
                     SUSPECT: {error}. Reads go on. Mend the disk and restart the server."
                ));
            }
        })?;
        let mut keeper = Keeper::new(Arc::clone(&segments));
        let is_stopping = Arc::clone(&stopping);
        let keeping = machine.spawn_apart("log keeper", move || {
            // The log thread reports what went wrong.
            let _ = keeper.run(&is_stopping, WaitType::LogManagerQueue);
        })?;
        let checkpointer = Arc::new(checkpointer);
        let checkpoints_stopping = Arc::new(AtomicBool::new(false));
        let (running, is_stopping) = (Arc::clone(&checkpointer), Arc::clone(&checkpoints_stopping));
        let checkpoints = machine.spawn_apart("checkpoint", move || running.run(&is_stopping))?;
        let threads = vec![checkpoints, writing, keeping];
        let threads = SpinLock::new(SpinClass::ServerOther, threads);
        let keeps_schema_only = AtomicBool::new(false);
        Ok(Self {
            folder,
            log,
            segments,
            checkpointer,
            stopping,
            checkpoints_stopping,
            life: u64::from_le_bytes(sos::sys::random_bytes()),
            backing_up: SpinLock::new(SpinClass::ServerOther, BTreeSet::new()),
            keeps_schema_only,
            threads,
        })
    }

    /// Sets whether an orderly stop keeps the rows of SCHEMA_ONLY tables.
    pub(crate) fn keep_schema_only(&self, keep: bool) {
        // Relaxed: it is set before the first request, and read after the last one.
        self.keeps_schema_only.store(keep, Ordering::Relaxed);
    }

    /// Returns the name of its folder.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.folder.name
    }

    /// Returns whether a file, by its folder and its name, is one of the database: a backup must not
    /// replace it.
    #[must_use]
    pub fn owns(&self, folder: &str, file: &str) -> bool {
        self.folder.owns(folder, file)
    }

    /// Returns its log, for transactions with definitions.
    #[must_use]
    pub fn log(&self) -> &Arc<CommitLog> {
        &self.log
    }

    /// Returns the reads and writes of its files since the start.
    #[must_use]
    pub fn disk_counts(&self) -> &DiskCounts {
        &self.folder.counts
    }

    /// Returns counts and sizes of the log.
    #[must_use]
    pub fn log_stats(&self) -> LogStats {
        self.log.buffers().stats()
    }

    /// Returns whether the log has failed: nothing becomes durable any more.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.log.durability().is_suspect
    }

    /// Returns the log as it is on the disk, for views.
    #[must_use]
    pub fn reading(&self) -> Reading {
        Reading::of(&self.folder)
    }

    /// Returns whether an epoch is durable.
    #[inline]
    #[must_use]
    pub fn standing(&self, epoch: u64) -> Standing {
        let now = self.log.durability();
        if now.epoch.0 >= epoch {
            Standing::Durable
        } else if now.is_suspect {
            Standing::Lost
        } else {
            Standing::Waits
        }
    }

    /// Makes sure that an epoch becomes durable, also if it has no commits; returns whether it is.
    #[inline]
    #[must_use]
    pub fn demand(&self, epoch: u64) -> Standing {
        let buffers = self.log.buffers();
        // The usual reply waits for a commit of this scheduler, which has woken the log thread.
        if sched::current_scheduler().is_none_or(|id| !self.log.has_committed(id, Epoch(epoch))) {
            buffers.wake_if(buffers.demand(Epoch(epoch)));
        }
        // After the demand: the log thread, which did not see it, has published the epoch.
        self.standing(epoch)
    }

    /// Waits until an epoch is durable, or never will be.
    #[must_use]
    pub fn wait(&self, epoch: u64) -> Standing {
        if self.log.planted().has(Bug::AcknowledgedBeforeFlush) {
            return Standing::Durable;
        }
        let now = self.log.buffers().wait(Epoch(epoch), None, None);
        if now.epoch.0 >= epoch { Standing::Durable } else { Standing::Lost }
    }

    /// Makes all commits durable that have ended, also those with delayed durability, and waits for
    /// it. This is sys.sp_flush_log.
    #[must_use]
    pub fn flush(&self) -> Standing {
        let epoch = self.log.buffers().flush_now();
        self.wait(epoch.0)
    }

    /// Begins a backup of a database, or of its log; `None` if another one runs. Until it is dropped,
    /// no segment of the log goes that is there now.
    #[must_use]
    pub fn begin_backup(&self, database: i16, is_log: bool) -> Option<BackupHold<'_>> {
        let of = (database, is_log);
        if !self.backing_up.lock().insert(of) {
            return None;
        }
        self.checkpointer.hold();
        Some(BackupHold { database: self, of })
    }

    /// Begins to count the ranges of rows that change from now on: for differential backups. Returns
    /// the number for `storage::Table::changed_ranges`, which holds while [`Self::life`] is the same.
    /// `None` if `cancel` was set first.
    #[must_use]
    pub fn mark_ranges(&self, cancel: Option<&Cancel>) -> Option<u64> {
        self.checkpointer.mark_ranges(cancel)
    }

    /// Returns a number that each start has its own of.
    #[must_use]
    pub const fn life(&self) -> u64 {
        self.life
    }

    /// Returns where the log begins that has all commits which end from now on: segment and epoch.
    #[must_use]
    pub fn log_start(&self) -> (u64, u64) {
        // The segment first: the group of the first epoch begins there or later.
        let (segment, _) = self.log.buffers().replay_start();
        (segment, self.log.durability().epoch.0 + 1)
    }

    /// Waits until all is durable that anyone can see now; returns the last epoch of it. `None` if
    /// the log has failed.
    #[must_use]
    pub fn wait_for_visible(&self) -> Option<u64> {
        let durable = self.log.durability().epoch.0;
        let seen = self.log.buffers().visible_epoch().map_or(durable, |epoch| epoch.0);
        (self.demand(seen) == Standing::Durable || self.wait(seen) == Standing::Durable)
            .then_some(seen)
    }

    /// Makes durable what was committed; returns the last durable epoch. `None` if the log has
    /// failed.
    #[must_use]
    pub fn log_end(&self) -> Option<u64> {
        (self.flush() == Standing::Durable).then(|| self.log.durability().epoch.0)
    }

    /// Copies what a database has written to a part of the log; returns when the last transaction
    /// was committed.
    ///
    /// # Errors
    /// See [`CopyError`].
    pub fn copy_log(
        &self,
        span: Span,
        own: &mut OwnTables,
        writer: &mut BackupWriter<'_>,
    ) -> Result<u64, CopyError> {
        backup::copy(&self.folder, span, own, writer)
    }

    /// Lets segments of the log go that a backup has needed, and that has been done.
    pub fn retire_log(&self) {
        self.checkpointer.retire();
    }

    /// Writes a checkpoint that begins now, and waits for it.
    ///
    /// # Errors
    /// Why it failed; the one before counts.
    pub fn checkpoint(&self, cancel: Option<&Cancel>) -> Result<(), String> {
        self.checkpointer.request(cancel)
    }

    /// Returns what checkpoints have done.
    #[must_use]
    pub fn checkpointed(&self) -> Checkpointed {
        self.checkpointer.done()
    }

    /// Writes what was committed and a last checkpoint, and ends the threads. To be called when no
    /// request runs.
    pub fn stop(&self) {
        self.end(true);
    }

    /// As [`Self::stop`], without the checkpoint: the next start replays the log instead.
    pub fn stop_at_once(&self) {
        self.end(false);
    }

    /// Writes the rows of SCHEMA_ONLY tables. No request runs any more.
    fn write_schema_only(&self) {
        // Definitions that are not in the log are not those of the next start.
        if self.flush() == Standing::Lost {
            return report::line(&"The log has failed, so SCHEMA_ONLY tables are not kept");
        }
        match self.checkpointer.write_schema_only(&self.folder) {
            Ok(kept) => report::line(&format_args!(
                "{} rows of {} SCHEMA_ONLY tables are kept for the next start",
                kept.rows, kept.tables
            )),
            Err(error) => {
                report::line(&format_args!("SCHEMA_ONLY tables are not kept: {error}"));
            }
        }
    }

    fn end(&self, with_checkpoint: bool) {
        // Release: pairs with the Acquire of the thread.
        self.checkpoints_stopping.store(true, Ordering::Release);
        self.checkpointer.wake();
        let mut threads = std::mem::take(&mut *self.threads.lock()).into_iter();
        // The bodies of the threads contain panics, so the results say nothing.
        let _ = threads.next().map(JoinHandle::join);
        if with_checkpoint {
            if self.keeps_schema_only.load(Ordering::Relaxed) {
                self.write_schema_only();
            }
            self.checkpointer.finish();
        }
        // Release: pairs with the Acquire of the threads, which see all commits then.
        self.stopping.store(true, Ordering::Release);
        self.log.buffers().wake();
        self.segments.wake();
        for thread in threads {
            let _ = thread.join();
        }
    }
}

/// A backup that runs: see [`Database::begin_backup`].
#[derive(Debug)]
pub struct BackupHold<'d> {
    database: &'d Database,
    of: (i16, bool),
}

impl Drop for BackupHold<'_> {
    fn drop(&mut self) {
        self.database.checkpointer.release();
        self.database.backing_up.lock().remove(&self.of);
    }
}
