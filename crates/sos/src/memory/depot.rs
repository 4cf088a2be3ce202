//! `Depot`: where threads exchange free extents. A few places per class, each empty or with one
//! pack of extents.
//!
//! | place | meaning                                        | next                               |
//! |-------|------------------------------------------------|------------------------------------|
//! | 0     | empty                                          | a pack's address, by a put         |
//! | p     | holds the pack that starts at `p`              | 0, by the thread that takes it     |
//!
//! A pack is written before it is put and read after it is taken; the two orderings make the new
//! owner see what the old one wrote. A place holds only an address, and taking it swaps in zero, so
//! that two threads never have the same pack.

use std::marker::PhantomData;

use crate::lock::Proven;
use crate::sync::{AtomicUsize, Ordering};

/// The number of places of a depot.
#[cfg(not(any(loom, shuttle)))]
const PLACES: usize = 8;
/// One place is enough for a model to fill the depot.
#[cfg(any(loom, shuttle))]
const PLACES: usize = 1;

/// The orderings of a [`Depot`]; other than [`Proven`] only in tests that must fail.
pub trait DepotOrders {
    /// The ordering of the exchange that puts a pack into a place.
    const PUT: Ordering;
    /// The ordering of the exchange that takes a pack.
    const TAKE: Ordering;
    /// Whether a taker reads the place and sets it to zero in one atomic step.
    const TAKES_AT_ONCE: bool;
}

impl DepotOrders for Proven {
    // Release: pairs with the Acquire in `take`, so that the taker sees the pack's contents.
    const PUT: Ordering = Ordering::Release;
    // Acquire: pairs with the Release in `put`.
    const TAKE: Ordering = Ordering::Acquire;
    const TAKES_AT_ONCE: bool = true;
}

/// Places for packs. Any thread may put and take, without waiting.
#[derive(Debug)]
pub struct Depot<O = Proven> {
    places: [AtomicUsize; PLACES],
    orders: PhantomData<O>,
}

impl<O: DepotOrders> Depot<O> {
    /// Makes a depot without packs.
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const fn new() -> Self {
        Self { places: [const { AtomicUsize::new(0) }; PLACES], orders: PhantomData }
    }

    /// Makes a depot without packs.
    #[cfg(any(loom, shuttle))]
    #[must_use]
    pub fn new() -> Self {
        Self { places: std::array::from_fn(|_| AtomicUsize::new(0)), orders: PhantomData }
    }

    /// Puts a pack into a free place; false if there is none, and the caller keeps the pack.
    pub fn put(&self, pack: usize) -> bool {
        // Relaxed on failure, and for the first look: only the exchange that succeeds counts.
        self.places.iter().any(|place| {
            place.load(Ordering::Relaxed) == 0
                && place.compare_exchange(0, pack, O::PUT, Ordering::Relaxed).is_ok()
        })
    }

    /// Takes a pack, if there is one.
    pub fn take(&self) -> Option<usize> {
        let taken = |place: &AtomicUsize| {
            // Relaxed: decides only whether to try.
            let found = place.load(Ordering::Relaxed);
            if found == 0 {
                return None;
            }
            if O::TAKES_AT_ONCE {
                let pack = place.swap(0, O::TAKE);
                return (pack != 0).then_some(pack);
            }
            place.store(0, O::TAKE);
            Some(found)
        };
        self.places.iter().find_map(taken)
    }
}

#[cfg(any(loom, shuttle))]
impl<O: DepotOrders> Default for Depot<O> {
    fn default() -> Self {
        Self::new()
    }
}
