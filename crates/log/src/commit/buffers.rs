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

use crate::Epoch;
use crate::mutant::{Mutant, is_mutant};
use sos::lock::TryCell;
use sos::sync::{Arc, AtomicU64, CachePadded, Ordering, fence};

/// No epoch: nothing is announced.
const NONE: u64 = 0;

/// Set in the word of the durable epoch when the log has failed.
const SUSPECT: u64 = 1 << 63;

/// The first epoch of a log; one less is durable from the start.
const FIRST: u64 = 1;

/// Whether the log thread sleeps.
const AWAKE: u64 = 0;
const ASLEEP: u64 = 1;

/// The records of commits until they are written, and what is durable.
#[derive(Debug)]
pub struct CommitBuffers {
    /// The epoch of new commits. The log thread writes it once per flush.
    epoch: CachePadded<AtomicU64>,
    /// The last durable epoch, and whether the log has failed. The log thread writes it.
    durable: CachePadded<AtomicU64>,
    /// Whether the log thread sleeps and has to be woken.
    sleep: CachePadded<AtomicU64>,
    slots: Box<[CachePadded<Slot>]>,
}

/// What belongs to one scheduler.
#[derive(Debug)]
struct Slot {
    /// The epoch in which a commit is being made, or [`NONE`].
    announced: AtomicU64,
    /// The last epoch in which a commit was made.
    last_commit: AtomicU64,
    /// Records by epoch modulo 2.
    buffers: [TryCell<Vec<u8>>; 2],
}

/// Which epochs are durable, and whether more can become so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durability {
    /// All commits up to this epoch are durable.
    pub epoch: Epoch,
    /// Whether the log has failed: later epochs will never be durable.
    pub is_suspect: bool,
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
}

impl CommitBuffers {
    /// Makes the buffers of some schedulers, and the committer of each. The epochs begin after the
    /// last one of the log.
    #[must_use]
    pub fn new(schedulers: usize, last: Epoch) -> (Arc<Self>, Vec<Committer>) {
        let slot = || {
            CachePadded::new(Slot {
                announced: AtomicU64::new(NONE),
                last_commit: AtomicU64::new(NONE),
                buffers: [TryCell::new(Vec::new()), TryCell::new(Vec::new())],
            })
        };
        let shared = Arc::new(Self {
            epoch: CachePadded::new(AtomicU64::new(last.0 + FIRST)),
            durable: CachePadded::new(AtomicU64::new(last.0)),
            sleep: CachePadded::new(AtomicU64::new(AWAKE)),
            slots: (0..schedulers).map(|_| slot()).collect(),
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
            let epoch = self.epoch.load(Ordering::Acquire);
            slot.announced.store(epoch, Ordering::Relaxed);
            // SeqCst: pairs with the one in `close_epoch`.
            fence(Ordering::SeqCst);
            let is_open = self.epoch.load(Ordering::Relaxed) == epoch;
            if is_open || is_mutant(Mutant::EpochNotSeenAgain) {
                return epoch;
            }
        }
    }

    /// Runs `write` on the records of a slot that has announced `epoch`.
    pub fn write<R>(&self, slot: usize, epoch: Epoch, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        self.slots[slot].buffer(epoch.0, write)
    }

    /// Ends an announced commit: its records are complete.
    #[inline]
    pub fn finish(&self, slot: usize, epoch: Epoch) -> Wake {
        self.finish_in(&self.slots[slot], epoch.0)
    }

    fn finish_in(&self, slot: &Slot, epoch: u64) -> Wake {
        // Relaxed: made visible by the announcement's end, or by the fence below.
        slot.last_commit.store(epoch, Ordering::Relaxed);
        slot.withdraw();
        if !is_mutant(Mutant::NoFenceBeforeWake) {
            // SeqCst: pairs with the one in `prepare_sleep`.
            fence(Ordering::SeqCst);
        }
        if self.is_asleep() { Wake::Needed } else { Wake::NotNeeded }
    }

    /// Ends an announced commit that has written nothing.
    #[inline]
    pub fn withdraw(&self, slot: usize) {
        self.slots[slot].withdraw();
    }

    /// Returns an epoch such that all commits that the caller can see belong to it or to an earlier
    /// one; `None` if all of them are durable.
    #[must_use]
    pub fn visible_epoch(&self) -> Option<Epoch> {
        // Acquire: a commit that is visible has announced its epoch before, so this is not lower.
        let epoch = self.epoch.load(Ordering::Acquire);
        let durable = self.durability().epoch.0;
        let may_wait = |slot: &Slot| {
            // Acquire: pairs with the Release in `withdraw`, so that a commit that has ended is seen
            // in the second word.
            slot.announced.load(Ordering::Acquire) != NONE
                || slot.last_commit.load(Ordering::Relaxed) > durable
        };
        self.slots.iter().any(|slot| may_wait(slot)).then_some(Epoch(epoch))
    }

    /// Closes the present epoch, waits for its commits, and swaps the records of each scheduler with
    /// one of `taken`, which are empty. `rest` is called while a commit is not over. Returns the
    /// epoch.
    ///
    /// Only the log thread calls it, and only after [`Self::publish`] of the epoch before.
    pub(crate) fn close_epoch(&self, taken: &mut [Vec<u8>], mut rest: impl FnMut()) -> Epoch {
        // Relaxed: only this thread writes it.
        let epoch = self.epoch.load(Ordering::Relaxed);
        // Release: a commit of the new epoch sees the buffers of the epoch before the last empty.
        self.epoch.store(epoch + 1, Ordering::Release);
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
    }

    /// Prepares the log thread's sleep. Returns false if there are commits to write; else commits
    /// from now on are [`Wake::Needed`], until [`Self::end_sleep`].
    pub(crate) fn prepare_sleep(&self) -> bool {
        self.sleep.store(ASLEEP, Ordering::Relaxed);
        // SeqCst: pairs with the one in `finish`. Either the commit sees the sleep, or it is seen
        // here.
        fence(Ordering::SeqCst);
        let is_idle = is_mutant(Mutant::SleepWithoutLook) || !self.has_commits();
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
        self.sleep.load(Ordering::Relaxed) == ASLEEP
    }

    /// Returns whether there are commits of epochs that were not closed.
    fn has_commits(&self) -> bool {
        // Relaxed: only the log thread, which asks, writes it.
        let epoch = self.epoch.load(Ordering::Relaxed);
        self.slots.iter().any(|slot| slot.last_commit.load(Ordering::Relaxed) >= epoch)
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
    /// Ends the announcement.
    fn withdraw(&self) {
        // Release: pairs with the Acquire in `close_epoch`.
        self.announced.store(NONE, Ordering::Release);
    }

    /// Runs `run` on the records of an epoch. The protocol excludes other threads.
    fn buffer<R>(&self, epoch: u64, run: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let index = if is_mutant(Mutant::OneBuffer) { 0 } else { usize::from(epoch % 2 == 1) };
        self.buffers[index]
            .try_with(run)
            .expect("the log thread takes the buffers of an epoch after its last commit")
    }
}

impl Committer {
    /// Announces a commit. The commit timestamp must be taken after this: then a transaction that
    /// depends on this one, which it sees only after its timestamp, has this epoch or a later one.
    #[inline]
    pub fn begin(&mut self) -> Commit<'_> {
        let shared = &*self.shared;
        let slot = &*shared.slots[self.slot];
        Commit { shared, slot, epoch: shared.announce_in(slot) }
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
        self.slot.buffer(self.epoch, write)
    }

    /// Ends the commit: its records are complete.
    #[inline]
    pub fn finish(self) -> Wake {
        // The drop withdraws once more, which changes nothing: this slot is the committer's.
        self.shared.finish_in(self.slot, self.epoch)
    }
}

impl Drop for Commit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.slot.withdraw();
    }
}
