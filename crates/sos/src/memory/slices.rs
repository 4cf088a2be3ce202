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
//! populated one by one, until none of them is populated, or all are in use.
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

    /// Whether all slices are in use and populated.
    pub fn is_full(&self) -> bool {
        // Relaxed: a measure.
        self.state.load(Ordering::Relaxed) == WHOLE << UNIT_SLICES | WHOLE
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
mod tests {
    use super::*;

    #[test]
    fn slices_that_were_given_back_are_idle_until_the_trimmer_has_their_memory() {
        let unit = Slices::<Proven>::new();
        let by = Steps::Slices;
        assert_eq!((unit.take(0b1, by), unit.take(0b110, by)), (0b1, 0b110));
        unit.give(0b10);
        assert_eq!((unit.idle(by), unit.idle(Steps::WholeUnits)), (0b10, 0));
        unit.give(0b101);
        assert_eq!((unit.idle(by), unit.idle(Steps::WholeUnits)), (0b111, 0b111));
        // Slices that were populated before are not populated again.
        assert_eq!((unit.take(0b11, by), unit.idle(by)), (0, 0b100));
        let mut gone = 0;
        assert_eq!(unit.release(by, |going| gone = going.slices), 0b100);
        assert_eq!((gone, unit.idle(by), unit.release(by, |_| {})), (0b100, 0, 0));
        assert_eq!(unit.take(0b100, by), 0b100);
        unit.give(0b111);
        assert_eq!((unit.release(by, |_| {}), unit.take(0b1, by)), (0b111, 0b1));
    }

    #[test]
    fn unit_that_was_taken_apart_and_filled_again_may_be_huge_when_all_of_it_has_gone() {
        let unit = Slices::<Proven>::new();
        let by = Steps::Units;
        unit.take(WHOLE, by);
        unit.give(0xffff);
        unit.release(by, |going| assert!(going.is_first && !going.is_last));
        assert_eq!((unit.is_full(), unit.take(0xffff, by), unit.is_full()), (false, 0xffff, true));
        unit.give(WHOLE);
        let mut gone = None;
        unit.release(by, |going| gone = Some(going));
        assert_eq!(gone, Some(Going { slices: WHOLE, is_first: false, is_last: true }));
    }

    #[test]
    fn nothing_is_asked_of_the_kernel_about_pages_where_it_has_no_huge_ones() {
        let unit = Slices::<Proven>::new();
        let by = Steps::Slices;
        unit.take(WHOLE, by);
        let mut all = Vec::new();
        for slices in [0xffff, WHOLE & !0xffff] {
            unit.give(slices);
            unit.release(by, |going| all.push((going.is_first, going.is_last)));
        }
        assert_eq!(all, [(false, false); 2]);
    }

    #[test]
    fn slices_at_the_trimmer_are_nobodys() {
        let unit = Slices::<Proven>::new();
        let by = Steps::Slices;
        unit.take(0b111, by);
        unit.give(0b110);
        let state = || unit.state.load(Ordering::Relaxed);
        unit.release(by, |_| {
            assert_eq!(taken(state(), 0b10, by), None);
            // Other slices of the unit can be taken, and stay with the thread that took them.
            assert_eq!((unit.take(0b1000, by), unit.idle(by)), (0b1000, 0));
            unit.give(0b1);
        });
        assert_eq!((unit.idle(by), state() & WHOLE), (0b1, 0b1000));
    }

    #[test]
    fn huge_page_populates_the_whole_unit_with_its_first_slice() {
        for by in [Steps::Units, Steps::WholeUnits] {
            let unit = Slices::<Proven>::new();
            assert_eq!((unit.take(0x3fff_fffe, by), unit.take(0b1, by)), (WHOLE, 0));
            assert_eq!((unit.idle(by), unit.release(by, |_| {})), (0, 0));
            unit.give(0x3fff_ffff);
            assert_eq!(unit.idle(by), WHOLE);
            let mut gone = None;
            assert_eq!(unit.release(by, |going| gone = Some(going)), WHOLE);
            let is_last = by == Steps::Units;
            let whole = Going { slices: WHOLE, is_first: false, is_last };
            assert_eq!((gone, unit.take(0b1, by)), (Some(whole), WHOLE));
        }
    }

    #[test]
    fn huge_page_of_which_an_eighth_is_free_is_taken_apart_until_all_of_it_has_gone() {
        let unit = Slices::<Proven>::new();
        let by = Steps::Units;
        unit.take(WHOLE, by);
        let mut all = Vec::new();
        unit.give(WHOLE & !0x1fff_ffff);
        assert_eq!(unit.release(by, |going| all.push(going)), 0, "3 are free");
        unit.give(0x1fff_0000);
        assert_eq!(unit.idle(Steps::WholeUnits), 0);
        unit.release(by, |going| all.push(going));
        // Its slices are populated one by one now.
        assert_eq!((unit.take(0x1_0000, by), unit.take(0x2_0000, by)), (0x1_0000, 0x2_0000));
        unit.give(0x1_0000);
        assert_eq!(unit.idle(by), 0x1_0000);
        unit.give(0x2_ffff);
        unit.release(by, |going| {
            all.push(going);
            let state = unit.state.load(Ordering::Relaxed);
            assert_eq!(taken(state, 1 << 31, by), None, "before it may be whole again");
        });
        let going = |slices, is_first, is_last| Going { slices, is_first, is_last };
        let expected = [going(WHOLE & !0xffff, true, false), going(0x3_ffff, false, true)];
        assert_eq!((all.as_slice(), unit.take(0b1, by)), (expected.as_slice(), WHOLE));
    }
}
