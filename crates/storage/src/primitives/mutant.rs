//! Mutants: deliberate mistakes, one for each rule of the concurrent code, that a model must catch.

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

#[cfg(all(test, shuttle))]
pub(crate) use crate::models::is_mutant;

/// Whether the code shall make a mistake: never, but in a model that says so.
#[cfg(not(all(test, shuttle)))]
pub(crate) const fn is_mutant(_mutant: Mutant) -> bool {
    false
}
