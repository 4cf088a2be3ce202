//! How encoding uses memory: its clerk, and an experiment that gives memory back.

/// Runs `work` with its memory charged to the clerk of columnstores.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn booked<R>(work: impl FnOnce() -> R) -> R {
    sos::memory::with_clerk(sos::memory::MemoryClerk::ColumnStore, work)
}

/// Returns whether the experiment is on that gives memory back after each segment.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn gives_back() -> bool {
    sos::memory::experiment::Experiment::DecommitPerSegment.is_on()
}

/// Gives free memory back to the system, for that experiment.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn give_back() {
    sos::memory::experiment::after_segment();
}

#[cfg(any(loom, shuttle))]
pub(crate) fn booked<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(any(loom, shuttle))]
pub(crate) const fn gives_back() -> bool {
    false
}

#[cfg(any(loom, shuttle))]
pub(crate) const fn give_back() {}
