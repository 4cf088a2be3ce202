//! Where threads hand over free extents: a few places per class, each empty or with one pack.
//!
//! | place | meaning                                        | next                               |
//! |-------|------------------------------------------------|------------------------------------|
//! | 0     | empty                                          | a pack's address, by who puts it   |
//! | p     | the pack that begins at `p` belongs to nobody  | 0, by the one who takes it         |
//!
//! A pack is written before it is put and read after it is taken; from the one to the other its new
//! owner must see what the old one wrote, which the two orderings are for. A place holds no more
//! than an address, and whoever takes it swaps a zero in: there is no moment at which two have it.

use std::marker::PhantomData;

use crate::lock::Proven;
use crate::sync::{AtomicUsize, Ordering};

/// Places of a depot.
#[cfg(not(any(loom, shuttle)))]
const PLACES: usize = 8;
/// As few as show a full depot to a model.
#[cfg(any(loom, shuttle))]
const PLACES: usize = 1;

/// The orderings of a [`Depot`]; other than [`Proven`] only in tests that must fail.
pub trait DepotOrders {
    /// Of the exchange that puts a pack down.
    const PUT: Ordering;
    /// Of the exchange that takes it.
    const TAKE: Ordering;
    /// Whether a taker leaves zero behind in the same step as it reads.
    const TAKES_AT_ONCE: bool;
}

impl DepotOrders for Proven {
    // Release: pairs with the Acquire in `take`, so that the taker sees the pack's contents.
    const PUT: Ordering = Ordering::Release;
    // Acquire: pairs with the Release in `put`.
    const TAKE: Ordering = Ordering::Acquire;
    const TAKES_AT_ONCE: bool = true;
}

/// Places for packs; any thread puts and takes, and nobody waits.
#[derive(Debug)]
pub struct Depot<O = Proven> {
    places: [AtomicUsize; PLACES],
    orders: PhantomData<O>,
}

impl<O: DepotOrders> Depot<O> {
    /// Makes an empty depot.
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const fn new() -> Self {
        Self { places: [const { AtomicUsize::new(0) }; PLACES], orders: PhantomData }
    }

    /// Makes an empty depot.
    #[cfg(any(loom, shuttle))]
    #[must_use]
    pub fn new() -> Self {
        Self { places: std::array::from_fn(|_| AtomicUsize::new(0)), orders: PhantomData }
    }

    /// Puts a pack down; false if there is no room, and the pack stays with the caller.
    pub fn put(&self, pack: usize) -> bool {
        // Relaxed on failure, and to look: only the exchange that succeeds counts.
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
