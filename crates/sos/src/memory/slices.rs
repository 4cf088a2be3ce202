//! `Slices`: which slices of one unit of the heap are in use, and which have memory behind them. One word.
//!
//! | in use | populated | the slice is                                                          |
//! |--------|-----------|-----------------------------------------------------------------------|
//! | no     | no        | as it was at the start                                                |
//! | yes    | yes       | mimalloc's                                                            |
//! | no     | yes       | free                                                                  |
//! | yes    | no        | at the trimmer, until its memory has gone; who wants it waits so long |
//!
//! Held by `tests/loom_memory.rs`: nobody uses a slice whose memory is going, and mutants that must fail.

use std::marker::PhantomData;

use crate::lock::Proven;
use crate::sync::{AtomicU64, Ordering, spin_hint};

/// Slices of a unit: a bit each, in the lower half those in use, in the upper half those that are populated.
pub(super) const UNIT_SLICES: usize = 32;
/// All slices.
pub const WHOLE: u64 = (1 << UNIT_SLICES) - 1;
/// The orderings of [`Slices`]; other than [`Proven`] only in tests that must fail.
pub trait SliceOrders {
    /// Of the exchange that takes slices.
    const TAKE: Ordering;
    /// Of the operation that gives them back.
    const GIVE: Ordering;
    /// Of the exchange with which the trimmer takes slices.
    const RELEASE: Ordering;
    /// Of the operation with which it gives them back.
    const RELEASED: Ordering;
    /// Whether the trimmer takes slices before it takes their memory.
    const TAKES_FIRST: bool;
}

impl SliceOrders for Proven {
    // Acquire: pairs with RELEASED: what is written to the slice from now on stays.
    const TAKE: Ordering = Ordering::Acquire;
    // Release: pairs with RELEASE: nobody writes there any more.
    const GIVE: Ordering = Ordering::Release;
    // Acquire: pairs with GIVE.
    const RELEASE: Ordering = Ordering::Acquire;
    // Release: pairs with TAKE.
    const RELEASED: Ordering = Ordering::Release;
    const TAKES_FIRST: bool = true;
}

/// The slices of a unit.
#[derive(Debug)]
pub struct Slices<O = Proven> {
    state: AtomicU64,
    orders: PhantomData<O>,
}

impl<O: SliceOrders> Slices<O> {
    /// Makes those of a unit that nobody has used yet.
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const fn new() -> Self {
        Self { state: AtomicU64::new(0), orders: PhantomData }
    }

    /// Makes those of a unit that nobody has used yet.
    #[cfg(any(loom, shuttle))]
    #[must_use]
    pub fn new() -> Self {
        Self { state: AtomicU64::new(0), orders: PhantomData }
    }

    /// Takes slices; returns which have to be populated: of these, or by whole units.
    pub fn take(&self, slices: u64, by_units: bool) -> u64 {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let Some((next, missing)) = taken(state, slices, by_units) else {
                // For as long as the kernel needs for one unit at most.
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

    /// Gives slices back, with their memory.
    pub fn give(&self, slices: u64) {
        self.state.fetch_and(!slices, O::GIVE);
    }

    /// The free slices; where memory comes by whole units, if all are.
    pub fn idle(&self, by_units: bool) -> u64 {
        // Relaxed: a measure.
        free(self.state.load(Ordering::Relaxed), by_units)
    }

    /// Lets `let_go` take the memory of the free slices; returns which these were.
    pub fn release(&self, by_units: bool, let_go: impl FnOnce(u64)) -> u64 {
        // Relaxed: to look whether to try.
        let state = self.state.load(Ordering::Relaxed);
        let free = free(state, by_units);
        if free == 0 {
            return 0;
        }
        if O::TAKES_FIRST {
            let at_trimmer = (state & !(free << UNIT_SLICES)) | free;
            let taken =
                self.state.compare_exchange(state, at_trimmer, O::RELEASE, Ordering::Relaxed);
            if taken.is_err() {
                return 0;
            }
        }
        let_go(free);
        self.state.fetch_and(!(free << UNIT_SLICES | free), O::RELEASED);
        free
    }
}

#[cfg(any(loom, shuttle))]
impl<O: SliceOrders> Default for Slices<O> {
    fn default() -> Self {
        Self::new()
    }
}

/// What the word becomes when slices are taken, and which of them have to be populated; none while one of them is
/// at the trimmer.
fn taken(state: u64, slices: u64, by_units: bool) -> Option<(u64, u64)> {
    let (used, populated) = (state & WHOLE, state >> UNIT_SLICES);
    // Where the kernel has huge pages, one touch populates all of the unit.
    let wanted = if by_units { WHOLE } else { slices };
    if used & !populated & wanted != 0 {
        return None;
    }
    let next = (populated | wanted) << UNIT_SLICES | used | slices;
    Some((next, wanted & !populated))
}

/// The slices that have memory and that nobody uses; where memory comes by whole units, if nobody uses any.
fn free(state: u64, by_units: bool) -> u64 {
    let (used, populated) = (state & WHOLE, state >> UNIT_SLICES);
    if by_units && used != 0 { 0 } else { populated & !used }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_that_were_given_back_are_idle_until_the_trimmer_has_their_memory() {
        let unit = Slices::<Proven>::new();
        assert_eq!((unit.take(0b1, false), unit.take(0b110, false)), (0b1, 0b110));
        unit.give(0b10);
        assert_eq!((unit.idle(false), unit.idle(true)), (0b10, 0));
        unit.give(0b101);
        assert_eq!((unit.idle(false), unit.idle(true)), (0b111, 0b111));
        // What was there before is not asked for again.
        assert_eq!((unit.take(0b11, false), unit.idle(false)), (0, 0b100));
        let mut gone = 0;
        assert_eq!(unit.release(false, |slices| gone = slices), 0b100);
        assert_eq!((gone, unit.idle(false), unit.release(false, |_| {})), (0b100, 0, 0));
        assert_eq!(unit.take(0b100, false), 0b100);
        unit.give(0b111);
        assert_eq!((unit.release(true, |_| {}), unit.take(0b1, false)), (0b111, 0b1));
    }

    #[test]
    fn slices_at_the_trimmer_are_nobodys() {
        let unit = Slices::<Proven>::new();
        unit.take(0b111, false);
        unit.give(0b110);
        let state = || unit.state.load(Ordering::Relaxed);
        unit.release(false, |_| {
            assert_eq!(taken(state(), 0b10, false), None);
            assert_eq!(taken(state(), 0b1000, true), None);
            // Others of the unit are there for whoever wants them, and stay theirs.
            assert_eq!((unit.take(0b1000, false), unit.idle(false)), (0b1000, 0));
            unit.give(0b1);
        });
        assert_eq!((unit.idle(false), state() & WHOLE), (0b1, 0b1000));
    }

    #[test]
    fn huge_page_populates_the_whole_unit_with_its_first_slice() {
        let unit = Slices::<Proven>::new();
        assert_eq!((unit.take(0b110, true), unit.take(0b1, true)), (WHOLE, 0));
        assert_eq!((unit.idle(true), unit.release(true, |_| {})), (0, 0));
        unit.give(0b111);
        assert_eq!(unit.idle(true), WHOLE);
    }
}
