//! `Slices`: which slices of one unit of the heap are in use and which are populated, in one word.
//!
//! | in use | populated | the slice                                                             |
//! |--------|-----------|-----------------------------------------------------------------------|
//! | no     | no        | is as it was at the start                                             |
//! | yes    | yes       | belongs to mimalloc                                                   |
//! | no     | yes       | is free                                                               |
//! | yes    | no        | is being returned to the system; a thread that wants it waits         |
//!
//! Where the kernel has huge pages, a unit is populated as a whole when its first slice is taken.
//! When an eighth of it is free for long, the trimmer splits it: from then on its slices are
//! populated one by one, until none of them is populated, or nearly all are in use.
//!
//! Checked by `tests/loom_memory.rs`: no thread uses a slice whose memory is being returned.
//! Mutants must fail.

use std::marker::PhantomData;

use crate::lock::Proven;
use crate::sync::{AtomicU64, Ordering, spin_hint};

/// Slices of a unit. Each has two bits in the word: in the lower half whether it is in use, in the
/// upper half whether it is populated.
pub(super) const UNIT_SLICES: usize = 32;
/// The set of all slices of a unit.
pub const WHOLE: u64 = (1 << UNIT_SLICES) - 1;
/// A huge page is split when at least one such part of it is free: a compromise between memory and
/// TLB entries. jemalloc makes memory a huge page when 95 % of it is in use
/// (`hpa_hugification_threshold`).
pub(super) const FREE_OF_HUGE_PART: usize = 8;

/// How a unit is populated, and how its memory is returned to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// Slice by slice; units of extents slot by slot.
    Slices,
    /// Populated as a whole; returned as a whole, or by slices when enough are free.
    Units,
    /// Populated as a whole, and returned only as a whole.
    WholeUnits,
}

/// Memory that is about to be returned to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Going {
    /// The slices whose memory is returned.
    pub slices: u64,
    /// Whether this splits a unit that was populated as a whole.
    pub is_first: bool,
    /// Whether nothing of a unit that may have been split stays populated: its next first slice
    /// populates all of it.
    pub is_last: bool,
}

/// The orderings of [`Slices`]; other than [`Proven`] only in tests that must fail.
pub trait SliceOrders {
    /// The ordering of the exchange that takes slices.
    const TAKE: Ordering;
    /// The ordering of the operation that frees them.
    const GIVE: Ordering;
    /// The ordering of the exchange by which the trimmer takes slices.
    const RELEASE: Ordering;
    /// The ordering of the operation by which it frees them.
    const RELEASED: Ordering;
    /// Whether the trimmer takes slices before it returns their memory.
    const TAKES_FIRST: bool;
}

impl SliceOrders for Proven {
    // Acquire: pairs with RELEASED: what is written to the slice from now on is kept.
    const TAKE: Ordering = Ordering::Acquire;
    // Release: pairs with RELEASE: no thread writes there any more.
    const GIVE: Ordering = Ordering::Release;
    // Acquire: pairs with GIVE.
    const RELEASE: Ordering = Ordering::Acquire;
    // Release: pairs with TAKE.
    const RELEASED: Ordering = Ordering::Release;
    const TAKES_FIRST: bool = true;
}

/// The state of the slices of one unit.
#[derive(Debug)]
pub struct Slices<O = Proven> {
    state: AtomicU64,
    orders: PhantomData<O>,
}

impl<O: SliceOrders> Slices<O> {
    /// Makes the state of a unit that has never been used.
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const fn new() -> Self {
        Self { state: AtomicU64::new(0), orders: PhantomData }
    }

    /// Makes the state of a unit that has never been used.
    #[cfg(any(loom, shuttle))]
    #[must_use]
    pub fn new() -> Self {
        Self { state: AtomicU64::new(0), orders: PhantomData }
    }

    /// Takes slices; returns those that the caller must populate.
    pub fn take(&self, slices: u64, steps: Steps) -> u64 {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let Some((next, missing)) = taken(state, slices, steps) else {
                // The wait takes at most as long as the kernel needs to return one unit.
                spin_hint();
                state = self.state.load(Ordering::Relaxed);
                continue;
            };
            match self.state.compare_exchange_weak(state, next, O::TAKE, Ordering::Relaxed) {
                Ok(_) => return missing,
                Err(now) => state = now,
            }
        }
    }

    /// Those of these slices that are not populated.
    #[cfg(not(any(loom, shuttle)))]
    pub(super) fn lacks(&self, slices: u64) -> u64 {
        // Relaxed: a measure.
        slices & !(self.state.load(Ordering::Relaxed) >> UNIT_SLICES)
    }

    /// Whether no slice is in use or populated.
    #[cfg(not(any(loom, shuttle)))]
    pub(super) fn is_new(&self) -> bool {
        // Relaxed: a measure.
        self.state.load(Ordering::Relaxed) == 0
    }

    /// Frees slices, which stay populated.
    pub fn give(&self, slices: u64) {
        self.state.fetch_and(!slices, O::GIVE);
    }

    /// Whether all slices are populated, and too few are free to split the unit.
    pub fn is_whole(&self) -> bool {
        // Relaxed: a measure.
        let state = self.state.load(Ordering::Relaxed);
        let (used, populated) = (state & WHOLE, state >> UNIT_SLICES);
        used != 0 && populated == WHOLE && free(state, Steps::Units) == 0
    }

    /// The free slices whose memory may be returned to the system.
    pub fn idle(&self, steps: Steps) -> u64 {
        // Relaxed: a measure.
        free(self.state.load(Ordering::Relaxed), steps)
    }

    /// Takes the slices of [`Self::idle`], calls `decommit`, which returns their memory to the
    /// system, and frees them; returns which slices those were.
    pub fn release(&self, steps: Steps, decommit: impl FnOnce(Going)) -> u64 {
        // Relaxed: decides only whether to try.
        let state = self.state.load(Ordering::Relaxed);
        let free = free(state, steps);
        if free == 0 {
            return 0;
        }
        let (used, populated) = (state & WHOLE, state >> UNIT_SLICES);
        let is_empty = used == 0;
        let may_part = steps == Steps::Units;
        let going = Going {
            slices: free,
            is_first: may_part && populated == WHOLE && !is_empty,
            // Also for a unit whose slices were all populated again, one by one.
            is_last: may_part && is_empty,
        };
        // No thread may take a slice of a unit that will be populated as a whole next time.
        let held = if is_empty && steps != Steps::Slices { WHOLE } else { free };
        if O::TAKES_FIRST {
            let at_trimmer = (state & !(free << UNIT_SLICES)) | held;
            let taken =
                self.state.compare_exchange(state, at_trimmer, O::RELEASE, Ordering::Relaxed);
            if taken.is_err() {
                return 0;
            }
        }
        decommit(going);
        self.state.fetch_and(!(free << UNIT_SLICES | held), O::RELEASED);
        free
    }
}

#[cfg(any(loom, shuttle))]
impl<O: SliceOrders> Default for Slices<O> {
    fn default() -> Self {
        Self::new()
    }
}

/// The word after taking slices, and those that must be populated; `None` while the memory of one
/// of them is being returned.
fn taken(state: u64, slices: u64, steps: Steps) -> Option<(u64, u64)> {
    let (used, populated) = (state & WHOLE, state >> UNIT_SLICES);
    // Where the kernel has huge pages, the first touch populates all of the unit.
    let wanted = if steps != Steps::Slices && state == 0 { WHOLE } else { slices };
    if used & !populated & wanted != 0 {
        return None;
    }
    let next = (populated | wanted) << UNIT_SLICES | used | slices;
    Some((next, wanted & !populated))
}

/// The slices that are populated and free and whose memory may be returned.
fn free(state: u64, steps: Steps) -> u64 {
    let (used, populated) = (state & WHOLE, state >> UNIT_SLICES);
    let free = populated & !used;
    let is_kept = used != 0
        && match steps {
            Steps::Slices => false,
            Steps::Units => {
                populated == WHOLE && (free.count_ones() as usize) < UNIT_SLICES / FREE_OF_HUGE_PART
            }
            Steps::WholeUnits => true,
        };
    if is_kept { 0 } else { free }
}

#[cfg(test)]
mod tests;
