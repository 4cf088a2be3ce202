//! `Shards`: one value per thread, each on separate cache lines; and the threads' numbers.
//!
//! A thread takes the lowest free number and returns it when it ends, so as many numbers are in use
//! as there are threads, and no two live threads share one. The first places exist from the start;
//! more are allocated when threads with higher numbers need them:
//!
//! ```text
//! number   0 .. 15 | 16 .. 31 | 32 .. 63 | .. | 512 .. 1023
//! place    first   | more[0]  | more[1]  |    | more[5]
//! ```

use std::cell::Cell;
use std::sync::atomic::{AtomicU64 as Bits, AtomicUsize};

use crate::primitives::{AtomicPtr, CachePadded, Ordering};

/// Places that exist from the start.
const FIRST: usize = 16;
/// How often the number of places can double.
const LEVELS: usize = 6;
/// The number of places. With more threads than this, some share a place.
const NUMBERS: usize = FIRST << LEVELS;

/// One `T` for each thread.
pub(crate) struct Shards<T> {
    first: [CachePadded<T>; FIRST],
    /// The places of the numbers from `FIRST << level` to twice that, by level.
    more: [AtomicPtr<CachePadded<T>>; LEVELS],
}

impl<T: Default> Default for Shards<T> {
    fn default() -> Self {
        let none = || AtomicPtr::new(std::ptr::null_mut());
        Self { first: Default::default(), more: std::array::from_fn(|_| none()) }
    }
}

impl<T: Default> Shards<T> {
    /// Returns the calling thread's value.
    #[inline]
    pub(crate) fn own(&self) -> &T {
        self.of(own_number())
    }

    /// Returns the value of the thread with this number.
    #[inline]
    pub(crate) fn of(&self, number: usize) -> &T {
        match self.first.get(number) {
            Some(place) => place,
            None => self.of_many(number),
        }
    }

    #[inline(never)]
    fn of_many(&self, number: usize) -> &T {
        let level = level_of(number);
        let places = self.places(level).unwrap_or_else(|| self.add(level));
        &places[number - (FIRST << level)]
    }

    #[cold]
    fn add(&self, level: usize) -> &[CachePadded<T>] {
        let places: Box<[CachePadded<T>]> =
            (0..FIRST << level).map(|_| CachePadded::default()).collect();
        let new = Box::into_raw(places).cast();
        // SeqCst: in the order of the snapshots that are taken in the new places; see `iter`.
        let order = (Ordering::SeqCst, Ordering::Acquire);
        let raced = self.more[level].compare_exchange(std::ptr::null_mut(), new, order.0, order.1);
        if raced.is_err() {
            // SAFETY: this thread lost the race, so no other has seen `new`.
            unsafe { free(new, level) };
        }
        self.places(level).expect("places were just added")
    }
}

impl<T> Shards<T> {
    /// Returns whether a thread may have this number.
    pub(crate) const fn has_place(&self, number: usize) -> bool {
        number < NUMBERS
    }

    /// Iterates over all values, in the order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let more = (0..LEVELS).filter_map(|level| self.places(level)).flatten();
        self.first.iter().chain(more).map(|place| &place.0)
    }

    /// Iterates over all values, each with its number.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &T)> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let found = self.from(next)?;
            next = found.0 + 1;
            Some(found)
        })
    }

    /// Returns the first value whose number is at least `number`, with that number.
    pub(crate) fn from(&self, number: usize) -> Option<(usize, &T)> {
        if let Some(place) = self.first.get(number) {
            return Some((number, place));
        }
        let mut number = number;
        while number < NUMBERS {
            let level = level_of(number);
            if let Some(places) = self.places(level) {
                return Some((number, &places[number - (FIRST << level)]));
            }
            number = FIRST << (level + 1);
        }
        None
    }

    fn places(&self, level: usize) -> Option<&[CachePadded<T>]> {
        // SeqCst: pairs with the exchange in `add`. A reader that misses places has looked before
        // they were added, in the single order of snapshots too. A plain load on most machines.
        let places = self.more[level].load(Ordering::SeqCst);
        if places.is_null() {
            return None;
        }
        // SAFETY: `add` made `FIRST << level` places, which live as long as `self`.
        Some(unsafe { std::slice::from_raw_parts(places, FIRST << level) })
    }
}

impl<T> Drop for Shards<T> {
    fn drop(&mut self) {
        for (level, places) in self.more.iter().enumerate() {
            let places = places.load(Ordering::Acquire);
            if !places.is_null() {
                // SAFETY: made by `add`; `&mut self` is the only owner.
                unsafe { free(places, level) };
            }
        }
    }
}

/// Frees the places of a level.
///
/// # Safety
/// `places` came from `Shards::add` for this level, and no other thread can reach it.
unsafe fn free<T>(places: *mut CachePadded<T>, level: usize) {
    let places = std::ptr::slice_from_raw_parts_mut(places, FIRST << level);
    // SAFETY: made by `Box::into_raw`, as the caller says.
    drop(unsafe { Box::from_raw(places) });
}

/// Returns the level of a number that is not among the first.
fn level_of(number: usize) -> usize {
    usize::try_from((number / FIRST).ilog2()).unwrap_or(0).min(LEVELS - 1)
}

/// The numbers in use, one bit each. Not atomics of `sos::sync`: which number a thread has is
/// nothing for the model checker to explore.
static TAKEN: [Bits; NUMBERS / 64] = [const { Bits::new(0) }; NUMBERS / 64];

/// Holds a thread's number and returns it when the thread ends.
struct Held(Cell<Option<usize>>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(number) = self.0.get() {
            // Relaxed: a place's content is ordered by its own atomics.
            TAKEN[number / 64].fetch_and(!(1 << (number % 64)), Ordering::Relaxed);
        }
    }
}

/// Returns the calling thread's number, taking one at the first call.
#[inline]
pub(crate) fn own_number() -> usize {
    thread_local! {
        /// Without a destructor, so that the usual access is one load.
        static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    let number = NUMBER.get();
    if number != usize::MAX {
        return number;
    }
    let number = take();
    NUMBER.set(number);
    number
}

#[cold]
fn take() -> usize {
    thread_local! {
        static HELD: Held = const { Held(Cell::new(None)) };
    }
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // While the thread ends, its thread-local holder is gone; then, or when all numbers are in use,
    // numbers are handed out in turn and shared.
    let held = HELD.try_with(|held| {
        held.0.set(take_lowest());
        held.0.get()
    });
    let turn = || NEXT.fetch_add(1, Ordering::Relaxed) % NUMBERS;
    held.ok().flatten().unwrap_or_else(turn)
}

fn take_lowest() -> Option<usize> {
    TAKEN.iter().enumerate().find_map(|(at, word)| {
        let mut bits = word.load(Ordering::Relaxed);
        while bits != u64::MAX {
            let bit = bits.trailing_ones();
            let before = word.fetch_or(1 << bit, Ordering::Relaxed);
            if before & (1 << bit) == 0 {
                return Some(at * 64 + usize::try_from(bit).unwrap_or(0));
            }
            bits = before | (1 << bit);
        }
        None
    })
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
