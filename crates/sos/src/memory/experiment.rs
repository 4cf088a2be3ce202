//! Modes that restore older, unscalable ways to handle memory. For experiments only.
//!
//! | mode | what it does | where the ledger shows it |
//! |---|---|---|
//! | page-per-hash | a page is taken and freed around each hash | page allocations; `kernel`, `page_populate` and `decommit`, unless memory is locked; the allocator's lock |
//! | decommit-per-segment | free memory is returned to the system after each segment | `kernel`, `decommit` and `page_populate`; released bytes |
//! | allocator-lock | every extent is taken and freed under one exclusive lock | `spin`, `SOS_LARGEPAGE_ALLOCATOR` |
//!
//! All are off unless the command line turns them on; when off, each costs one relaxed load of a
//! cache line that is never written.

use super::clerk::book;
use super::{MemoryClerk, pool, trimmer};
use crate::sync::{AtomicU32, CachePadded, Ordering};

/// A mode for experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Experiment {
    /// HASHBYTES takes and frees a page for each row.
    PagePerHash = 1,
    /// The columnstore builder returns its free memory to the system after each segment.
    DecommitPerSegment = 2,
    /// Extents are taken and freed under one exclusive lock.
    AllocatorLock = 4,
}

impl Experiment {
    /// Every mode, in order.
    pub const ALL: [Self; 3] = [Self::PagePerHash, Self::DecommitPerSegment, Self::AllocatorLock];

    /// The mode's name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PagePerHash => "page-per-hash",
            Self::DecommitPerSegment => "decommit-per-segment",
            Self::AllocatorLock => "allocator-lock",
        }
    }

    /// The mode with this name; `None` if there is none.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Switches the mode on for the process; it cannot be switched off.
    pub fn switch_on(self) {
        // Relaxed: code that runs a moment later may still see the old value.
        MODES.fetch_or(self as u32, Ordering::Relaxed);
    }

    /// Whether the mode is on.
    #[inline]
    #[must_use]
    pub fn is_on(self) -> bool {
        // Relaxed: a switch that orders nothing.
        MODES.load(Ordering::Relaxed) & self as u32 != 0
    }
}

static MODES: CachePadded<AtomicU32> = CachePadded::new(AtomicU32::new(0));

/// A page that one hash takes for itself in mode `page-per-hash`; freed when dropped.
#[derive(Debug)]
#[must_use]
pub struct HashPage {
    address: usize,
}

impl HashPage {
    /// Takes a page, if the mode is on and there is memory.
    #[inline]
    pub fn take() -> Option<Self> {
        if Experiment::PagePerHash.is_on() { Self::take_now() } else { None }
    }

    #[cold]
    fn take_now() -> Option<Self> {
        let address = pool::take_bare_page()?;
        book(
            MemoryClerk::QueryExec,
            super::signed(super::class::PAGE_BYTES),
            super::class::PAGE_BYTES,
        );
        Some(Self { address })
    }
}

impl Drop for HashPage {
    fn drop(&mut self) {
        let bytes = super::class::PAGE_BYTES;
        book(MemoryClerk::QueryExec, -super::signed(bytes), bytes);
        // SAFETY: `take_now` took it, and its address has not been passed on.
        unsafe { pool::give_bare_page(self.address) };
    }
}

/// In mode `decommit-per-segment`, returns all free memory to the system on the calling thread.
#[inline]
pub fn after_segment() {
    if Experiment::DecommitPerSegment.is_on() {
        trimmer::release_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_known_by_its_name() {
        for mode in Experiment::ALL {
            assert_eq!(Experiment::of_name(mode.name()), Some(mode));
        }
        assert_eq!(Experiment::of_name("none"), None);
    }
}
