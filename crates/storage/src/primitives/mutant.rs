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
    /// A node goes on sharing words that a new key does not start with.
    SharedWordsKept,
    /// Merging the trees of a range index shows what is behind the end of a run that has more.
    RunsUncut,
    /// A thread that makes a tree of a range index may hide one that another has just made.
    TreesCutOff,
    /// A session that releases a lock does not grant it to the requests that wait.
    LockQueueForgotten,
    /// A session that gives up a lock request does not check whether it has just been granted.
    LockGrantOverlooked,
    /// Deadlock: the session that finds the cycle becomes the victim, even if another finds it too.
    LockVictimIsWhoSearches,
    /// Closing the gate of a table does not wait for the writers that found it open.
    GateWithoutWait,
    /// A row that was changed while the tuple mover compressed it is not deleted in the row group.
    ChangedRowShown,
    /// Rows leave the delta store before their part of the row group is shown.
    PartNotShown,
    /// Settling a row group after an interrupted move shows all its rows.
    HiddenRowsShown,
    /// A writer takes a row that has moved to a row group for one that is deleted.
    MovedIsGone,
    /// A writer does not clear the row's bit in the columnstore index.
    ColumnsNotTold,
    /// A group of a columnstore index is used before the writers that did not see it have ended.
    ColumnsWithoutWait,
    /// Collecting a row leaves a note about its table while the table's notes are purged.
    ForgottenIsNoted,
    /// READPAST skips only rows whose changing transaction has not ended.
    PassesOverOwnedOnly,
    /// Opening the lock book of a table does not wait for the writers that found it closed.
    BookWithoutWait,
    /// A reader that enters a row lock does not look for transactions that are changing the row.
    HoldWithoutLook,
    /// A reader that takes a row lock back takes back the weaker ones that it had before, too.
    OlderHoldsWithdrawn,
    /// A writer looks for row locks before it links its version.
    HoldsSeenBeforeLink,
    /// A statement reads without publishing its snapshot, so the versions it sees may be freed.
    SnapshotUnmarked,
    /// A transaction that is idle between statements does not keep its written tables.
    WrittenTableFreed,
    /// A reader does not note the epoch of the version that it found.
    SeenNotNoted,
    /// A reader that stamps the version of a transaction leaves out its mark.
    HelpedUnmarked,
    /// A commit is announced after its timestamp was taken.
    AnnouncedAfterTime,
    /// A scan notes the barrier before its snapshot is taken.
    BarrierBeforeSnapshot,
    /// Versions are collected though the commits that replaced them are not durable.
    CollectedBeforeDurable,
    /// Two logged changes of a row may have the same timestamp.
    EqualTimes,
    /// A checkpoint does not wait for the writers that may have seen the one before.
    CheckpointWithoutWait,
    /// A writer sets the generation of a range to one that it read a while ago.
    RangeSetBack,
    /// A head that is given to another row is not marked.
    ReuseUnmarked,
    /// It is marked when the new row can be seen already.
    ReuseMarkedLate,
    /// A reader asks for the mark of a head before it reads the version.
    MarkReadFirst,
    /// A head is free as soon as no index leads to it, whatever snapshots there are.
    HeadFreedAtOnce,
    /// A transaction that picks among rows does not look for others that do.
    PickersUnseen,
    /// Its note at the table ends before its commit is visible.
    PickEndsEarly,
    /// Adding a level to a directory replaces a level that another thread has just added.
    LevelReplaced,
}

/// Returns whether the code shall make this mistake: only in a model that asked for it.
#[cfg(not(all(test, shuttle)))]
pub(crate) const fn is_mutant(_mutant: Mutant) -> bool {
    false
}

#[cfg(all(test, shuttle))]
thread_local! {
    /// The mutant that the models of this thread run with. shuttle runs a model's threads on the
    /// thread that calls it, so tests that run side by side do not share mutants.
    pub(crate) static MUTANT: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

#[cfg(all(test, shuttle))]
pub(crate) fn is_mutant(mutant: Mutant) -> bool {
    MUTANT.get() == Some(mutant)
}
