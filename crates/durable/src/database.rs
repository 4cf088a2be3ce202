//! `Database`: an open database, the threads that write its log, and what replies wait for.

use std::thread::JoinHandle;

use log::{Epoch, Keeper, LogFolder, LogStats, LogThread};
use sos::lock::{SpinClass, SpinLock};
use sos::park::Cancel;
use sos::sched::{self, Machine};
use sos::sync::{Arc, AtomicBool, Ordering};
use sos::wait::WaitType;
use storage::Store;

use crate::checkpoint::{Checkpointed, Checkpointer};
use crate::commit_log::CommitLog;
use crate::folder::Folder;
use crate::reading::Reading;

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
                eprintln!(
                    "clearway: the log of {name} has failed, and the database is suspect: {error}"
                );
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
        Ok(Self { folder, log, segments, checkpointer, stopping, checkpoints_stopping, threads })
    }

    /// Returns the name of its folder.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.folder.name
    }

    /// Returns its log, for transactions with definitions.
    #[must_use]
    pub fn log(&self) -> &Arc<CommitLog> {
        &self.log
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

    fn end(&self, with_checkpoint: bool) {
        // Release: pairs with the Acquire of the thread.
        self.checkpoints_stopping.store(true, Ordering::Release);
        self.checkpointer.wake();
        let mut threads = std::mem::take(&mut *self.threads.lock()).into_iter();
        // The bodies of the threads contain panics, so the results say nothing.
        let _ = threads.next().map(JoinHandle::join);
        if with_checkpoint {
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
