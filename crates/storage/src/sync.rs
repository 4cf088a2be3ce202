//! The atomics, latches and labels of `sos`.

#[cfg(not(shuttle))]
pub(crate) use sos::ledger::{Label, label, labelled};

pub(crate) use sos::lock::{SpinClass, SpinLock};
pub(crate) use sos::sync::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, CachePadded, Ordering,
};

/// A deliberate mistake that a model must catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// An autocommit write takes its time before it is linked.
    TimeBeforeLink,
    /// A hash bucket's parent is cleared before the bucket is ready.
    ClearBeforeReady,
    /// A reader of the range index does not check the leaf's version.
    LeafUnchecked,
    /// Who gives a lock back does not look for who waits for it.
    LockQueueForgotten,
    /// Who gives up a request for a lock does not look whether it has just been granted.
    LockGrantOverlooked,
    /// Who finds a deadlock gives up itself, whoever else finds it too.
    LockVictimIsWhoSearches,
    /// Who closes the gate of a table does not wait for the writers who found it open.
    GateWithoutWait,
    /// A row that was changed while the tuple mover compressed it is not deleted in the row group.
    ChangedRowShown,
    /// Rows leave the delta store before their part of the row group is shown.
    PartNotShown,
    /// Who settles a group whose move was given up shows all its rows.
    HiddenRowsShown,
    /// Who wants to change a row that has moved takes it for one that is gone.
    MovedIsGone,
    /// Who changes a row does not tell the columnstore index.
    ColumnsNotTold,
    /// A group of a columnstore index counts before the writers who have not met it have ended.
    ColumnsWithoutWait,
    /// Who collects a row of a table that another one forgets meanwhile leaves a note about it.
    ForgottenIsNoted,
    /// Who passes over changed rows minds only those who have not ended.
    PassesOverOwnedOnly,
    /// Who opens the book of a table's holds does not wait for the writers who found it closed.
    BookWithoutWait,
    /// Who enters a hold does not look for who is changing what is held.
    HoldWithoutLook,
    /// A writer looks for holds before it links its version.
    HoldsSeenBeforeLink,
    /// A statement reads without a mark that keeps what it sees.
    SnapshotUnmarked,
    /// A transaction that rests keeps no table that it has written to.
    WrittenTableFreed,
    /// Who adds a level to a directory does not look whether another has.
    LevelReplaced,
}

/// Asks for the cache line of an address, which may be none of ours: nothing is read or written.
#[inline]
pub(crate) fn prefetch(place: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch of an address that is not mapped does nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}

/// Whether the code shall make a mistake: never, but in a model that says so.
#[cfg(not(all(test, shuttle)))]
pub(crate) const fn is_mutant(_mutant: Mutant) -> bool {
    false
}

#[cfg(all(test, shuttle))]
pub(crate) use crate::models::is_mutant;

/// The ledger's labels, where there is a ledger.
#[cfg(shuttle)]
mod no_ledger {
    #[derive(Clone, Copy)]
    pub(crate) enum Label {
        Index,
        Row,
        Commit,
        Collect,
    }

    pub(crate) fn label(_: Label) {}

    #[must_use]
    pub(crate) struct LabelGuard;

    pub(crate) fn labelled(_: Label) -> LabelGuard {
        LabelGuard
    }
}

#[cfg(shuttle)]
pub(crate) use no_ledger::{Label, label, labelled};
