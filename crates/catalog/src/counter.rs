//! Counters that survive a crash: a value once given out is never given out again.
//!
//! A counter does not log each value. It reserves a block of values with one record in the log and
//! gives them out from memory. After a crash it goes on behind the last reserved block, so the rest
//! of that block is skipped, as SQL Server skips cached identity and sequence values.
//!
//! ```text
//!   given out         reserved, still in memory     not reserved
//!  ───────────────┬──────────────────────────────┬────────────────
//!                next                         reserved: in the log
//! ```
//!
//! Without a log the bound is the largest number, and the slow path is never taken.

use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};
use sos::sync::{AtomicI64, AtomicU64, Ordering};
use storage::TableId;

/// The name of a counter in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CounterKey {
    /// Ids of objects, unique in the instance.
    ObjectId,
    /// Ids of storage tables.
    StorageId,
    /// Values of `rowversion` columns.
    RowVersion,
    /// Values of NEWSEQUENTIALID() in all databases.
    SequentialId,
    /// Identity values of the table with this storage.
    Identity(TableId),
    /// Values of the sequence whose counter has this key.
    Sequence(i32),
}

/// The position at which a counter goes on after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upto {
    /// The value that is given out next.
    pub next: i64,
    /// Whether a sequence without CYCLE has given out its last value.
    pub exhausted: bool,
}

impl Upto {
    /// Makes the position of a counter that is not exhausted.
    pub fn at(next: i64) -> Self {
        Self { next, exhausted: false }
    }
}

/// The log that counters reserve their blocks in.
///
/// Calls for one counter come one at a time. The record of the latest call is the valid one, even
/// if its position is lower than that of an earlier call: a counter can be reset.
pub trait CounterLog: Send + Sync {
    /// Logs that after a crash the counter goes on at `upto`. Returns the epoch with which the
    /// record becomes durable. Is called under a spinlock: neither blocks nor waits for a disk.
    fn reserve(&self, counter: CounterKey, upto: Upto) -> u64;

    /// Makes the reply of the running request wait until an epoch is durable. Called for values
    /// that leave the server without a commit.
    fn wait_for(&self, epoch: u64);
}

/// A rising counter of the instance.
pub(crate) struct Reserved {
    next: AtomicI64,
    /// Bound of the reserved values; `i64::MAX` without a log.
    bound: AtomicI64,
    /// Epoch of the last reservation.
    epoch: AtomicU64,
    /// Makes reservations one at a time.
    reserving: SpinLock<()>,
    key: CounterKey,
    /// Number of values in a block, times the step between two of them.
    block: i64,
}

impl Reserved {
    pub(crate) fn new(key: CounterKey, first: i64, block: i64) -> Self {
        Self {
            next: AtomicI64::new(first),
            bound: AtomicI64::new(i64::MAX),
            epoch: AtomicU64::new(0),
            reserving: SpinLock::new(SpinClass::ServerOther, ()),
            key,
            block,
        }
    }

    /// Takes the next value.
    pub(crate) fn take(&self, step: i64, log: &LogSlot) -> i64 {
        // Relaxed: only uniqueness is needed.
        let value = self.next.fetch_add(step, Ordering::Relaxed);
        // Acquire: pairs with the Release in `reserve`, so that the record is in the log before
        // any change with this value.
        if value >= self.bound.load(Ordering::Acquire) {
            self.reserve(step, log);
        }
        value
    }

    #[cold]
    fn reserve(&self, step: i64, log: &LogSlot) {
        let one = self.reserving.lock();
        // Relaxed: the lock orders reservations. `next` is behind the value that was just taken.
        let next = self.next.load(Ordering::Relaxed);
        if next.saturating_sub(step) < self.bound.load(Ordering::Relaxed) {
            return;
        }
        let bound = next.saturating_add(self.block);
        if let Some(log) = log.get() {
            let epoch = log.reserve(self.key, Upto::at(bound));
            // Relaxed: read after `bound`, which is stored below.
            self.epoch.store(epoch, Ordering::Relaxed);
        }
        // Release: pairs with the Acquire in `take`.
        self.bound.store(bound, Ordering::Release);
        drop(one);
    }

    /// Returns the value that is taken next.
    pub(crate) fn peek(&self) -> i64 {
        // Relaxed: it orders no other memory.
        self.next.load(Ordering::Relaxed)
    }

    /// Makes the reply wait until the values given out so far are durable.
    pub(crate) fn wait(&self, log: &LogSlot) {
        if let Some(log) = log.get() {
            // Acquire: pairs with the Release in `reserve`.
            let _ = self.bound.load(Ordering::Acquire);
            log.wait_for(self.epoch.load(Ordering::Relaxed));
        }
    }

    /// Makes the next value reserve a block: the counter has a log from now on.
    pub(crate) fn attach(&self) {
        self.bound.store(i64::MIN, Ordering::Release);
    }

    /// Goes on at a position read from the log, unless the counter is behind it already.
    pub(crate) fn restore(&self, upto: Upto) {
        self.next.fetch_max(upto.next, Ordering::Relaxed);
    }

    /// Returns the position for a checkpoint: behind the reserved block, or the exact one if no
    /// value will be taken any more.
    pub(crate) fn position(&self, exact: bool) -> (CounterKey, Upto) {
        // No reservation is between its record in the log and the bound.
        let one = self.reserving.lock();
        let (next, bound) = (self.peek(), self.bound.load(Ordering::Acquire));
        drop(one);
        let reserved = if bound == i64::MAX { next } else { bound.max(next) };
        (self.key, Upto::at(if exact { next } else { reserved }))
    }
}

/// The log of an instance's counters, once it is open.
pub(crate) type LogSlot = sos::sync::OnceLock<Arc<dyn CounterLog>>;
