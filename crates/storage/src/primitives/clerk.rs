//! The memory clerk of rows and indexes: that of memory-optimized tables. A model checker has no
//! clerks, and there this does nothing.

/// Runs `allocate` with its memory charged to the clerk of memory-optimized tables.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub(crate) fn booked<R>(allocate: impl FnOnce() -> R) -> R {
    sos::memory::with_clerk(sos::memory::MemoryClerk::Xtp, allocate)
}

/// Runs `allocate` uncharged: a model checker has no clerks.
#[cfg(any(loom, shuttle))]
pub(crate) fn booked<R>(allocate: impl FnOnce() -> R) -> R {
    allocate()
}
