//! Mutants: deliberate mistakes, one for each rule of this crate, that a model or a crash test must
//! catch.

/// A deliberate mistake that a model must catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// A commit does not look at the epoch again after it has announced it.
    EpochNotSeenAgain,
    /// The log thread has no fence between raising the epoch and looking for announcements.
    NoFenceBeforeScan,
    /// The log thread does not wait for commits that have announced an epoch that is closed.
    AnnouncementsIgnored,
    /// Both epochs that may be open at a time use one buffer.
    OneBuffer,
    /// Epochs are published as durable before their group is written.
    PublishedBeforeWrite,
    /// A commit has no fence between its announcement's end and the look at the log thread's sleep.
    NoFenceBeforeWake,
    /// What was ended early is not made due.
    NeverDue,
    /// The log thread sleeps without looking for commits once more.
    SleepWithoutLook,
    /// The log thread sleeps until it is woken though commits with delayed durability wait.
    LazyNotSeen,
    /// A new segment's name is not made durable before batches are written to it.
    FolderNotSynced,
    /// A segment after those that a checkpoint covers is recycled with them.
    RecycledTooEarly,
    /// A failure of the keeper does not come back to the log thread.
    KeeperFailureDropped,
    /// The log thread's end of a wait takes the request to stop back with its own.
    StopForgotten,
    /// A payload's checksum is not compared.
    ChecksumIgnored,
    /// A sync that has failed is tried again.
    SyncRetried,
    /// A group that was read is taken for durable, after a sync that may have failed.
    ReadIsDurable,
    /// A manifest is published before the files that it names are durable.
    CheckpointFilesNotSynced,
    /// A manifest is published before the names of its files are durable.
    CheckpointFolderNotSynced,
    /// Files are removed before the manifest that does not name them counts.
    RemovedBeforePublished,
    /// Files are removed on opening, for a manifest whose rename may not be durable.
    ManifestNotPublishedAgain,
    /// A segment behind the end of the log is removed without being made void before.
    RemovedNotVoid,
    /// Batches of a group without its end are taken for good.
    TornGroupKept,
}

/// Returns whether the code shall make this mistake: only in a model that asked for it.
#[cfg(not(test))]
pub(crate) const fn is_mutant(_mutant: Mutant) -> bool {
    false
}

#[cfg(test)]
thread_local! {
    /// The mutant of this thread. loom runs a model's threads on the thread that calls it.
    pub(crate) static MUTANT: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

#[cfg(test)]
pub(crate) fn is_mutant(mutant: Mutant) -> bool {
    MUTANT.get() == Some(mutant)
}
