//! `Blocker`: a transaction that blocks another, as a value that can be kept and waited for.
//!
//! It holds a reference count on that transaction's state, so no pin is held while waiting. It also
//! records how often the transaction had taken writes back, so a wait ends when the row is free
//! again, not only when the transaction ends.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use crate::primitives::{Ordering, pin, retire_arc};
use crate::spec::{RowId, TableId};
use crate::version::state::share;
use crate::version::{RowHead, TxState, Version};

/// The mode in which a session waits for a row or a key range, which gives its wait type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// S: to read a row.
    Shared,
    /// U: to read with the intent to change.
    Update,
    /// X: to change a row.
    Exclusive,
    /// RangeS-S: to read a range of keys.
    RangeShared,
    /// RangeS-U: to read a range of keys with the intent to change its rows.
    RangeUpdate,
    /// RangeX-X: to change the rows of a range of keys.
    RangeExclusive,
    /// A new row in a key range that another transaction has locked.
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

    /// Returns the mode's name, as `sys.dm_tran_locks` has it.
    #[must_use]
    pub const fn short_name(self) -> &'static str {
        match self {
            Self::Shared => "S",
            Self::Update => "U",
            Self::Exclusive => "X",
            Self::RangeShared => "RangeS-S",
            Self::RangeUpdate => "RangeS-U",
            Self::RangeExclusive => "RangeX-X",
            Self::RangeInsert => "RangeI-N",
        }
    }
}

/// A transaction that blocks another. Holds a reference count on its state.
pub(crate) struct Blocker {
    pub(crate) state: ManuallyDrop<Arc<TxState>>,
    pub(crate) undos: u32,
    /// Whether it blocks by a row lock, and not by a version that it wrote.
    pub(crate) is_hold: bool,
    pub(crate) wait: LockWait,
    /// The row that it owns, if it blocks by a version.
    pub(crate) row: Option<RowId>,
    /// The table of that row, where the one that waits has noted it.
    pub(crate) table: Option<TableId>,
}

impl Blocker {
    /// Records that `state` owns the row whose newest version was `top`.
    pub(crate) fn new(state: &TxState, head: &RowHead, top: *mut Version) -> Self {
        let undos = state.undos.load(Ordering::SeqCst);
        // If the owner took its version back before `undos` was read, no later undo will announce
        // it: a count of the past makes the wait end at once.
        let undos = if head.latest() == top { undos } else { undos.wrapping_sub(1) };
        let state = ManuallyDrop::new(share(state));
        let (wait, row) = (LockWait::Exclusive, Some(head.id()));
        Self { state, undos, is_hold: false, wait, row, table: None }
    }

    /// Records that `state` holds or awaits a row lock, in a book that the caller has locked.
    pub(crate) fn of_hold(state: &TxState, wait: LockWait) -> Self {
        let undos = state.taken_back(true);
        let state = ManuallyDrop::new(share(state));
        Self { state, undos, is_hold: true, wait, row: None, table: None }
    }

    /// Returns the same blocker, with another wait type.
    pub(crate) fn booked_as(self, wait: LockWait) -> Self {
        let mut blocker = self;
        blocker.wait = wait;
        blocker
    }

    /// Returns the same blocker, with the table of its row.
    pub(crate) fn in_table(self, table: TableId) -> Self {
        let mut blocker = self;
        blocker.table = Some(table);
        blocker
    }

    /// Returns the row that it owns, and its table, where both are known.
    pub(crate) fn place(&self) -> Option<(TableId, RowId)> {
        self.table.zip(self.row)
    }

    /// Returns the session that it belongs to; 0 if to none.
    pub(crate) fn session(&self) -> u32 {
        self.state.session
    }

    /// Returns the address under which its waiters park.
    pub(crate) fn key(&self) -> usize {
        self.state.key()
    }

    pub(crate) fn is_in_the_way(&self) -> bool {
        !self.state.status().is_final() && self.state.taken_back(self.is_hold) == self.undos
    }
}

impl Clone for Blocker {
    fn clone(&self) -> Self {
        let Self { undos, is_hold, wait, row, table, .. } = *self;
        let state = ManuallyDrop::new(share(&self.state));
        Self { state, undos, is_hold, wait, row, table }
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
