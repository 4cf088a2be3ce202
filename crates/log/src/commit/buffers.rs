//! `CommitBuffers`: the records of commits, by scheduler and epoch, until the log thread takes them.
//!
//! Epochs are those of Silo (Tu et al., SOSP 2013), raised once per flush:
//!
//! ```text
//! scheduler   announce e ─ is the epoch still e? ─ timestamp, records to buffer e mod 2 ─ withdraw
//! log thread  epoch := e + 1 ─ wait until no scheduler announces e or less ─ take buffers e mod 2
//! ```
//!
//! While the log thread writes the group of epoch e, commits of epoch e + 1 fill the other buffer of
//! each scheduler. Epoch e + 2 begins only after that, so two buffers are enough.
//!
//! A commit writes its scheduler's cache lines only. It reads the epoch, which changes once per
//! flush. A scheduler that commits nothing announces nothing, so the log thread never waits for it.
//!
//! # The limit
//!
//! Before a commit begins, [`Committer::admit`] asks whether it may. While the disk is full it may
//! not, and while the buffers hold more than their limit it may not either. A scheduler below half
//! of its share of the limit looks at its own count alone. So the buffers hold at most twice the
//! limit and the transactions that passed it.
//!
//! # The room
//!
//! The log thread publishes how many bytes of records the prepared files take for certain: the room.
//! The limit is at most a quarter of it, and each slot may add a commit of its share, so what was
//! admitted takes at most half of the room. A longer commit is admitted if as many of its kind as
//! there are slots would take less than the other half. If the files that are prepared are too few,
//! it is refused while the disk has no room for more of them, and waits while the keeper finds that
//! out; else the log thread makes them.

use super::stats::Counters;
use crate::Epoch;
use crate::mutant::{Mutant, is_mutant};
use crate::space::{Space, SpaceCell};
use sos::lock::TryCell;
use sos::sync::{Arc, AtomicU64, CachePadded, Ordering, fence};

/// No epoch: nothing is announced.
const NONE: u64 = 0;

/// Set in the word of the durable epoch when the log has failed.
const SUSPECT: u64 = 1 << 63;

/// The first epoch of a log; one less is durable from the start.
const FIRST: u64 = 1;

/// The log thread is awake and sees each commit.
const AWAKE: u64 = 0;
/// It naps for a fixed time: it is woken for a commit that a reply waits for.
const NAPPING: u64 = 1;
/// It sleeps until it is woken, for any commit.
const ASLEEP: u64 = 2;

/// Whether the log thread can write.
const GOOD: u64 = 0;
const FULL: u64 = 1;
const FAILED: u64 = 2;

/// The usual limit of the bytes in the buffers.
pub const BUFFER_BYTES_MAX: u64 = 64 << 20;

/// The part of the room that the limit is.
const LIMIT_OF_ROOM: u64 = 4;

/// The records of commits until they are written, and what is durable.
#[derive(Debug)]
pub struct CommitBuffers {
    gate: CachePadded<Gate>,
    /// The last durable epoch, and whether the log has failed. The log thread writes it.
    durable: CachePadded<AtomicU64>,
    /// Whether the log thread sleeps and has to be woken.
    sleep: CachePadded<AtomicU64>,
    /// An epoch that shall be flushed though no reply waits for it.
    requested: CachePadded<AtomicU64>,
    slots: Box<[CachePadded<Slot>]>,
    /// Bytes that the buffers may hold before new commits are refused.
    bytes_max: u64,
    pub(super) counters: CachePadded<Counters>,
}

/// What a commit reads before it begins. The log thread writes it.
#[derive(Debug)]
struct Gate {
    /// The epoch of new commits, raised once per flush.
    epoch: AtomicU64,
    /// One of [`GOOD`], [`FULL`], [`FAILED`].
    state: AtomicU64,
    /// Bytes of records that the prepared files take for certain.
    room: AtomicU64,
    /// Bytes that a slot may have in its buffer, and in its next commit, without a look at others.
    share: AtomicU64,
    /// Whether the disk has room for another file.
    space: SpaceCell,
}

/// What belongs to one scheduler.
#[derive(Debug)]
struct Slot {
    /// The epoch in which a commit is being made, or [`NONE`].
    announced: AtomicU64,
    /// The last epoch in which a commit was made for which a reply waits.
    last_commit: AtomicU64,
    /// The last epoch that the log thread shall flush for such commits.
    due: AtomicU64,
    /// The last epoch in which a commit was made with delayed durability.
    last_lazy: AtomicU64,
    /// Bytes of records that were ever written here.
    written: AtomicU64,
    /// Bytes of records in the epoch of the last commit.
    epoch_bytes: AtomicU64,
    /// Records by epoch modulo 2.
    buffers: [TryCell<Taken>; 2],
}

/// The commits of one scheduler in one epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken {
    /// Their records, as they were committed.
    pub(crate) records: Vec<u8>,
    /// How many wrote records.
    pub(crate) commits: u64,
}

impl Taken {
    /// Empties it and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.commits = 0;
    }
}

/// Which epochs are durable, and whether more can become so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durability {
    /// All commits up to this epoch are durable.
    pub epoch: Epoch,
    /// Whether the log has failed: later epochs will never be durable.
    pub is_suspect: bool,
}

/// What the log can do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogState {
    /// It writes commits as they come.
    Good,
    /// The disk is full. Commits wait in the buffers, and are written once there is room.
    Full,
    /// A write or a sync has failed, which is final.
    Suspect,
}

/// Why a commit may not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The disk is full: SQL Server's error 9002.
    Full,
    /// The buffers are full, since the disk is slower than the commits. There is room again when
    /// this epoch is durable.
    Behind(Epoch),
    /// The next file is being prepared: ask again in a moment.
    Preparing,
    /// The log has failed: SQL Server's error 9001.
    Suspect,
}

/// How the log thread sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleep {
    /// For the time that commits with delayed durability may wait.
    Nap,
    /// Until it is woken.
    UntilWoken,
}

/// Whether the log thread has to be woken after a commit.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// It is awake and sees the commit.
    NotNeeded,
    /// It sleeps: call `CommitBuffers::wake`.
    Needed,
}

/// One scheduler's way to commit. There is one per slot.
#[derive(Debug)]
pub struct Committer {
    shared: Arc<CommitBuffers>,
    slot: usize,
}

/// A commit that has announced its epoch. The log thread waits for its end, so it must be short and
/// must not block.
#[derive(Debug)]
pub struct Commit<'c> {
    shared: &'c CommitBuffers,
    slot: &'c Slot,
    epoch: u64,
    is_written: bool,
}

/// Returns what each slot may have without a look at the others.
const fn share_of(limit: u64, slots: usize) -> u64 {
    limit / (2 * slots as u64)
}

impl CommitBuffers {
    /// Makes the buffers of some schedulers, and the committer of each, with the usual limit. The
    /// epochs begin after the last one of the log.
    #[must_use]
    pub fn new(schedulers: usize, last: Epoch) -> (Arc<Self>, Vec<Committer>) {
        Self::with_limit(schedulers, last, BUFFER_BYTES_MAX)
    }

    /// As [`Self::new`], with another limit of the bytes in the buffers.
    #[must_use]
    pub fn with_limit(
        schedulers: usize,
        last: Epoch,
        bytes_max: u64,
    ) -> (Arc<Self>, Vec<Committer>) {
        let slot = || {
            CachePadded::new(Slot {
                announced: AtomicU64::new(NONE),
                last_commit: AtomicU64::new(NONE),
                due: AtomicU64::new(NONE),
                last_lazy: AtomicU64::new(NONE),
                written: AtomicU64::new(0),
                epoch_bytes: AtomicU64::new(0),
                buffers: [TryCell::new(Taken::default()), TryCell::new(Taken::default())],
            })
        };
        let shared = Arc::new(Self {
            gate: CachePadded::new(Gate {
                epoch: AtomicU64::new(last.0 + FIRST),
                state: AtomicU64::new(GOOD),
                // Until the log thread says how much there is.
                room: AtomicU64::new(u64::MAX),
                share: AtomicU64::new(share_of(bytes_max, schedulers)),
                space: SpaceCell::new(),
            }),
            durable: CachePadded::new(AtomicU64::new(last.0)),
            sleep: CachePadded::new(AtomicU64::new(AWAKE)),
            requested: CachePadded::new(AtomicU64::new(NONE)),
            slots: (0..schedulers).map(|_| slot()).collect(),
            bytes_max,
            counters: CachePadded::new(Counters::default()),
        });
        let committer = |slot| Committer { shared: Arc::clone(&shared), slot };
        let committers = (0..schedulers).map(committer).collect();
        (shared, committers)
    }

    /// Returns what is durable now.
    #[must_use]
    pub fn durability(&self) -> Durability {
        // Acquire: pairs with the Release in `publish`, so that a reply follows the write.
        let word = self.durable.load(Ordering::Acquire);
        Durability { epoch: Epoch(word & !SUSPECT), is_suspect: word & SUSPECT != 0 }
    }

    /// Announces a commit in a slot; returns its epoch. For callers who keep several commits apart by
    /// other means than a [`Committer`]: until [`Self::finish`] or [`Self::withdraw`] no other thread
    /// may use the slot. The rules of [`Committer::begin`] hold.
    #[inline]
    pub fn announce(&self, slot: usize) -> Epoch {
        Epoch(self.announce_in(&self.slots[slot]))
    }

    fn announce_in(&self, slot: &Slot) -> u64 {
        loop {
            // Acquire: pairs with the Release in `close_epoch`.
            let epoch = self.gate.epoch.load(Ordering::Acquire);
            slot.announced.store(epoch, Ordering::Relaxed);
            // SeqCst: pairs with the one in `close_epoch`.
            fence(Ordering::SeqCst);
            let is_open = self.gate.epoch.load(Ordering::Relaxed) == epoch;
            if is_open || is_mutant(Mutant::EpochNotSeenAgain) {
                return epoch;
            }
        }
    }

    /// Runs `write` on the records of a slot that has announced `epoch`. `is_first` is set for the
    /// first records of a commit.
    pub fn write<R>(
        &self,
        (slot, epoch): (usize, Epoch),
        is_first: bool,
        write: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> R {
        self.slots[slot].write(epoch.0, is_first, write)
    }

    /// Asks whether a commit with about this many bytes of records may begin in a slot. The commit
    /// follows at once: a thread that has waited in between asks again.
    ///
    /// # Errors
    /// Why it may not.
    #[inline]
    pub fn admit(&self, slot: usize, bytes: u64) -> Result<(), Refusal> {
        match self.state() {
            LogState::Good => {}
            LogState::Full => return Err(Refusal::Full),
            LogState::Suspect => return Err(Refusal::Suspect),
        }
        // Relaxed: an old epoch makes the answer too strict by one flush at most.
        let epoch = self.gate.epoch.load(Ordering::Relaxed);
        let slot = &self.slots[slot];
        let last =
            slot.last_commit.load(Ordering::Relaxed).max(slot.last_lazy.load(Ordering::Relaxed));
        let is_present = last == epoch;
        let own = if is_present { slot.epoch_bytes.load(Ordering::Relaxed) } else { 0 };
        let share = self.gate.share.load(Ordering::Relaxed);
        if own.max(bytes) <= share { Ok(()) } else { self.admit_above_share(epoch, bytes) }
    }

    #[cold]
    fn admit_above_share(&self, epoch: u64, bytes: u64) -> Result<(), Refusal> {
        let buffered = self.buffered_bytes();
        // After the bytes: pairs with the Release in `publish_room`, so that a group that is not
        // counted any more is not in the room either.
        let room = self.gate.room.load(Ordering::Relaxed);
        if buffered > self.limit(room) {
            return Err(Refusal::Behind(Epoch(epoch)));
        }
        if bytes.saturating_mul(self.slots.len() as u64) <= room / 2 {
            return Ok(());
        }
        match (self.gate.space.get(), room) {
            (Space::Short, _) => Err(Refusal::Full),
            (Space::Unknown, _) | (Space::Enough, 0) => Err(Refusal::Preparing),
            // The log thread makes the files that such a commit needs when it writes it.
            (Space::Enough, _) => Ok(()),
        }
    }

    /// Returns the bytes that the buffers may hold when there is this room.
    const fn limit(&self, room: u64) -> u64 {
        let part = room / LIMIT_OF_ROOM;
        if part < self.bytes_max { part } else { self.bytes_max }
    }

    /// Publishes how many bytes of records the prepared files take for certain, and whether the disk
    /// has room for another one. To be called before the bytes of a group are counted as flushed.
    pub(crate) fn publish_room(&self, room: u64, space: Space) {
        let share = share_of(self.limit(room), self.slots.len());
        // Relaxed: `count_flush` follows with a Release.
        self.gate.share.store(share, Ordering::Relaxed);
        self.gate.room.store(room, Ordering::Relaxed);
        if self.gate.space.get() != space {
            self.gate.space.set(space);
        }
    }

    /// Ends an announced commit: its records are complete.
    #[inline]
    pub fn finish(&self, slot: usize, epoch: Epoch) -> Wake {
        self.finish_in(&self.slots[slot], epoch.0)
    }

    fn finish_in(&self, slot: &Slot, epoch: u64) -> Wake {
        // Relaxed: made visible by the announcement's end, or by the fence in `look_at_sleep`.
        slot.last_commit.store(epoch, Ordering::Relaxed);
        slot.due.store(epoch, Ordering::Relaxed);
        slot.withdraw();
        self.look_at_sleep(AWAKE)
    }

    /// Ends an announced commit whose flush is not asked for yet. The owner of the slot calls
    /// [`Self::make_due`] soon, for this commit and others.
    #[inline]
    pub fn finish_early(&self, slot: usize, epoch: Epoch) {
        let slot = &self.slots[slot];
        // Relaxed: made visible by the announcement's end.
        slot.last_commit.store(epoch.0, Ordering::Relaxed);
        slot.withdraw();
    }

    /// Asks for a flush of the commits that [`Self::finish_early`] has ended in a slot, unless another
    /// slot's flush has taken them along.
    pub fn make_due(&self, slot: usize) -> Wake {
        let slot = &self.slots[slot];
        let last = slot.last_commit.load(Ordering::Relaxed);
        if last <= self.durability().epoch.0 {
            return Wake::NotNeeded;
        }
        if !is_mutant(Mutant::NeverDue) {
            // Relaxed: made visible by the fence in `look_at_sleep`.
            slot.due.store(last, Ordering::Relaxed);
        }
        self.look_at_sleep(AWAKE)
    }

    /// Ends an announced commit with delayed durability: see [`Commit::finish_lazy`].
    #[inline]
    pub fn finish_lazy(&self, slot: usize, epoch: Epoch) -> Wake {
        self.finish_lazy_in(&self.slots[slot], epoch.0)
    }

    fn finish_lazy_in(&self, slot: &Slot, epoch: u64) -> Wake {
        // Relaxed: as in `finish_in`.
        slot.last_lazy.store(epoch, Ordering::Relaxed);
        slot.withdraw();
        // The first one after idleness wakes the log thread, so that it sets its timer.
        self.look_at_sleep(NAPPING)
    }

    /// Ends an announced commit that has written nothing.
    #[inline]
    pub fn withdraw(&self, slot: usize) {
        self.slots[slot].withdraw();
    }

    /// Returns whether a slot has committed in this epoch or later: then it will be closed without
    /// [`Self::demand`], at the latest after [`Self::make_due`].
    #[must_use]
    pub fn has_committed(&self, slot: usize, epoch: Epoch) -> bool {
        // Relaxed: only the caller's own commits count.
        self.slots[slot].last_commit.load(Ordering::Relaxed) >= epoch.0
    }

    /// Asks for an epoch to become durable, also if it has no commits: to be called before a wait for
    /// it, and followed by another look at [`Self::durability`]. A commit that is waited for may
    /// withdraw, or belong to an earlier epoch.
    pub fn demand(&self, epoch: Epoch) -> Wake {
        // Relaxed: read first, so that those who wait for one flush write it once.
        if self.requested.load(Ordering::Relaxed) < epoch.0 {
            self.requested.fetch_max(epoch.0, Ordering::Relaxed);
        }
        self.look_at_sleep(AWAKE)
    }

    /// Returns an epoch such that all commits that the caller can see belong to it or to an earlier
    /// one; `None` if all of them are durable.
    #[must_use]
    pub fn visible_epoch(&self) -> Option<Epoch> {
        // Acquire: a commit that is visible has announced its epoch before, so this is not lower.
        let epoch = self.gate.epoch.load(Ordering::Acquire);
        let durable = self.durability().epoch.0;
        let may_wait = |slot: &Slot| {
            // Acquire: pairs with the Release in `withdraw`, so that a commit that has ended is seen
            // in the second word.
            slot.announced.load(Ordering::Acquire) != NONE
                || slot.last_commit.load(Ordering::Relaxed) > durable
        };
        self.slots.iter().any(|slot| may_wait(slot)).then_some(Epoch(epoch))
    }

    /// Returns what the log can do now.
    #[must_use]
    pub fn state(&self) -> LogState {
        // Relaxed: nothing is read that depends on it.
        match self.gate.state.load(Ordering::Relaxed) {
            GOOD => LogState::Good,
            FULL => LogState::Full,
            _ => LogState::Suspect,
        }
    }

    /// Returns where a replay has to start that finds each commit which begins from now on: the
    /// segment, and the first epoch. A checkpoint asks before its scan.
    #[must_use]
    pub fn replay_start(&self) -> (u64, Epoch) {
        // The segment first: the group of an epoch that is open now begins there or later.
        let segment = self.counters.segment();
        (segment, Epoch(self.gate.epoch.load(Ordering::Acquire)))
    }

    /// Returns the bytes of records that are not durable yet: in the buffers, and being written.
    #[must_use]
    pub fn buffered_bytes(&self) -> u64 {
        let written: u64 = self.slots.iter().map(|s| s.written.load(Ordering::Relaxed)).sum();
        written.saturating_sub(self.counters.bytes_flushed())
    }

    /// Publishes what the log can do.
    pub(crate) fn publish_state(&self, state: LogState) {
        let word = match state {
            LogState::Good => GOOD,
            LogState::Full => FULL,
            LogState::Suspect => FAILED,
        };
        if self.gate.state.load(Ordering::Relaxed) != word {
            self.gate.state.store(word, Ordering::Relaxed);
        }
    }

    /// Closes the present epoch, waits for its commits, and swaps the records of each scheduler with
    /// one of `taken`, which are empty. `rest` is called while a commit is not over. Returns the
    /// epoch.
    ///
    /// Only the log thread calls it, and only after [`Self::publish`] of the epoch before.
    pub(crate) fn close_epoch(&self, taken: &mut [Taken], mut rest: impl FnMut()) -> Epoch {
        // Relaxed: only this thread writes it.
        let epoch = self.gate.epoch.load(Ordering::Relaxed);
        // Release: a commit of the new epoch sees the buffers of the epoch before the last empty.
        self.gate.epoch.store(epoch + 1, Ordering::Release);
        if !is_mutant(Mutant::NoFenceBeforeScan) {
            // SeqCst: pairs with the one in `begin`. Either the commit sees the new epoch, or its
            // announcement is seen here.
            fence(Ordering::SeqCst);
        }
        for slot in &self.slots {
            // Acquire: pairs with the Release that withdraws the announcement.
            while !is_mutant(Mutant::AnnouncementsIgnored)
                && (FIRST..=epoch).contains(&slot.announced.load(Ordering::Acquire))
            {
                rest();
            }
        }
        for (slot, taken) in self.slots.iter().zip(taken) {
            slot.buffer(epoch, |records| std::mem::swap(records, taken));
        }
        Epoch(epoch)
    }

    /// Publishes an epoch as durable.
    pub(crate) fn publish(&self, epoch: Epoch) {
        // Release: pairs with the Acquire in `durability`.
        self.durable.store(epoch.0, Ordering::Release);
    }

    /// Publishes that the log has failed. What is durable stays as it is.
    pub(crate) fn publish_suspect(&self) {
        // Relaxed: only this thread writes it.
        let durable = self.durable.load(Ordering::Relaxed);
        self.durable.store(durable | SUSPECT, Ordering::Release);
        self.publish_state(LogState::Suspect);
    }

    /// Prepares the log thread's sleep. Returns false if there is something to write; else commits
    /// from now on are [`Wake::Needed`], until [`Self::end_sleep`]. A nap ends soon, so commits with
    /// delayed durability do not end it.
    pub(crate) fn prepare_sleep(&self, sleep: Sleep) -> bool {
        let word = match sleep {
            Sleep::Nap => NAPPING,
            Sleep::UntilWoken => ASLEEP,
        };
        self.sleep.store(word, Ordering::Relaxed);
        // SeqCst: pairs with the ones in `finish` and `request_flush`. Either the commit sees the
        // sleep, or it is seen here.
        fence(Ordering::SeqCst);
        let is_ended = match sleep {
            Sleep::Nap => self.has_work(),
            Sleep::UntilWoken => {
                self.has_work() || (!is_mutant(Mutant::LazyNotSeen) && self.has_lazy())
            }
        };
        let is_idle = is_mutant(Mutant::SleepWithoutLook) || !is_ended;
        if !is_idle {
            self.end_sleep();
        }
        is_idle
    }

    /// Ends the log thread's sleep.
    pub(crate) fn end_sleep(&self) {
        self.sleep.store(AWAKE, Ordering::Relaxed);
    }

    /// Returns whether the log thread sleeps.
    pub(crate) fn is_asleep(&self) -> bool {
        self.sleep.load(Ordering::Relaxed) != AWAKE
    }

    /// Returns whether something waits for the present epoch: a reply or a request.
    pub(crate) fn has_work(&self) -> bool {
        // Relaxed: only the log thread, which asks, writes it.
        let epoch = self.gate.epoch.load(Ordering::Relaxed);
        self.requested.load(Ordering::Relaxed) >= epoch
            || self.slots.iter().any(|slot| slot.due.load(Ordering::Relaxed) >= epoch)
    }

    /// Returns whether there are commits with delayed durability in the present epoch.
    pub(crate) fn has_lazy(&self) -> bool {
        let epoch = self.gate.epoch.load(Ordering::Relaxed);
        self.slots.iter().any(|slot| slot.last_lazy.load(Ordering::Relaxed) >= epoch)
    }

    /// Asks for a flush of the present epoch, which has all commits that have ended.
    pub(crate) fn request_flush(&self) -> (Epoch, Wake) {
        // Acquire: pairs with the Release in `close_epoch`.
        let epoch = self.gate.epoch.load(Ordering::Acquire);
        self.requested.fetch_max(epoch, Ordering::Relaxed);
        (Epoch(epoch), self.look_at_sleep(AWAKE))
    }

    /// Returns whether a thread may wait for an epoch that has no commits.
    pub(crate) fn is_requested(&self, epoch: Epoch) -> bool {
        // SeqCst: pairs with the one in `look_at_sleep`, after a request and before the wait. Either
        // that wait sees the epoch published, or the request is seen here.
        fence(Ordering::SeqCst);
        self.requested.load(Ordering::Relaxed) >= epoch.0
    }

    /// Returns whether the log thread sleeps deeper than `depth`.
    fn look_at_sleep(&self, depth: u64) -> Wake {
        if !is_mutant(Mutant::NoFenceBeforeWake) {
            // SeqCst: pairs with the one in `prepare_sleep`.
            fence(Ordering::SeqCst);
        }
        if self.sleep.load(Ordering::Relaxed) > depth { Wake::Needed } else { Wake::NotNeeded }
    }

    /// Returns the address under which threads wait for an epoch to be durable.
    #[cfg(not(any(loom, shuttle)))]
    pub(super) fn durable_key(&self) -> usize {
        std::ptr::from_ref(&self.durable).addr()
    }

    /// Returns the address under which the log thread sleeps.
    #[cfg(not(any(loom, shuttle)))]
    pub(super) fn sleep_key(&self) -> usize {
        std::ptr::from_ref(&self.sleep).addr()
    }

    /// Returns the number of schedulers.
    pub(crate) const fn schedulers(&self) -> usize {
        self.slots.len()
    }
}

impl Slot {
    /// Runs `write` on the records of a commit, and counts them.
    fn write<R>(&self, epoch: u64, is_first: bool, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let (result, before, after) = self.buffer(epoch, |taken| {
            let before = taken.records.len();
            let result = write(&mut taken.records);
            taken.commits += u64::from(is_first);
            (result, before as u64, taken.records.len() as u64)
        });
        // Relaxed, all of them: counts that only this commit's thread writes.
        let written = self.written.load(Ordering::Relaxed) + after.saturating_sub(before);
        self.written.store(written, Ordering::Relaxed);
        self.epoch_bytes.store(after, Ordering::Relaxed);
        result
    }

    /// Ends the announcement of a commit.
    fn withdraw(&self) {
        // Release: pairs with the Acquire in `close_epoch`.
        self.announced.store(NONE, Ordering::Release);
    }

    /// Runs `run` on the records of an epoch. The protocol excludes other threads.
    fn buffer<R>(&self, epoch: u64, run: impl FnOnce(&mut Taken) -> R) -> R {
        let index = if is_mutant(Mutant::OneBuffer) { 0 } else { usize::from(epoch % 2 == 1) };
        self.buffers[index]
            .try_with(run)
            .expect("the log thread takes the buffers of an epoch after its last commit")
    }
}

impl Committer {
    /// Asks whether a commit may begin: see [`CommitBuffers::admit`].
    ///
    /// # Errors
    /// Why it may not.
    #[inline]
    pub fn admit(&self, bytes: u64) -> Result<(), Refusal> {
        self.shared.admit(self.slot, bytes)
    }

    /// Announces a commit. The commit timestamp must be taken after this: then a transaction that
    /// depends on this one, which it sees only after its timestamp, has this epoch or a later one.
    #[inline]
    pub fn begin(&mut self) -> Commit<'_> {
        let shared = &*self.shared;
        let slot = &*shared.slots[self.slot];
        Commit { shared, slot, epoch: shared.announce_in(slot), is_written: false }
    }
}

impl Commit<'_> {
    /// Returns the epoch: the commit is durable when this epoch is.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        Epoch(self.epoch)
    }

    /// Writes the records of the transaction to the scheduler's buffer: see [`crate::Transaction`].
    pub fn write<R>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let is_first = !std::mem::replace(&mut self.is_written, true);
        self.slot.write(self.epoch, is_first, write)
    }

    /// Ends the commit: its records are complete, and a reply waits until they are durable.
    #[inline]
    pub fn finish(self) -> Wake {
        // The drop withdraws once more, which changes nothing: this slot is the committer's.
        self.shared.finish_in(self.slot, self.epoch)
    }

    /// Ends a commit with delayed durability: no reply waits for it. It becomes durable with the
    /// next flush, which begins within 10 ms.
    #[inline]
    pub fn finish_lazy(self) -> Wake {
        self.shared.finish_lazy_in(self.slot, self.epoch)
    }
}

impl Drop for Commit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.slot.withdraw();
    }
}
