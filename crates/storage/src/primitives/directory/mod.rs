//! `Directory`: values by number, found in constant time without a lock, while others are added.
//!
//! ```text
//! number   0 .. 15  | 16 .. 271 | 272 .. 4367 | ..
//! level    levels[0]| levels[1] | levels[2]   |      each sixteen times as long as the one before
//! ```
//! A level is allocated with the first value in it and never moves. So a value is found without a
//! lock, and its address is valid as long as the directory.

use std::marker::PhantomData;

use crate::primitives::{AtomicPtr, Mutant, Ordering, is_mutant};

/// log2 of the places of the first level; each next level has this many bits more.
const LEVEL_BITS: usize = if cfg!(test) { 1 } else { 4 };
/// Levels. Together they have 17,895,696 places; as segments of a heap, 73 billion rows.
const LEVELS: usize = if cfg!(test) { 14 } else { 6 };

/// Values by number, from 0 on.
pub(crate) struct Directory<T> {
    levels: [AtomicPtr<AtomicPtr<T>>; LEVELS],
    /// The directory owns its values, so it is `Send` and `Sync` only where they are.
    values: PhantomData<T>,
}

impl<T> Default for Directory<T> {
    fn default() -> Self {
        let none = || AtomicPtr::new(std::ptr::null_mut());
        Self { levels: std::array::from_fn(|_| none()), values: PhantomData }
    }
}

/// Returns the number of places of a level.
const fn len_of(level: usize) -> usize {
    1 << (LEVEL_BITS * (level + 1))
}

/// Returns the level of a number and the place within it; `None` beyond the last level.
fn place_of(number: usize) -> Option<(usize, usize)> {
    let mut place = number;
    for level in 0..LEVELS {
        if place < len_of(level) {
            return Some((level, place));
        }
        place -= len_of(level);
    }
    None
}

impl<T: Send + Sync> Directory<T> {
    /// Returns the value of a number; `None` if it has not been set.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        let (level, place) = place_of(number)?;
        // Acquire: pairs with the Release in `set`.
        let value = self.places(level)?[place].load(Ordering::Acquire);
        // SAFETY: values live as long as the directory.
        unsafe { value.as_ref() }
    }

    /// Sets the value of a number, once.
    ///
    /// # Panics
    /// If the number has a value already, or is beyond the last level.
    pub(crate) fn set(&self, number: usize, value: Box<T>) -> &T {
        let (level, place) = place_of(number).expect("a directory has fewer values than places");
        let places = self.places(level).unwrap_or_else(|| self.add(level));
        let value = Box::into_raw(value);
        // Release: pairs with the Acquire in `get`; the value is made.
        let order = (Ordering::Release, Ordering::Relaxed);
        let set = places[place].compare_exchange(std::ptr::null_mut(), value, order.0, order.1);
        assert!(set.is_ok(), "a number's value is set once");
        // SAFETY: just made, and owned by the directory from now on.
        unsafe { &*value }
    }

    /// Returns whether the number is not beyond the last level.
    pub(crate) fn has_room_for(&self, number: usize) -> bool {
        place_of(number).is_some()
    }

    /// Returns the bytes of the levels, without those of the values.
    pub(crate) fn memory(&self) -> usize {
        let lens = (0..LEVELS).filter_map(|level| self.places(level)).map(<[_]>::len);
        lens.sum::<usize>() * size_of::<AtomicPtr<T>>()
    }

    #[cold]
    fn add(&self, level: usize) -> &[AtomicPtr<T>] {
        let none = || AtomicPtr::new(std::ptr::null_mut());
        let places: Box<[AtomicPtr<T>]> = (0..len_of(level)).map(|_| none()).collect();
        let new = Box::into_raw(places).cast();
        if is_mutant(Mutant::LevelReplaced) {
            self.levels[level].store(new, Ordering::Release);
        }
        // Release: pairs with the Acquire in `places`; the places are empty.
        let order = (Ordering::Release, Ordering::Relaxed);
        let raced =
            self.levels[level].compare_exchange(std::ptr::null_mut(), new, order.0, order.1);
        if raced.is_err() && !is_mutant(Mutant::LevelReplaced) {
            // SAFETY: this thread lost the race, so no other has seen `new`, a level's places.
            drop(unsafe { boxed(new, level) });
        }
        self.places(level).expect("a level that was just added")
    }

    fn places(&self, level: usize) -> Option<&[AtomicPtr<T>]> {
        // Acquire: pairs with the Release in `add`.
        let places = self.levels[level].load(Ordering::Acquire);
        if places.is_null() {
            return None;
        }
        // SAFETY: `add` made `len_of(level)` places, which live as long as the directory.
        Some(unsafe { std::slice::from_raw_parts(places, len_of(level)) })
    }
}

impl<T> Drop for Directory<T> {
    fn drop(&mut self) {
        for (level, places) in self.levels.iter().enumerate() {
            let places = places.load(Ordering::Acquire);
            if places.is_null() {
                continue;
            }
            // SAFETY: made by `add`; `&mut self` is the only owner.
            let places = unsafe { boxed(places, level) };
            for value in &places {
                let value = value.load(Ordering::Acquire);
                if !value.is_null() {
                    // SAFETY: made by `Box::into_raw` in `set`; `&mut self` is the only owner.
                    drop(unsafe { Box::from_raw(value) });
                }
            }
        }
    }
}

/// Takes back the ownership of a level's places.
///
/// # Safety
/// `places` came from `Directory::add` for this level, and no other thread can reach it.
unsafe fn boxed<T>(places: *mut AtomicPtr<T>, level: usize) -> Box<[AtomicPtr<T>]> {
    let places = std::ptr::slice_from_raw_parts_mut(places, len_of(level));
    // SAFETY: made by `Box::into_raw`, as the caller says.
    unsafe { Box::from_raw(places) }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
