//! Whose the memory of rows and indexes is: the clerk of memory-optimized tables. A model checker has no clerks.

/// Books what is allocated meanwhile on that clerk.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub(crate) fn booked<R>(allocate: impl FnOnce() -> R) -> R {
    sos::memory::with_clerk(sos::memory::MemoryClerk::Xtp, allocate)
}

/// As above.
#[cfg(any(loom, shuttle))]
pub(crate) fn booked<R>(allocate: impl FnOnce() -> R) -> R {
    allocate()
}
