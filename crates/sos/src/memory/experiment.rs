//! Modes that bring back how memory was handled where it did not scale, for experiments only.
//!
//! | mode | what it does | where the books show it |
//! |---|---|---|
//! | page-per-hash | a page is taken and given back around each hash | page allocations; `kernel`, `page_populate` and `decommit`, unless memory is locked; the allocator's lock |
//! | decommit-per-segment | free memory goes back to the system after each segment | `kernel`, `decommit` and `page_populate`; released bytes |
//! | allocator-lock | every extent is taken and given under one exclusive lock | `spin`, `SOS_LARGEPAGE_ALLOCATOR` |
//!
//! All are off unless the command line says so; off, they cost one relaxed load of a line that
//! nobody writes.

use super::clerk::book;
use super::{MemoryClerk, pool, trimmer};
use crate::sync::{AtomicU32, CachePadded, Ordering};

/// A mode for experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Experiment {
    /// HASHBYTES takes and gives back a page for each row.
    PagePerHash = 1,
    /// The builder of a columnstore gives its memory back to the system after each segment.
    DecommitPerSegment = 2,
    /// Extents are taken and given back under one exclusive lock.
    AllocatorLock = 4,
}

impl Experiment {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::PagePerHash, Self::DecommitPerSegment, Self::AllocatorLock];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PagePerHash => "page-per-hash",
            Self::DecommitPerSegment => "decommit-per-segment",
            Self::AllocatorLock => "allocator-lock",
        }
    }

    /// The mode of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Switches it on for the process, for good.
    pub fn switch_on(self) {
        // Relaxed: what runs a moment later may still miss it.
        MODES.fetch_or(self as u32, Ordering::Relaxed);
    }

    /// Whether it is on.
    #[inline]
    #[must_use]
    pub fn is_on(self) -> bool {
        // Relaxed: a switch that orders nothing.
        MODES.load(Ordering::Relaxed) & self as u32 != 0
    }
}

static MODES: CachePadded<AtomicU32> = CachePadded::new(AtomicU32::new(0));

/// A page that one hash has for itself, in the mode that wants it; given back when dropped.
#[derive(Debug)]
#[must_use]
pub struct HashPage {
    address: usize,
}

impl HashPage {
    /// Takes one, if the mode is on and there is memory.
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
        // SAFETY: `take_now` took it, and nobody else knows of it.
        unsafe { pool::give_bare_page(self.address) };
    }
}

/// Gives all memory that is free back to the system, on the calling thread, in the mode that wants
/// it after each segment.
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
