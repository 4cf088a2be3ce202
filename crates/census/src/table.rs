//! The state of every line of the address space, in memory that the kernel provides only where it
//! is touched.
//!
//! Reading and changing a state takes no lock: two threads that race for one line may lose one of
//! two changes, which changes a count by one at most.
//! of two changes, which moves a count by one and no more.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, Ordering};

use crate::state::State;

/// Bytes of a cache line.
pub(crate) const LINE_BYTES: usize = 64;
/// Bytes that the prefetcher of many processors fetches together.
pub(crate) const PAIR_BYTES: usize = 128;

const ADDRESS_BITS: u32 = 47;
/// Address bits of a leaf, which covers 256 MB.
const LEAF_BITS: u32 = 28;
const LEAVES: usize = 1 << (ADDRESS_BITS - LEAF_BITS);
const LEAF_LINES: usize = (1 << LEAF_BITS) / LINE_BYTES;
const LEAF_PAIRS: usize = (1 << LEAF_BITS) / PAIR_BYTES;

struct Leaf {
    lines: [AtomicU16; LEAF_LINES],
    pairs: [AtomicU16; LEAF_PAIRS],
    takers: [AtomicU32; LEAF_LINES],
}

static TOP: [AtomicPtr<Leaf>; LEAVES] = [const { AtomicPtr::new(ptr::null_mut()) }; LEAVES];

/// One line's entries in the table.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    line: &'static AtomicU16,
    pair: &'static AtomicU16,
    taker: &'static AtomicU32,
}

/// Which of the two sizes a state is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// 64 bytes: the unit that one processor takes from another.
    Line,
    /// 128 bytes: the unit that prefetching takes as well.
    Pair,
}

/// Returns the entries of the line at an address; `None` beyond the user's half of the address
/// space.
#[inline]
pub(crate) fn entry(address: usize) -> Option<Entry> {
    let top = TOP.get(address >> LEAF_BITS)?;
    // Acquire: pairs with the compare-exchange in `grow`.
    let leaf = top.load(Ordering::Acquire);
    let leaf = if leaf.is_null() { grow(top)? } else { leaf };
    let offset = address & ((1 << LEAF_BITS) - 1);
    // SAFETY: leaves are never unmapped, and zeroes are valid atomics.
    let leaf = unsafe { &*leaf };
    Some(Entry {
        line: leaf.lines.get(offset / LINE_BYTES)?,
        pair: leaf.pairs.get(offset / PAIR_BYTES)?,
        taker: leaf.takers.get(offset / LINE_BYTES)?,
    })
}

#[cold]
fn grow(top: &AtomicPtr<Leaf>) -> Option<*mut Leaf> {
    let leaf = map_zeroed::<Leaf>()?;
    // AcqRel: publishes the mapping, and acquires the winner's if this one comes second; the second
    // mapping is never touched, so it costs address space and no memory.
    match top.compare_exchange(ptr::null_mut(), leaf, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(leaf),
        Err(winner) => Some(winner),
    }
}

/// Maps zeroed memory for a `T`, without end. Not from the allocator, which the census counts
/// itself.
pub(crate) fn map_zeroed<T>() -> Option<*mut T> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh anonymous mapping touches nothing that exists.
    let mapped = unsafe { libc::mmap(ptr::null_mut(), size_of::<T>(), protection, flags, -1, 0) };
    (mapped != libc::MAP_FAILED).then_some(mapped.cast())
}

impl Entry {
    /// Returns the state of the line or of its pair.
    #[inline]
    pub(crate) fn state(&self, width: Width) -> State {
        State::from_bits(self.of(width).load(Ordering::Relaxed))
    }

    /// Replaces the state of the line or pair.
    #[inline]
    pub(crate) fn set_state(&self, width: Width, state: State) {
        self.of(width).store(state.to_bits(), Ordering::Relaxed);
    }

    /// Returns which code last made the line cost something for others, as [`Self::set_taker`]
    /// stored it.
    pub(crate) fn taker(&self) -> u32 {
        self.taker.load(Ordering::Relaxed)
    }

    /// Stores which code made the line cost something for others.
    pub(crate) fn set_taker(&self, taker: u32) {
        self.taker.store(taker, Ordering::Relaxed);
    }

    fn of(&self, width: Width) -> &'static AtomicU16 {
        match width {
            Width::Line => self.line,
            Width::Pair => self.pair,
        }
    }
}
