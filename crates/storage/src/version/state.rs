//! `TxState`: the outcome of a transaction in one word, and how many wait for it.
//!
//! ```text
//! Active ──► Committing ──────────────────────────► Committed(ts)
//!   │  └───► Validating ──► Validating(ts) ──► Committed(ts)
//!   └──────────────────────────────┴──────────────► Aborted
//! ```
//! A committing transaction first publishes `Committing` and only then takes its timestamp. A
//! reader that meets `Committing` (or `Validating` without a time) helps: it takes a fresh
//! timestamp and stores it. That time is above the reader's snapshot, so the reader need not wait
//! and its snapshot stays stable.

use std::sync::Arc;

use crate::durability::EpochMark;
use crate::primitives::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Clock, Ordering, Timestamp, let_others_run,
};

/// The status of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TxStatus {
    Active,
    Committing,
    ValidatingSoon,
    Validating(Timestamp),
    Committed(Timestamp),
    Aborted,
}

const TAG_BITS: u32 = 3;

impl TxStatus {
    fn encode(self) -> u64 {
        match self {
            Self::Active => 0,
            Self::Committing => 1,
            Self::ValidatingSoon => 2,
            Self::Validating(ts) => ts.0 << TAG_BITS | 3,
            Self::Committed(ts) => ts.0 << TAG_BITS | 4,
            Self::Aborted => 5,
        }
    }

    fn decode(word: u64) -> Self {
        let ts = Timestamp(word >> TAG_BITS);
        match word & ((1 << TAG_BITS) - 1) {
            0 => Self::Active,
            1 => Self::Committing,
            2 => Self::ValidatingSoon,
            3 => Self::Validating(ts),
            4 => Self::Committed(ts),
            _ => Self::Aborted,
        }
    }

    /// Returns whether the transaction has ended.
    pub(crate) fn is_final(self) -> bool {
        match self {
            Self::Committed(_) | Self::Aborted => true,
            Self::Active | Self::Committing | Self::ValidatingSoon | Self::Validating(_) => false,
        }
    }
}

/// The shared part of a transaction that has written. Aligned so that a version can hold its
/// address and a tag in one word.
#[repr(align(64))]
pub(crate) struct TxState {
    word: AtomicU64,
    /// The transaction that this one waits for, or null; followed by the deadlock search.
    pub(crate) waiting_for: AtomicPtr<TxState>,
    /// Incremented when the transaction takes writes back before it ends.
    pub(crate) undos: AtomicU32,
    /// Incremented when the transaction releases a row lock, or leaves a queue, before its end.
    pub(crate) withdrawals: AtomicU32,
    /// The `undos` or `withdrawals` of `waiting_for` when the wait began.
    pub(crate) waiting_undos: AtomicU32,
    /// Whether the wait is for a row lock: then `withdrawals` are compared, else `undos`.
    pub(crate) waits_for_hold: AtomicBool,
    /// The number of threads that wait for this transaction.
    pub(crate) waiters: AtomicU32,
    /// What its versions keep of its epoch: an [`EpochMark`], set before it commits.
    mark: AtomicU32,
    /// The session that it belongs to; 0 if to none.
    pub(crate) session: u32,
    /// Whether it may last long.
    pub(crate) pace: Pace,
}

/// Whether a transaction may last long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// As long as its client likes.
    Any,
    /// It never waits and ends at once: others wait for it whatever their hints and timeouts.
    Brief,
}

impl TxState {
    pub(crate) fn new(session: u32, pace: Pace) -> Arc<Self> {
        Arc::new(Self {
            word: AtomicU64::new(TxStatus::Active.encode()),
            waiting_for: AtomicPtr::new(std::ptr::null_mut()),
            undos: AtomicU32::new(0),
            withdrawals: AtomicU32::new(0),
            waiting_undos: AtomicU32::new(0),
            waits_for_hold: AtomicBool::new(false),
            waiters: AtomicU32::new(0),
            mark: AtomicU32::new(EpochMark::NONE.0),
            session,
            pace,
        })
    }

    /// Lets other requests run, unless the transaction is brief.
    pub(crate) fn pause(&self) {
        if self.pace == Pace::Any {
            let_others_run();
        }
    }

    pub(crate) fn status(&self) -> TxStatus {
        // Acquire: pairs with the Release of `set`; SeqCst orders it with `waiting_for`.
        TxStatus::decode(self.word.load(Ordering::SeqCst))
    }

    /// Sets the status. Only the owner may call this.
    pub(crate) fn set(&self, status: TxStatus) {
        self.word.store(status.encode(), Ordering::SeqCst);
    }

    /// Returns what the versions keep of the epoch, once the transaction is committing.
    pub(crate) fn mark(&self) -> EpochMark {
        // Relaxed: the status, which was read before, orders it.
        EpochMark(self.mark.load(Ordering::Relaxed))
    }

    /// Sets the mark. Only the owner may call this, before it sets a status of a commit.
    pub(crate) fn set_mark(&self, mark: EpochMark) {
        self.mark.store(mark.0, Ordering::Relaxed);
    }

    /// Returns how often the transaction has taken back writes, or row locks, before it ended.
    pub(crate) fn taken_back(&self, is_hold: bool) -> u32 {
        let count = if is_hold { &self.withdrawals } else { &self.undos };
        count.load(Ordering::SeqCst)
    }

    /// Returns the address under which waiters park.
    pub(crate) fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Takes the timestamp of a commit that has none yet; any thread may. Returns the status.
    pub(crate) fn help(&self, clock: &Clock) -> TxStatus {
        loop {
            let current = self.status();
            let next = match current {
                TxStatus::Committing => TxStatus::Committed(clock.commit()),
                TxStatus::ValidatingSoon => TxStatus::Validating(clock.commit()),
                TxStatus::Active
                | TxStatus::Validating(_)
                | TxStatus::Committed(_)
                | TxStatus::Aborted => return current,
            };
            // Losing means that another helper's timestamp counts: read it.
            let _ = self.word.compare_exchange(
                current.encode(),
                next.encode(),
                Ordering::SeqCst,
                Ordering::SeqCst,
            );
        }
    }
}

/// Takes a reference count on a state that is known to be alive.
pub(crate) fn share(state: &TxState) -> Arc<TxState> {
    let pointer = std::ptr::from_ref(state);
    // SAFETY: every state lives in an Arc, and this one is alive (counted through the guard).
    unsafe { Arc::increment_strong_count(pointer) };
    // SAFETY: takes over the count just added.
    unsafe { Arc::from_raw(pointer) }
}

/// Wakes the waiters after `owner` has taken writes back without ending.
pub(crate) fn announce_undo(owner: &TxState) {
    owner.undos.fetch_add(1, Ordering::SeqCst);
    wake_waiters(owner);
}

/// Wakes the waiters after `owner` has released a row lock or left a queue without ending.
pub(crate) fn announce_withdrawal(owner: &TxState) {
    owner.withdrawals.fetch_add(1, Ordering::SeqCst);
    wake_waiters(owner);
}

/// Wakes the threads that wait for `ended`, which has ended or has announced an undo.
pub(crate) fn wake_waiters(ended: &TxState) {
    // SeqCst: pairs with the increment in `block` (`transaction/wait.rs`). Either this sees the
    // waiter, or the waiter sees the change that was stored before.
    if ended.waiters.load(Ordering::SeqCst) != 0 {
        #[cfg(not(any(loom, shuttle)))]
        sos::park::unpark_all(ended.key());
    }
}
