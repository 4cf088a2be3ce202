//! `Blocker`: a transaction that is in the way of another, as a value that can be kept and waited for.
//!
//! It counts on the transaction's state, so no pin is held while waiting. It notes how often that
//! transaction had taken writes back, so a wait ends when the row is free again, not only when the
//! transaction ends.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use crate::primitives::epoch::{pin, retire_arc};
use crate::primitives::sync::Ordering;
use crate::version::head::RowHead;
use crate::version::layout::Version;
use crate::version::state::{TxState, share};

/// What is waited for, as the ledger books it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockWait {
    Shared,
    Update,
    Exclusive,
    RangeShared,
    RangeUpdate,
    RangeExclusive,
    /// A new row, where somebody holds the range.
    RangeInsert,
}

impl LockWait {
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) const fn wait_type(self) -> sos::wait::WaitType {
        use sos::wait::WaitType;
        match self {
            Self::Shared => WaitType::LockShared,
            Self::Update => WaitType::LockUpdate,
            Self::Exclusive => WaitType::LockExclusive,
            Self::RangeShared => WaitType::LockRangeShared,
            Self::RangeUpdate => WaitType::LockRangeUpdate,
            Self::RangeExclusive => WaitType::LockRangeExclusive,
            Self::RangeInsert => WaitType::LockRangeInsert,
        }
    }
}

/// A transaction that is in the way. Counts on its state.
pub(crate) struct Blocker {
    pub(crate) state: ManuallyDrop<Arc<TxState>>,
    pub(crate) undos: u32,
    /// Whether it is a hold that is in the way, and no version.
    pub(crate) is_hold: bool,
    pub(crate) wait: LockWait,
}

impl Blocker {
    /// Notes that `state` owns the row whose newest version was `top`.
    pub(crate) fn new(state: &TxState, head: &RowHead, top: *mut Version) -> Self {
        let undos = state.undos.load(Ordering::SeqCst);
        // If the owner has taken its version back before `undos` was read, nobody would say so again:
        // a number that has passed makes the wait end at once.
        let undos = if head.latest() == top { undos } else { undos.wrapping_sub(1) };
        let state = ManuallyDrop::new(share(state));
        Self { state, undos, is_hold: false, wait: LockWait::Exclusive }
    }

    /// Notes that `state`, which is in a book whose lock the caller has, holds something there or queues for it.
    pub(crate) fn of_hold(state: &TxState, wait: LockWait) -> Self {
        let undos = state.taken_back(true);
        Self { state: ManuallyDrop::new(share(state)), undos, is_hold: true, wait }
    }

    /// The same, booked as another wait.
    pub(crate) fn booked_as(self, wait: LockWait) -> Self {
        let mut blocker = self;
        blocker.wait = wait;
        blocker
    }

    /// The session that it belongs to; 0 if to none.
    pub(crate) fn session(&self) -> u32 {
        self.state.session
    }

    /// The address under which to wait for it.
    pub(crate) fn key(&self) -> usize {
        self.state.key()
    }

    pub(crate) fn is_in_the_way(&self) -> bool {
        !self.state.status().is_final() && self.state.taken_back(self.is_hold) == self.undos
    }
}

impl Clone for Blocker {
    fn clone(&self) -> Self {
        let Self { undos, is_hold, wait, .. } = *self;
        Self { state: ManuallyDrop::new(share(&self.state)), undos, is_hold, wait }
    }
}

impl std::fmt::Debug for Blocker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blocker").field("session", &self.session()).finish_non_exhaustive()
    }
}

impl Drop for Blocker {
    fn drop(&mut self) {
        // SAFETY: taken once, here.
        let state = unsafe { ManuallyDrop::take(&mut self.state) };
        retire_arc(&pin(), state);
    }
}
