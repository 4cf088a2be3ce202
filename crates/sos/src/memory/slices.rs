//! `Slices`: which slices of one unit of the heap are in use, and which have memory behind them. One word.
//!
//! | in use | populated | the unit is                                                          |
//! |--------|-----------|----------------------------------------------------------------------|
//! | none   | none      | as it was at the start                                               |
//! | some   | those too | mimalloc's                                                           |
//! | none   | some      | free                                                                 |
//! | all    | none      | at the trimmer, until its memory has gone; who wants it waits so long |
//!
//! Held by `tests/loom_memory.rs`: nobody uses a slice whose memory is going, and mutants that must fail.

use std::marker::PhantomData;

use crate::lock::Proven;
use crate::sync::{AtomicU64, Ordering, spin_hint};

/// Slices of a unit: a bit each, in the lower half those in use, in the upper half those that are populated.
pub(super) const UNIT_SLICES: usize = 32;
/// All slices.
pub const WHOLE: u64 = (1 << UNIT_SLICES) - 1;
/// The unit is at the trimmer.
const AT_TRIMMER: u64 = WHOLE;

/// The orderings of [`Slices`]; other than [`Proven`] only in tests that must fail.
pub trait SliceOrders {
    /// Of the exchange that takes slices.
    const TAKE: Ordering;
    /// Of the operation that gives them back.
    const GIVE: Ordering;
    /// Of the exchange with which the trimmer takes the unit.
    const RELEASE: Ordering;
    /// Of the store with which it gives the unit back.
    const RELEASED: Ordering;
    /// Whether the trimmer takes the unit before it takes the memory.
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
                // For as long as the kernel needs for one unit.
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

    /// The slices that are populated, if none is in use.
    pub fn idle(&self) -> u64 {
        // Relaxed: a measure, or to look whether to try.
        let state = self.state.load(Ordering::Relaxed);
        if is_free(state) { state >> UNIT_SLICES } else { 0 }
    }

    /// Lets `let_go` take the memory of a unit of which nothing is in use; returns which slices had some.
    pub fn release(&self, let_go: impl FnOnce()) -> u64 {
        let state = self.state.load(Ordering::Relaxed);
        if !is_free(state) {
            return 0;
        }
        if O::TAKES_FIRST {
            let taken =
                self.state.compare_exchange(state, AT_TRIMMER, O::RELEASE, Ordering::Relaxed);
            if taken.is_err() {
                return 0;
            }
        }
        let_go();
        self.state.store(0, O::RELEASED);
        state >> UNIT_SLICES
    }
}

#[cfg(any(loom, shuttle))]
impl<O: SliceOrders> Default for Slices<O> {
    fn default() -> Self {
        Self::new()
    }
}

/// What the word becomes when slices are taken, and which of them have to be populated; none while the unit is at
/// the trimmer.
fn taken(state: u64, slices: u64, by_units: bool) -> Option<(u64, u64)> {
    if state == AT_TRIMMER {
        return None;
    }
    let (used, populated) = (state & WHOLE, state >> UNIT_SLICES);
    // Where the kernel has huge pages, one touch populates all of the unit.
    let wanted = if by_units { WHOLE } else { slices };
    let next = (populated | wanted) << UNIT_SLICES | used | slices;
    Some((next, wanted & !populated))
}

/// Whether a unit has memory and nobody uses any of it.
fn is_free(state: u64) -> bool {
    state & WHOLE == 0 && state != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_is_idle_when_all_its_slices_were_given_back() {
        let unit = Slices::<Proven>::new();
        assert_eq!((unit.take(0b1, false), unit.take(0b110, false)), (0b1, 0b110));
        unit.give(0b1);
        assert_eq!(unit.idle(), 0);
        unit.give(0b110);
        assert_eq!(unit.idle(), 0b111);
        // What was there before is not asked for again.
        assert_eq!((unit.take(0b11, false), unit.idle()), (0, 0));
        unit.give(0b11);
        assert_eq!((unit.release(|| {}), unit.idle(), unit.release(|| {})), (0b111, 0, 0));
        assert_eq!(unit.take(0b1, false), 0b1);
    }

    #[test]
    fn unit_at_the_trimmer_is_nobodys() {
        assert_eq!(taken(AT_TRIMMER, 0b1, false), None);
        assert_eq!(taken(AT_TRIMMER, 0b1, true), None);
        // A unit that is in use as a whole has memory: it is another word.
        let (state, _) = taken(0, WHOLE, false).expect("not at the trimmer");
        assert_ne!(state, AT_TRIMMER);
        assert!(!is_free(0) && !is_free(AT_TRIMMER));
    }

    #[test]
    fn huge_page_populates_the_whole_unit_with_its_first_slice() {
        let unit = Slices::<Proven>::new();
        assert_eq!((unit.take(0b110, true), unit.take(0b1, true)), (WHOLE, 0));
        unit.give(0b111);
        assert_eq!(unit.idle(), WHOLE);
    }
}
