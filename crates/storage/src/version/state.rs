//! `TxState`: the outcome of a transaction in one word, and who waits for it.
//!
//! ```text
//! Active ──► Committing ──────────────────────────► Committed(ts)
//!   │  └───► Validating ──► Validating(ts) ──► Committed(ts)
//!   └──────────────────────────────┴──────────────► Aborted
//! ```
//! A committer first publishes `Committing` and only then takes its timestamp. Whoever meets
//! `Committing` (or `Validating` without a time) helps: it takes a fresh timestamp and puts it in. That
//! time is above the helper's snapshot, so the helper need not wait and its snapshot stays stable.

use std::sync::Arc;

use crate::primitives::clock::{Clock, Timestamp};
use crate::primitives::sync::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Where a transaction stands.
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

    /// Tells whether the outcome is known.
    pub(crate) fn is_final(self) -> bool {
        match self {
            Self::Committed(_) | Self::Aborted => true,
            Self::Active | Self::Committing | Self::ValidatingSoon | Self::Validating(_) => false,
        }
    }
}

/// The shared part of a transaction that has written. Aligned so that versions can tag its address.
#[repr(align(64))]
pub(crate) struct TxState {
    word: AtomicU64,
    /// The transaction that this one waits for, or null; read by the deadlock search.
    pub(crate) waiting_for: AtomicPtr<TxState>,
    /// Goes up when the transaction takes writes back before it ends.
    pub(crate) undos: AtomicU32,
    /// Goes up when the transaction takes back a hold before it ends, or leaves a queue for one.
    pub(crate) withdrawals: AtomicU32,
    /// The `undos` or `withdrawals` of whom `waiting_for` names, as they were when the wait began.
    pub(crate) waiting_undos: AtomicU32,
    /// Whether it waits for a hold: then `withdrawals` count.
    pub(crate) waits_for_hold: AtomicBool,
    /// How many wait for the end of this one.
    pub(crate) waiters: AtomicU32,
    /// The session it belongs to; 0 if to none.
    pub(crate) session: u32,
    /// How long it lasts.
    pub(crate) pace: Pace,
}

/// How long a transaction lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// As long as its client likes.
    Any,
    /// It waits for nobody and is over at once: who meets it waits for it, whatever he does about others.
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
            session,
            pace,
        })
    }

    pub(crate) fn status(&self) -> TxStatus {
        // Acquire: pairs with the Release of `set` and `advance`; SeqCst orders it with `waiting_for`.
        TxStatus::decode(self.word.load(Ordering::SeqCst))
    }

    /// Sets the status; the owner's alone to call.
    pub(crate) fn set(&self, status: TxStatus) {
        self.word.store(status.encode(), Ordering::SeqCst);
    }

    /// Returns how often the transaction has taken back what others may wait for: writes, or holds.
    pub(crate) fn taken_back(&self, is_hold: bool) -> u32 {
        let count = if is_hold { &self.withdrawals } else { &self.undos };
        count.load(Ordering::SeqCst)
    }

    /// Returns the address to park under.
    pub(crate) fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Puts a fresh timestamp where one is missing, whoever calls; returns the status then.
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
            // Losing means another helper's timestamp counts; read it.
            let _ = self.word.compare_exchange(
                current.encode(),
                next.encode(),
                Ordering::SeqCst,
                Ordering::SeqCst,
            );
        }
    }
}

/// Takes a count on a state that is known to be alive.
pub(crate) fn share(state: &TxState) -> Arc<TxState> {
    let pointer = std::ptr::from_ref(state);
    // SAFETY: every state lives in an Arc, and this one is alive (counted through the guard).
    unsafe { Arc::increment_strong_count(pointer) };
    // SAFETY: takes over the count just added.
    unsafe { Arc::from_raw(pointer) }
}

/// Tells the waiters that `owner` has taken writes back, though it has not ended.
pub(crate) fn announce_undo(owner: &TxState) {
    owner.undos.fetch_add(1, Ordering::SeqCst);
    wake_waiters(owner);
}

/// Tells the waiters that `owner` has taken back a hold, or has left a queue, though it has not ended.
pub(crate) fn announce_withdrawal(owner: &TxState) {
    owner.withdrawals.fetch_add(1, Ordering::SeqCst);
    wake_waiters(owner);
}

/// Wakes whoever waits for `ended`, which is final or has announced an undo.
pub(crate) fn wake_waiters(ended: &TxState) {
    // SeqCst: pairs with the increment in `block`. Either this sees the waiter, or the waiter sees the
    // change that was stored before.
    if ended.waiters.load(Ordering::SeqCst) != 0 {
        #[cfg(not(any(loom, shuttle)))]
        sos::park::unpark_all(ended.key());
    }
}
