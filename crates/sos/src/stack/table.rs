//! The table of stacks: each is kept once, for good, and named by its place.
//!
//! Fixed in size and in the binary's own zeroed memory, so that keeping a stack allocates nothing. A
//! slot is claimed by writing the stack's hash over zero; its addresses are then copied behind those of
//! the stacks before it, and their place is published. A stack that is there already is only read.
//!
//! ```text
//!   slot:  hash 0 ── CAS ─► hash, place 0 ── addresses copied ─► hash, place
//! ```
//!
//! Two stacks with one hash of 64 bits would be taken for one: with the table full, a chance of 1 in
//! 10^10.
//!
//! Held by `tests/loom_stack.rs`: threads that keep stacks at once, and mutants that must fail.

use std::marker::PhantomData;

use super::StackId;
use crate::lock::Proven;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// Slots; a power of two.
#[cfg(not(any(loom, shuttle)))]
const SLOTS: usize = 1 << 15;
/// Addresses of all stacks together.
#[cfg(not(any(loom, shuttle)))]
const ADDRESSES_MAX: usize = 1 << 20;
/// Slots that are tried before the table counts as full.
const PROBES_MAX: usize = 64;
/// Ids below are those that have no slot.
const FIRST_SLOT_ID: usize = 2;
/// The low bits of a place are the number of its addresses.
const LENGTH_BITS: u32 = 8;

/// The orderings of a [`StackTable`]; other than [`Proven`] only in tests that must fail.
pub trait TableOrders {
    /// Of the store that publishes where a stack's addresses are.
    const PUBLISH: Ordering;
    /// Of the load that looks where they are.
    const LOOK: Ordering;
    /// Whether a slot is seen to be free and claimed in the same step.
    const CLAIMS_AT_ONCE: bool;
}

impl TableOrders for Proven {
    // Release: pairs with the Acquire in `frames`, so that who sees the place sees the addresses.
    const PUBLISH: Ordering = Ordering::Release;
    // Acquire: pairs with the Release in `fill`.
    const LOOK: Ordering = Ordering::Acquire;
    const CLAIMS_AT_ONCE: bool = true;
}

#[derive(Debug)]
struct Slot {
    /// Zero until claimed.
    hash: AtomicU64,
    /// Where the addresses are, and how many; zero until they are all there.
    place: AtomicU64,
}

/// A table of so many stacks with so many addresses together.
#[derive(Debug)]
pub struct StackTable<const SLOTS: usize, const ADDRESSES: usize, O = Proven> {
    slots: [Slot; SLOTS],
    addresses: [AtomicUsize; ADDRESSES],
    /// Addresses that are given away; more than there are if the last stacks did not fit.
    used: AtomicUsize,
    kept: AtomicU64,
    refused: AtomicU64,
    orders: PhantomData<O>,
}

#[cfg(not(any(loom, shuttle)))]
type Table = StackTable<SLOTS, ADDRESSES_MAX>;

#[cfg(not(any(loom, shuttle)))]
static TABLE: Table = StackTable {
    slots: [const { Slot { hash: AtomicU64::new(0), place: AtomicU64::new(0) } }; SLOTS],
    addresses: [const { AtomicUsize::new(0) }; ADDRESSES_MAX],
    used: AtomicUsize::new(0),
    kept: AtomicU64::new(0),
    refused: AtomicU64::new(0),
    orders: PhantomData,
};

/// How full the table is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// Stacks that are kept.
    pub stacks: u64,
    /// Stacks that can be kept at the most.
    pub stacks_max: u64,
    /// Addresses of these stacks.
    pub addresses: u64,
    /// Addresses that can be kept.
    pub addresses_max: u64,
    /// How often a stack was not kept because the table was full.
    pub refused: u64,
}

/// How full the table of stacks is.
#[cfg(not(any(loom, shuttle)))]
#[must_use]
pub fn fill() -> Fill {
    TABLE.fill_now()
}

/// Bytes of the table that have been written to, in pages of 4 KB.
#[cfg(not(any(loom, shuttle)))]
#[must_use]
pub(crate) fn table_bytes() -> u64 {
    const PAGE_BYTES: u64 = 4096;
    let fill = TABLE.fill_now();
    // Slots are found by hash, anywhere; addresses lie one behind the other.
    let slots = (fill.stacks * PAGE_BYTES).min(size_of_val(&TABLE.slots) as u64);
    let addresses = (fill.addresses * size_of::<usize>() as u64).next_multiple_of(PAGE_BYTES);
    slots + addresses
}

/// Copies a stack's addresses, innermost first, as far as there is room; returns how many. None for an
/// id that has no stack.
#[cfg(not(any(loom, shuttle)))]
pub fn frames(id: StackId, into: &mut [usize]) -> usize {
    TABLE.frames(id, into)
}

/// The id of a stack, which is kept if it is new.
#[cfg(not(any(loom, shuttle)))]
pub(super) fn keep(frames: &[usize]) -> StackId {
    TABLE.keep(frames)
}

impl<const SLOTS: usize, const ADDRESSES: usize, O: TableOrders> StackTable<SLOTS, ADDRESSES, O> {
    /// Makes an empty one, for a model.
    #[cfg(any(loom, shuttle))]
    #[must_use]
    pub fn new() -> Self {
        let slot = |_| Slot { hash: AtomicU64::new(0), place: AtomicU64::new(0) };
        Self {
            slots: std::array::from_fn(slot),
            addresses: std::array::from_fn(|_| AtomicUsize::new(0)),
            used: AtomicUsize::new(0),
            kept: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            orders: PhantomData,
        }
    }

    /// How full it is.
    #[must_use]
    pub fn fill_now(&self) -> Fill {
        // Relaxed: statistics.
        Fill {
            stacks: self.kept.load(Ordering::Relaxed),
            stacks_max: SLOTS as u64,
            addresses: self.used.load(Ordering::Relaxed).min(ADDRESSES) as u64,
            addresses_max: ADDRESSES as u64,
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// The id of a stack, which is kept if it is new.
    pub fn keep(&self, frames: &[usize]) -> StackId {
        if frames.is_empty() {
            return StackId::NONE;
        }
        let hash = hash(frames);
        let mut at = usize::try_from(hash >> 32).unwrap_or(0);
        for _ in 0..PROBES_MAX.min(SLOTS) {
            at %= SLOTS;
            let slot = &self.slots[at];
            let mut found = slot.hash.load(Ordering::Relaxed);
            if found == 0 {
                if self.used.load(Ordering::Relaxed) + frames.len() > ADDRESSES {
                    break;
                }
                match slot.claim::<O>(hash) {
                    Ok(()) => return self.fill(at, frames),
                    Err(other) => found = other,
                }
            }
            if found == hash {
                return id_of(at);
            }
            at += 1;
        }
        self.refuse()
    }

    /// Fills a slot that the caller has claimed.
    #[cold]
    fn fill(&self, at: usize, frames: &[usize]) -> StackId {
        let begin = self.used.fetch_add(frames.len(), Ordering::Relaxed);
        let Some(room) = self.addresses.get(begin..begin + frames.len()) else {
            // Others were faster; the slot stays claimed, and its stack has no addresses.
            return self.refuse();
        };
        for (address, &frame) in room.iter().zip(frames) {
            address.store(frame, Ordering::Relaxed);
        }
        let place = (begin as u64) << LENGTH_BITS | frames.len() as u64;
        self.slots[at].place.store(place, O::PUBLISH);
        self.kept.fetch_add(1, Ordering::Relaxed);
        id_of(at)
    }

    #[cold]
    fn refuse(&self) -> StackId {
        self.refused.fetch_add(1, Ordering::Relaxed);
        StackId::TABLE_FULL
    }

    /// Copies a stack's addresses, innermost first, as far as there is room; returns how many. None while
    /// they are not all there.
    pub fn frames(&self, id: StackId, into: &mut [usize]) -> usize {
        let at = usize::try_from(id.number()).unwrap_or(0).checked_sub(FIRST_SLOT_ID);
        let Some(slot) = at.and_then(|at| self.slots.get(at)) else { return 0 };
        let place = slot.place.load(O::LOOK);
        let length = usize::try_from(place & ((1 << LENGTH_BITS) - 1)).unwrap_or(0);
        let begin = usize::try_from(place >> LENGTH_BITS).unwrap_or(0);
        let kept = self.addresses.get(begin..begin + length).unwrap_or_default();
        for (into, address) in into.iter_mut().zip(kept) {
            *into = address.load(Ordering::Relaxed);
        }
        length.min(into.len())
    }
}

impl Slot {
    /// Claims it for a stack; the hash that is there if somebody else was faster.
    fn claim<O: TableOrders>(&self, hash: u64) -> Result<(), u64> {
        if !O::CLAIMS_AT_ONCE {
            self.hash.store(hash, Ordering::Relaxed);
            return Ok(());
        }
        // Relaxed: a claim; what it leads to is published by the place.
        let claim = self.hash.compare_exchange(0, hash, Ordering::Relaxed, Ordering::Relaxed);
        claim.map(drop)
    }
}

fn id_of(at: usize) -> StackId {
    StackId(u32::try_from(at + FIRST_SLOT_ID).unwrap_or(0))
}

/// A multiplication per address, and a last one that carries the low bits up: never zero.
fn hash(frames: &[usize]) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let step = |hash: u64, &frame: &usize| {
        let mixed = (hash ^ frame as u64).wrapping_mul(ODD);
        mixed ^ mixed >> 29
    };
    let mixed = frames.iter().fold(frames.len() as u64, step).wrapping_mul(ODD);
    (mixed ^ mixed >> 32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(id: StackId) -> Vec<usize> {
        let mut frames = [0; super::super::FRAMES_MAX];
        let length = frames_of(id, &mut frames);
        frames[..length].to_vec()
    }

    fn frames_of(id: StackId, into: &mut [usize]) -> usize {
        super::frames(id, into)
    }

    #[test]
    fn a_stack_has_one_id_and_keeps_its_addresses() {
        let (one, other) = ([11, 12, 13], [11, 12]);
        let id = keep(&one);
        assert_eq!(keep(&one), id);
        assert_ne!(keep(&other), id);
        assert_eq!((kept(id), kept(keep(&other))), (one.to_vec(), other.to_vec()));
        assert_eq!((keep(&[]), kept(StackId::NONE)), (StackId::NONE, vec![]));
        assert_eq!(kept(StackId::of_number(u32::MAX)), Vec::<usize>::new());
        assert_eq!(kept(StackId::TABLE_FULL), Vec::<usize>::new());
        let mut short = [0; 2];
        assert_eq!((frames(id, &mut short), short), (2, [11, 12]));
    }

    #[test]
    fn a_full_table_counts_what_it_does_not_keep() {
        let table: Box<Table> = {
            // SAFETY: atomics of zero are what an empty table is.
            unsafe { Box::<Table>::new_zeroed().assume_init() }
        };
        let ids: Vec<_> = (0..SLOTS + 1000).map(|i| table.keep(&[0x1000 + i, i])).collect();
        let refused = table.refused.load(Ordering::Relaxed);
        let named = ids.iter().filter(|&&id| id == StackId::TABLE_FULL).count() as u64;
        assert!(refused == named && refused >= 1000, "{refused} {named}");
        assert_eq!(table.kept.load(Ordering::Relaxed) + refused, ids.len() as u64);
        // What is kept stays, and is found again.
        assert_eq!((table.keep(&[0x1000, 0]), table.keep(&[0x1001, 1])), (ids[0], ids[1]));
    }

    #[test]
    fn threads_that_keep_the_same_stacks_agree_on_their_ids() {
        let keep_all = || (0..500).map(|i| keep(&[0x7777_0000 + i, 9, i])).collect::<Vec<_>>();
        let ids: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(keep_all)).collect();
            threads.into_iter().map(|thread| thread.join().expect("nobody panics")).collect()
        });
        assert!(ids.iter().all(|mine| *mine == ids[0]));
        assert!(ids[0].iter().enumerate().all(|(i, &id)| kept(id) == [0x7777_0000 + i, 9, i]));
    }
}
