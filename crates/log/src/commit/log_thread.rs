//! `LogThread`: takes the commits of an epoch, writes them as one group, publishes the epoch; again
//! as soon as that is done. It sleeps only when there is nothing to write.
//!
//! While a group is written, the next one fills, so replies need no timer. The one timer is for
//! commits with delayed durability: if nothing else is to be written, they wait for a nap of 10 ms.
//!
//! The caller starts the thread and calls [`LogThread::run`] on it.

use std::fmt;
use std::time::Duration;

use sos::clock;
use sos::park::{self, Cancel};
use sos::sync::{Arc, AtomicBool, Ordering, spin_hint};
use sos::wait::WaitType;

use super::buffers::{CommitBuffers, Durability, LogState, Sleep, Taken, Wake};
use crate::Epoch;
use crate::mutant::{Mutant, is_mutant};
use crate::segments::{LogError, LogFolder, SegmentWriter};
use crate::space::Space;

/// How long the thread waits for a commit by spinning, in rounds, before it gives the CPU away.
const SPINS_BEFORE_SLEEP: u32 = 1000;

/// How long it then sleeps between two looks.
const REST: Duration = Duration::from_micros(20);

/// How long it waits for room on a full disk before it tries again.
const FULL_DISK_REST: Duration = Duration::from_millis(100);

/// How long it sleeps while the keeper prepares a file that commits wait for.
const PREPARING_REST: Duration = Duration::from_millis(1);

/// How long commits with delayed durability wait if nothing else is to be written.
const NAP: Duration = Duration::from_millis(10);

/// What a call of [`LogThread::flush`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flush {
    /// The epoch that is durable now.
    pub epoch: Epoch,
    /// Bytes of records that were written; 0 if there was no commit.
    pub bytes: usize,
}

/// Writes the commits of [`CommitBuffers`] to segments.
pub struct LogThread {
    buffers: Arc<CommitBuffers>,
    writer: SegmentWriter,
    /// The records of `closed` by scheduler; empty between two flushes.
    taken: Vec<Taken>,
    /// An epoch that was closed and is not written, since the disk was full.
    closed: Option<Epoch>,
    /// The last epoch that was published. Epochs without commits have no group.
    published: Epoch,
    /// When the keeper is asked again to look for room on a full disk, in monotonic nanoseconds.
    asks_again_ns: u64,
    on_publish: Box<dyn Fn(Durability) + Send>,
}

impl fmt::Debug for LogThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogThread").field("writer", &self.writer).finish_non_exhaustive()
    }
}

impl LogThread {
    /// Makes the log thread's part. `on_publish` is called on it after each group, and after the
    /// first error: it releases the replies that wait.
    #[must_use]
    pub fn new(
        buffers: Arc<CommitBuffers>,
        writer: SegmentWriter,
        on_publish: impl Fn(Durability) + Send + 'static,
    ) -> Self {
        let taken = vec![Taken::default(); buffers.schedulers()];
        let published = buffers.durability().epoch;
        note_size(&buffers, &writer);
        let on_publish = Box::new(on_publish);
        let (closed, asks_again_ns) = (None, 0);
        let mut this =
            Self { buffers, writer, taken, closed, published, asks_again_ns, on_publish };
        this.look_at_room();
        this
    }

    /// Flushes until `stop` is set and all commits are written. `idle` is the wait type of the
    /// thread's sleep.
    ///
    /// # Errors
    /// The first error of a write or a sync, which is final; a full disk is not, unless the thread
    /// is to stop.
    pub fn run(&mut self, stop: &AtomicBool, idle: WaitType) -> Result<(), LogError> {
        let mut is_due = false;
        loop {
            // Acquire: pairs with the Release of the thread that asks for the stop and then wakes.
            let is_stopping = stop.load(Ordering::Acquire);
            if !(is_stopping || is_due || self.closed.is_some() || self.buffers.has_work()) {
                let rest = self.look_at_room();
                self.see_keeper(rest)?;
                is_due = self.buffers.sleep_until_due(idle, stop, rest);
                continue;
            }
            is_due = false;
            match self.flush() {
                Ok(flush) if flush.bytes == 0 && is_stopping => return Ok(()),
                Ok(_) => {}
                Err(LogError::Full { .. }) if !is_stopping => {
                    park::sleep(FULL_DISK_REST, idle, None);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Closes the epoch, writes its commits as one group and publishes it.
    ///
    /// # Errors
    /// [`LogError::Full`]: the commits are kept, and the next call writes them. Any other error is
    /// final: it is published, and each later call is [`LogError::Suspect`].
    pub fn flush(&mut self) -> Result<Flush, LogError> {
        if self.buffers.durability().is_suspect {
            return Err(LogError::Suspect);
        }
        let epoch = match self.closed {
            Some(epoch) => epoch,
            None => self.buffers.close_epoch(&mut self.taken, rest()),
        };
        self.closed = Some(epoch);
        if is_mutant(Mutant::PublishedBeforeWrite) {
            self.buffers.publish(epoch);
        }
        let bytes = self.taken.iter().map(|taken| taken.records.len()).sum();
        if bytes > 0 {
            self.write(epoch, bytes)?;
        }
        self.taken.iter_mut().for_each(Taken::clear);
        self.closed = None;
        self.published = epoch;
        self.buffers.publish(epoch);
        if bytes > 0 || self.buffers.is_requested(epoch) {
            self.release();
        }
        Ok(Flush { epoch, bytes })
    }

    /// Publishes how much room is prepared. If it is little, commits wait or are refused: asks the
    /// keeper for more and returns how soon to look again.
    pub fn look_at_room(&mut self) -> Option<Duration> {
        let folder = self.writer.folder();
        // The space first: what was prepared before it was noted is in the room.
        let space = folder.space();
        let room = self.writer.room();
        let is_low = room < self.writer.reserve();
        self.buffers.publish_room(if is_low { 0 } else { room }, space);
        if self.closed.is_none() && !self.buffers.durability().is_suspect {
            let is_full = is_low && space == Space::Short;
            self.buffers.publish_state(if is_full { LogState::Full } else { LogState::Good });
        }
        match space {
            Space::Short => {
                // Each look of the keeper is a call or several of the file system.
                let now_ns = clock::monotonic_ns();
                if now_ns >= self.asks_again_ns {
                    folder.ask_for_room();
                    let rest = u64::try_from(FULL_DISK_REST.as_nanos()).expect("a short time");
                    self.asks_again_ns = now_ns + rest;
                }
                Some(FULL_DISK_REST)
            }
            Space::Enough if !is_low => None,
            Space::Enough | Space::Unknown => {
                folder.ask_for_room();
                Some(PREPARING_REST)
            }
        }
    }

    /// Fails if the keeper, for which commits wait, has failed.
    fn see_keeper(&self, rest: Option<Duration>) -> Result<(), LogError> {
        if rest != Some(PREPARING_REST) {
            return Ok(());
        }
        let seen = self.writer.folder().see_failure();
        if seen.is_err() {
            self.buffers.publish_suspect();
            self.release();
        }
        seen
    }

    /// Writes what was taken, and publishes how that went.
    fn write(&mut self, epoch: Epoch, bytes: usize) -> Result<(), LogError> {
        let first = Epoch(self.published.0 + 1);
        let records: Vec<&[u8]> = self.taken.iter().map(|taken| &taken.records[..]).collect();
        let start_ns = clock::monotonic_ns();
        let written = self.writer.append_group((first, epoch), clock::utc_100ns(), &records);
        note_size(&self.buffers, &self.writer);
        match &written {
            Ok(()) => {
                self.closed = None;
                self.look_at_room();
                let micros = (clock::monotonic_ns() - start_ns) / 1000;
                let commits = self.taken.iter().map(|taken| taken.commits).sum();
                self.buffers.counters.count_flush(commits, bytes as u64, micros);
            }
            Err(LogError::Full { .. }) => self.buffers.publish_state(LogState::Full),
            Err(_) => {
                self.buffers.publish_suspect();
                self.release();
            }
        }
        written
    }

    /// Returns the number of the segment that is being written: see
    /// [`SegmentWriter::segment_number`].
    #[must_use]
    pub fn segment_number(&self) -> u64 {
        self.writer.segment_number()
    }

    /// Returns the folder, for a [`crate::Keeper`] and for [`LogFolder::retire`].
    #[must_use]
    pub const fn folder(&self) -> &Arc<LogFolder> {
        self.writer.folder()
    }

    /// Turns segments before this one into spares: see [`SegmentWriter::recycle`].
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub fn recycle(&mut self, before: u64) -> Result<(), LogError> {
        self.writer.recycle(before)
    }

    fn release(&self) {
        park::unpark_all(self.buffers.durable_key());
        (self.on_publish)(self.buffers.durability());
    }
}

fn note_size(buffers: &CommitBuffers, writer: &SegmentWriter) {
    let (segment, log_bytes) = (writer.segment_number(), writer.folder().log_bytes());
    buffers.counters.set_size(segment, log_bytes, writer.unused_bytes());
}

/// Returns what the thread does while a commit is not over: it spins, then sleeps.
fn rest() -> impl FnMut() {
    let mut spins = 0;
    move || {
        spins += 1;
        if spins < SPINS_BEFORE_SLEEP {
            return spin_hint();
        }
        park::sleep(REST, WaitType::LogBuffer, None);
    }
}

impl CommitBuffers {
    /// Wakes the log thread: to be called after a commit that returned [`Wake::Needed`], and after
    /// a request to stop.
    pub fn wake(&self) {
        self.end_sleep();
        park::unpark_one(self.sleep_key());
    }

    /// Waits until an epoch is durable or the log has failed, or the wait ends for another reason;
    /// returns what is durable then. For callers without replies that can wait instead.
    pub fn wait(
        &self,
        epoch: Epoch,
        timeout: Option<Duration>,
        cancel: Option<&Cancel>,
    ) -> Durability {
        let must_wait = || {
            let now = self.durability();
            now.epoch < epoch && !now.is_suspect
        };
        while must_wait() {
            self.wake_if(self.demand(epoch));
            let key = self.durable_key();
            let wake = park::park(key, WaitType::WriteLog, must_wait, timeout, cancel);
            if wake != park::Wake::Signalled {
                break;
            }
        }
        self.durability()
    }

    /// Wakes the log thread if a commit has found it asleep.
    pub fn wake_if(&self, wake: Wake) {
        match wake {
            Wake::NotNeeded => {}
            Wake::Needed => self.wake(),
        }
    }

    /// Makes all commits durable that have ended, also those with delayed durability: returns an
    /// epoch to wait for. This is `sp_flush_log`.
    pub fn flush_now(&self) -> Epoch {
        let (epoch, wake) = self.request_flush();
        self.wake_if(wake);
        epoch
    }

    /// Sleeps until there is something to write, at most for `rest`. Returns true after a nap: what it
    /// was for is due.
    fn sleep_until_due(&self, idle: WaitType, stop: &AtomicBool, rest: Option<Duration>) -> bool {
        let is_nap = self.has_lazy();
        let (sleep, timeout) =
            if is_nap { (Sleep::Nap, Some(NAP)) } else { (Sleep::UntilWoken, rest) };
        if self.prepare_sleep(sleep) {
            let must_wait = || self.is_asleep() && !stop.load(Ordering::Acquire);
            park::park(self.sleep_key(), idle, must_wait, timeout, None);
            self.end_sleep();
        }
        is_nap
    }
}
