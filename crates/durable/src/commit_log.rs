//! `CommitLog`: storage's commits and the catalog's changes as records in the buffers of the log.
//!
//! | slot                  | whose commits                                                       |
//! |-----------------------|---------------------------------------------------------------------|
//! | one per scheduler     | the worker that holds the scheduler                                 |
//! | [`Slots::other`]      | all other threads, one at a time                                    |
//! | [`Slots::alone`]      | a change of the catalog outside a [`Scope`]: the catalog's latch is held |
//! | [`Slots::scopes`]     | a [`Scope`] each                                                    |
//!
//! A scope puts the rows and the definitions of one transaction into one epoch, so that a crash
//! leaves both or neither. It keeps its epoch open, so it ends as soon as both are written.

use std::cell::Cell;
use std::time::Duration;

use catalog::{CounterKey, CounterLog, Upto};
use definitions::Entry;
use log::{CommitBuffers, Durability, Epoch, Paused, Refusal, Transaction};
use sos::clock;
use sos::memory;
use sos::park;
use sos::sched;
use sos::sync::{Arc, AtomicBool, AtomicU64, Ordering, spin_hint};
use sos::wait::WaitType;
use storage::durability::{Outcome, RowChange};

use crate::entry;
use crate::images;
use crate::planted::{Bug, Planted};

/// Scopes at the same time; one more waits for the end of another.
const SCOPES: usize = 8;

/// How long a thread sleeps between two looks for a free scope.
const SCOPE_PAUSE: Duration = Duration::from_micros(50);

/// How long a commit sleeps while the next file of the log is prepared.
const PREPARING_PAUSE: Duration = Duration::from_millis(1);

/// The kind of a definition record whose bytes are an entry of `definitions`.
pub(crate) const ENTRY: u32 = 1;

/// Which slots of the buffers belong to whom.
#[derive(Debug)]
struct Slots {
    schedulers: usize,
    other: AtomicBool,
    scopes: [AtomicBool; SCOPES],
}

/// The log of an instance, as storage and the catalog use it.
#[derive(Debug)]
pub struct CommitLog {
    buffers: Arc<CommitBuffers>,
    slots: Slots,
    /// The number of the next transaction of definitions.
    definitions: AtomicU64,
    planted: Planted,
}

/// A commit between its announcement and its end.
#[derive(Clone, Copy)]
struct Open {
    slot: usize,
    epoch: Epoch,
    /// The records so far; `None` before the first.
    records: Option<Paused>,
    ends: Ends,
}

/// What the end of a commit does with its announcement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// It ends the announcement.
    Announcement,
    /// It ends it, and lets another thread use the slot.
    AnnouncementAndSlot,
    /// Nothing: the scope ends it.
    Nothing,
}

thread_local! {
    /// The commit that this thread has announced. A thread has one at a time.
    static OPEN: Cell<Option<Open>> = const { Cell::new(None) };
    /// The scope that this thread is in: its slot and epoch.
    static SCOPE: Cell<Option<(usize, Epoch)>> = const { Cell::new(None) };
}

impl CommitLog {
    /// Returns how many slots the buffers need for a number of schedulers.
    pub(crate) const fn slots(schedulers: usize) -> usize {
        schedulers + 2 + SCOPES
    }

    /// Makes the log on buffers with [`Self::slots`] slots.
    pub(crate) fn new(buffers: Arc<CommitBuffers>, schedulers: usize, planted: Planted) -> Self {
        let slots = Slots {
            schedulers,
            other: AtomicBool::new(false),
            scopes: std::array::from_fn(|_| AtomicBool::new(false)),
        };
        Self { buffers, slots, definitions: AtomicU64::new(1), planted }
    }

    /// Returns the buffers that commits write to.
    #[must_use]
    pub fn buffers(&self) -> &Arc<CommitBuffers> {
        &self.buffers
    }

    /// Returns the planted bug, for tests.
    pub(crate) const fn planted(&self) -> Planted {
        self.planted
    }

    /// Returns what is durable now.
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.buffers.durability()
    }

    /// Begins a scope of this thread: until it is dropped, the thread's commits and changes of the
    /// catalog have one epoch. Waits for another scope if there are too many.
    #[must_use]
    pub fn scope(&self) -> Scope<'_> {
        assert!(SCOPE.get().is_none(), "a transaction ends once");
        let free = loop {
            let free = self.slots.scopes.iter().position(take);
            match free {
                Some(free) => break free,
                None => {
                    park::sleep(SCOPE_PAUSE, WaitType::LogBuffer, None);
                }
            }
        };
        let slot = self.slots.schedulers + 2 + free;
        let epoch = self.buffers.announce(slot);
        SCOPE.set(Some((slot, epoch)));
        Scope { log: self, free, slot, epoch }
    }

    /// Waits until definitions of about this many bytes may be logged. In a scope they may: it was admitted as a whole.
    ///
    /// # Errors
    /// [`storage::Error::LogFull`], [`storage::Error::LogFailed`].
    pub fn admit_definitions(&self, bytes: u64) -> storage::Result<()> {
        if SCOPE.get().is_some() {
            return Ok(());
        }
        self.admit_in(self.slots.schedulers + 1, bytes)
    }

    /// Writes definitions as one transaction: all of them are there after a crash, or none. The
    /// caller holds the catalog's latch, or is in a scope. Returns their epoch.
    pub(crate) fn define(&self, entries: &[Entry]) -> Epoch {
        let scope = SCOPE.get();
        let alone = self.slots.schedulers + 1;
        let (slot, epoch) = scope.unwrap_or_else(|| (alone, self.buffers.announce(alone)));
        if let Some((_, epoch)) = scope
            && self.planted.has(Bug::DefinitionAfterRows)
        {
            return self.define_late(epoch, entries);
        }
        self.write_entries((slot, epoch), entries);
        if scope.is_none() {
            let wake = self.buffers.finish(slot, epoch);
            self.buffers.wake_if(wake);
        }
        storage::durability::note(epoch.0);
        epoch
    }

    /// Writes definitions to a later epoch than that of the rows: a planted bug.
    #[cold]
    fn define_late(&self, rows: Epoch, entries: &[Entry]) -> Epoch {
        let alone = self.slots.schedulers + 1;
        let mut epoch = self.buffers.announce(alone);
        // A log that has failed opens no further epoch.
        while epoch <= rows && !self.durability().is_suspect {
            self.buffers.withdraw(alone);
            self.buffers.flush_now();
            spin_hint();
            epoch = self.buffers.announce(alone);
        }
        self.write_entries((alone, epoch), entries);
        let wake = self.buffers.finish(alone, epoch);
        self.buffers.wake_if(wake);
        storage::durability::note(rows.0);
        rows
    }

    fn write_entries(&self, at: (usize, Epoch), entries: &[Entry]) {
        // Definitions are ordered as they were made, not by timestamps of rows. Each key is changed
        // by one thread at a time.
        // Relaxed: what orders the changes of a key orders this counter.
        let order = self.definitions.fetch_add(1, Ordering::Relaxed);
        self.buffers.write(at, true, |buffer| {
            let mut transaction = Transaction::begin(buffer, order, clock::utc_100ns());
            for entry in entries {
                transaction.definition(ENTRY, &entry::encode(entry));
            }
            transaction.end();
        });
    }

    /// Returns whether a scheduler has committed in this epoch or a later one.
    pub(crate) fn has_committed(&self, scheduler: u32, epoch: Epoch) -> bool {
        let slot = usize::try_from(scheduler).ok().filter(|slot| *slot < self.slots.schedulers);
        slot.is_some_and(|slot| self.buffers.has_committed(slot, epoch))
    }

    fn admit_in(&self, slot: usize, bytes: u64) -> storage::Result<()> {
        loop {
            match self.buffers.admit(slot, bytes) {
                Ok(()) => return Ok(()),
                Err(Refusal::Full) => return Err(storage::Error::LogFull),
                Err(Refusal::Suspect) => return Err(storage::Error::LogFailed),
                Err(Refusal::Preparing) => {
                    park::sleep(PREPARING_PAUSE, WaitType::LogBuffer, None);
                }
                Err(Refusal::Behind(epoch)) => {
                    // The next look says whether the log has failed.
                    let _ = self.buffers.wait(epoch, None, None);
                }
            }
        }
    }

    fn announce(&self) -> Open {
        if let Some((slot, epoch)) = SCOPE.get() {
            return Open { slot, epoch, records: None, ends: Ends::Nothing };
        }
        let slot = self.slot_of_thread();
        if slot < self.slots.schedulers {
            let epoch = self.buffers.announce(slot);
            return Open { slot, epoch, records: None, ends: Ends::Announcement };
        }
        while !take(&self.slots.other) {
            spin_hint();
        }
        let epoch = self.buffers.announce(slot);
        Open { slot, epoch, records: None, ends: Ends::AnnouncementAndSlot }
    }

    /// Returns the slot of the calling thread: that of its scheduler, or the one of all others.
    fn slot_of_thread(&self) -> usize {
        let scheduler = sched::current_scheduler().and_then(|id| usize::try_from(id).ok());
        scheduler.unwrap_or(self.slots.schedulers).min(self.slots.schedulers)
    }
}

/// From this many bytes on, the memory of a commit's records is asked for. Those of shorter commits wait for one another
/// in buffers that are limited.
const ASKED_BYTES: u64 = 1 << 20;

/// Asks for the memory of a long commit's records. It may take the reserve: the commit of a deletion frees what it deleted.
/// Waits for the garbage collector.
///
/// # Errors
/// [`storage::Error::OutOfMemory`]: the transaction is rolled back.
#[cold]
fn ask_for_records(bytes: u64) -> storage::Result<()> {
    /// A buffer grows by doubling, and is moved then.
    const TIMES: u64 = 2;
    let bytes = usize::try_from(bytes.saturating_mul(TIMES)).unwrap_or(usize::MAX);
    memory::wait_for_reserve(bytes, None).map_err(|_| storage::Error::OutOfMemory)
}

/// Takes a slot if it is free.
fn take(slot: &AtomicBool) -> bool {
    // Acquire: pairs with the Release of who used it before.
    !slot.load(Ordering::Relaxed) && !slot.swap(true, Ordering::Acquire)
}

impl storage::durability::CommitLog for CommitLog {
    fn admit(&self, bytes: u64) -> storage::Result<()> {
        // No wait in a scope: its epoch is open, and no other commit of it becomes durable.
        if SCOPE.get().is_some() {
            return Ok(());
        }
        if bytes >= ASKED_BYTES {
            ask_for_records(bytes)?;
        }
        self.admit_in(self.slot_of_thread(), bytes)
    }

    fn begin(&self) -> u64 {
        let open = self.announce();
        OPEN.set(Some(open));
        open.epoch.0
    }

    fn write(&self, change: &RowChange<'_>) {
        let mut open = OPEN.get().expect("storage has announced the commit");
        let is_first = open.records.is_none();
        self.buffers.write((open.slot, open.epoch), is_first, |buffer| {
            let mut transaction = match open.records {
                Some(paused) => Transaction::resume(buffer, paused),
                None => Transaction::begin(buffer, 0, 0),
            };
            images::write(&mut transaction, change);
            open.records = Some(transaction.pause());
        });
        OPEN.set(Some(open));
    }

    fn end(&self, outcome: Outcome) {
        let open = OPEN.take().expect("storage has announced the commit");
        let is_lazy = match outcome {
            Outcome::Committed { ts, is_lazy } => {
                let is_first = open.records.is_none();
                self.buffers.write((open.slot, open.epoch), is_first, |buffer| {
                    let mut transaction = match open.records {
                        Some(paused) => Transaction::resume(buffer, paused),
                        // Without a change, too: its epoch is waited for, so it needs a group.
                        None => Transaction::begin(buffer, 0, 0),
                    };
                    transaction.set_times(ts, clock::utc_100ns());
                    transaction.end();
                });
                is_lazy
            }
            Outcome::Nothing => {
                assert!(open.records.is_none(), "a commit that fails has written nothing");
                if open.ends != Ends::Nothing {
                    self.buffers.withdraw(open.slot);
                }
                self.leave(open.ends);
                return;
            }
        };
        if open.ends != Ends::Nothing {
            self.finish(open, is_lazy);
        }
        self.leave(open.ends);
    }

    fn keeps_open(&self) -> bool {
        SCOPE.get().is_some()
    }

    fn barrier(&self) -> u64 {
        if self.planted.has(Bug::ReaderDoesNotWait) {
            return 0;
        }
        self.buffers.visible_epoch().map_or(0, |epoch| epoch.0)
    }

    fn durable(&self) -> u64 {
        self.buffers.durability().epoch.0
    }
}

impl CounterLog for CommitLog {
    fn reserve(&self, counter: CounterKey, upto: Upto) -> u64 {
        if self.planted.has(Bug::ValueReused) {
            return 0;
        }
        let open = self.announce();
        self.write_entries((open.slot, open.epoch), &[definitions::counter_entry(counter, upto)]);
        if open.ends != Ends::Nothing {
            let wake = self.buffers.finish(open.slot, open.epoch);
            self.buffers.wake_if(wake);
        }
        self.leave(open.ends);
        open.epoch.0
    }

    fn wait_for(&self, epoch: u64) {
        storage::durability::note(epoch);
    }
}

impl CommitLog {
    /// Ends a commit. On a scheduler the flush is asked for when the scheduler is out of work, once for
    /// all its commits until then: they are in one group.
    fn finish(&self, open: Open, is_lazy: bool) {
        if is_lazy {
            let wake = self.buffers.finish_lazy(open.slot, open.epoch);
            return self.buffers.wake_if(wake);
        }
        if open.slot < self.slots.schedulers && sched::put_off_to_round_end() {
            return self.buffers.finish_early(open.slot, open.epoch);
        }
        let wake = self.buffers.finish(open.slot, open.epoch);
        self.buffers.wake_if(wake);
    }

    /// Asks for a flush of what a scheduler has committed since it was asked for last.
    pub(crate) fn end_round(&self, scheduler: u32) {
        if let Some(slot) =
            usize::try_from(scheduler).ok().filter(|slot| *slot < self.slots.schedulers)
        {
            let wake = self.buffers.make_due(slot);
            self.buffers.wake_if(wake);
        }
    }

    fn leave(&self, ends: Ends) {
        if ends == Ends::AnnouncementAndSlot {
            // Release: pairs with the Acquire in `take`.
            self.slots.other.store(false, Ordering::Release);
        }
    }
}

/// One epoch for the rows and the definitions of a transaction. See [`CommitLog::scope`].
#[derive(Debug)]
pub struct Scope<'l> {
    log: &'l CommitLog,
    free: usize,
    slot: usize,
    epoch: Epoch,
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        SCOPE.set(None);
        let wake = self.log.buffers.finish(self.slot, self.epoch);
        self.log.buffers.wake_if(wake);
        // Release: pairs with the Acquire in `take`.
        self.log.slots.scopes[self.free].store(false, Ordering::Release);
    }
}
