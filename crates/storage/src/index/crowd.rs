//! Whether several threads add rising keys to one tree, so that all of them write its last leaf.
//!
//! Nothing is counted that is not written anyway: a thread that has latched the last leaf notes there
//! whether the thread before was another one, and the index looks at these notes when a leaf is split.
//! Keys rise if most of the leaves that are split are the last one. Keys that come at random split
//! leaves everywhere, and so the tree stays one.

use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use crate::index::node::ITEMS;
use crate::primitives::own_number;

/// The notes of a leaf, written under its latch.
#[derive(Default)]
pub(super) struct Turns {
    /// The number of the thread that wrote the leaf last, plus one.
    writer: AtomicU16,
    /// How often another thread than the one before wrote it.
    turns: AtomicU16,
}

impl Turns {
    /// Notes that the calling thread writes the leaf, whose latch it has.
    pub(super) fn note(&self) {
        let me = u16::try_from(own_number() + 1).unwrap_or(u16::MAX);
        // Relaxed: only the thread that has the latch writes, and others read for a statistic.
        if self.writer.load(Ordering::Relaxed) == me {
            return;
        }
        let before = self.writer.swap(me, Ordering::Relaxed);
        if before != 0 {
            let turns = self.turns.load(Ordering::Relaxed);
            self.turns.store(turns.saturating_add(1), Ordering::Relaxed);
        }
    }

    /// Returns how often another thread than the one before wrote the leaf.
    pub(super) fn count(&self) -> u16 {
        self.turns.load(Ordering::Relaxed)
    }
}

/// A leaf of rising keys is split after half its items came: at least half of these from another thread
/// than the one before.
const TURNS_MIN: usize = ITEMS / 4;
/// Splits that are looked at together.
const SPLITS: u16 = 16;

/// What the splits of a tree say about its writers.
#[derive(Default)]
pub(super) struct Crowd {
    /// Splits since the last look, of leaves that several threads wrote at the end of the tree.
    at_end: AtomicU16,
    /// Splits of other leaves.
    elsewhere: AtomicU16,
    is_seen: AtomicBool,
}

impl Crowd {
    /// Returns whether several threads have been seen to add rising keys.
    #[inline]
    pub(super) fn is_seen(&self) -> bool {
        // Relaxed: a thread that sees it late adds to the main tree, which is as right.
        self.is_seen.load(Ordering::Relaxed)
    }

    /// Notes the split of a leaf. Notes of several threads at once may be lost.
    pub(super) fn note_split(&self, is_last: bool, turns: u16) {
        if self.is_seen() {
            return;
        }
        let is_crowded = is_last && usize::from(turns) >= TURNS_MIN;
        let kind = if is_crowded { &self.at_end } else { &self.elsewhere };
        kind.fetch_add(1, Ordering::Relaxed);
        let at_end = self.at_end.load(Ordering::Relaxed);
        if at_end.saturating_add(self.elsewhere.load(Ordering::Relaxed)) < SPLITS {
            return;
        }
        self.at_end.store(0, Ordering::Relaxed);
        self.elsewhere.store(0, Ordering::Relaxed);
        if at_end > SPLITS / 2 {
            self.is_seen.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn splits(kinds: impl Iterator<Item = (bool, u16)>) -> bool {
        let crowd = Crowd::default();
        kinds.for_each(|(is_last, turns)| crowd.note_split(is_last, turns));
        crowd.is_seen()
    }

    #[test]
    fn rising_keys_of_several_threads_are_a_crowd_and_others_are_not() {
        let many = u16::try_from(TURNS_MIN).unwrap();
        assert!(splits((0..16).map(|_| (true, many))));
        assert!(!splits((0..15).map(|_| (true, many))), "too early to say");
        assert!(!splits((0..1_000).map(|_| (true, 0))), "one thread");
        assert!(!splits((0..1_000).map(|n| (n % 8 == 0, many))), "keys at random");
    }

    #[test]
    fn only_another_thread_takes_a_turn() {
        let turns = Turns::default();
        turns.note();
        turns.note();
        assert_eq!(turns.count(), 0);
        std::thread::scope(|scope| scope.spawn(|| turns.note()).join().unwrap());
        turns.note();
        assert_eq!(turns.count(), 2);
    }
}
