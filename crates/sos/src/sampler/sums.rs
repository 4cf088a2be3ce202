//! `Sums`: samples added up by place, in a hash table of limited size; when it is full, samples
//! count at a caller instead of being lost.
//!
//! ```text
//!   place: stack, thread, statement, kind, subject, label ─► hash ─► a slot, or one of those behind it
//!
//!   1,024 slots ─► 32,768, three quarters of them used: a new place counts at its caller from then on,
//!                  15 of 16 used: at the nearest caller of its that has a slot
//! ```
//! The table grows in one step: a busy server takes as much memory after its first minute as after
//! an hour, and an idle server never needs the second size.
//!
//! Sums only grow, so that two readings can be compared. The exception are those of ended threads,
//! which are added up under thread 0.

use super::recorder::CPU;
use crate::stack::{self, StackId};

/// The number of slots at first.
const FEW: usize = 1 << 10;
/// The number of slots after growth: 1.3 MB.
const MANY: usize = 1 << 15;
/// With this many slots used, new places are counted at callers.
const OWN_MAX: usize = MANY / 4 * 3;
/// The most slots in use, so that a search ends soon.
const USED_MAX: usize = MANY / 16 * 15;

/// What samples that are added up have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The call stack of the samples.
    pub(super) stack: StackId,
    /// The thread's number in the ledger; 0 for threads that have ended, and for kinds without it.
    pub(super) thread: u32,
    /// The statement that ran; 0 for none.
    pub(super) statement: u64,
    /// The kind of record: CPU time, wait or allocation.
    pub(super) kind: u8,
    /// The state, wait type or clerk, as an index: each kind has its own.
    pub(super) subject: u8,
    /// The ledger label of the thread, as an index.
    pub(super) label: u8,
}

/// The sum at one place; a free slot has no samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) place: Place,
    pub(super) samples: u64,
    /// The amount that they stand for: periods, ns or bytes.
    pub(super) weight: u64,
}

/// Where samples have been counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    InPlace,
    /// At a caller, because there was no room for another place.
    AtCaller,
    /// Nowhere, because there was no room for a caller either.
    Not,
}

const _: () = assert!(size_of::<Sum>() == 40 && MANY * size_of::<Sum>() < 4 << 20);

/// The hash table of sums by place.
#[derive(Debug, Default)]
pub(super) struct Sums {
    slots: Box<[Sum]>,
    used: usize,
}

impl Sums {
    /// Adds samples at their place, or at the nearest caller with room.
    pub(super) fn add(&mut self, sum: &Sum) -> Kept {
        if self.slots.is_empty() || (self.slots.len() < MANY && self.used >= FEW / 4 * 3) {
            self.grow();
        }
        if self.add_at(sum, OWN_MAX) {
            return Kept::InPlace;
        }
        let at_caller = |stack| Sum { place: Place { stack, ..sum.place }, ..*sum };
        let mut caller = stack::caller(sum.place.stack);
        while let Some(stack) = caller {
            if self.add_at(&at_caller(stack), USED_MAX) {
                return Kept::AtCaller;
            }
            caller = stack::caller(stack);
        }
        Kept::Not
    }

    /// The number of slots in use, and the number up to which a new place gets its own.
    pub(super) fn fill(&self) -> (u64, u64) {
        (self.used as u64, OWN_MAX as u64)
    }

    /// Adds samples at their place, which gets a slot if fewer than `used_max` are in use; false if
    /// it has none.
    fn add_at(&mut self, sum: &Sum, used_max: usize) -> bool {
        let at = self.slot_of(&sum.place);
        let slot = &mut self.slots[at];
        if slot.samples == 0 {
            if self.used >= used_max {
                return false;
            }
            self.used += 1;
            slot.place = sum.place;
        }
        slot.samples += sum.samples;
        slot.weight += sum.weight;
        true
    }

    /// The slot that a place has, or would get. There is always a free one.
    fn slot_of(&self, place: &Place) -> usize {
        let slots = self.slots.len();
        let mut at = first_slot(place, slots);
        while self.slots[at].samples != 0 && self.slots[at].place != *place {
            at = (at + 1) % slots;
        }
        at
    }

    fn grow(&mut self) {
        let slots = if self.slots.is_empty() { FEW } else { MANY };
        let new = vec![Sum::default(); slots].into_boxed_slice();
        let old = std::mem::replace(self, Self { slots: new, used: 0 });
        old.slots.iter().filter(|sum| sum.samples != 0).for_each(|sum| self.put_back(sum));
    }

    /// Adds a sum that was just taken out of the table.
    fn put_back(&mut self, sum: &Sum) {
        let is_added = self.add_at(sum, USED_MAX);
        assert!(is_added, "no more places than before");
    }

    /// Moves the sums of a thread to thread 0, which means all ended threads.
    pub(super) fn end_thread(&mut self, thread: u32) {
        let mut own = Vec::new();
        for at in 0..self.slots.len() {
            // Freeing a slot may move another sum of the thread into it.
            while let sum = self.slots[at]
                && sum.samples != 0
                && (sum.place.kind, sum.place.thread) == (CPU, thread)
            {
                own.push(Sum { place: Place { thread: 0, ..sum.place }, ..sum });
                self.free(at);
            }
        }
        own.iter().for_each(|sum| self.put_back(sum));
    }

    /// Frees a slot. Sums behind it move up, so that no search ends before them (Knuth 6.4,
    /// algorithm R).
    fn free(&mut self, mut at: usize) {
        let slots = self.slots.len();
        let behind = |one: usize, other: usize| (one + slots - other) % slots;
        let mut next = (at + 1) % slots;
        while self.slots[next].samples != 0 {
            let first = first_slot(&self.slots[next].place, slots);
            if behind(next, first) >= behind(next, at) {
                self.slots[at] = self.slots[next];
                at = next;
            }
            next = (next + 1) % slots;
        }
        self.slots[at] = Sum::default();
        self.used -= 1;
    }

    /// The sums of one kind of record, in no order.
    pub(super) fn of_kind(&self, kind: u8) -> impl Iterator<Item = &Sum> {
        self.slots.iter().filter(move |sum| sum.samples != 0 && sum.place.kind == kind)
    }
}

/// The slot at which a place's search starts: a multiplicative hash, whose upper half depends on
/// all bits.
fn first_slot(place: &Place, slots: usize) -> usize {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |word: u64| (word ^ word >> 29).wrapping_mul(ODD);
    let small = u32::from_be_bytes([0, place.kind, place.subject, place.label]);
    let first = mix(u64::from(place.stack.number()) << 32 | u64::from(small));
    let second = mix(first ^ place.statement.rotate_left(32) ^ u64::from(place.thread));
    (usize::try_from(second >> 32).unwrap_or(0) * slots) >> 32
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::recorder::WAIT;
    use super::*;

    fn sum(stack: StackId, kind: u8, thread: u32, weight: u64) -> Sum {
        let place = Place { stack, thread, statement: weight % 3, kind, subject: 200, label: 7 };
        Sum { place, samples: 1, weight }
    }

    fn weight_of(sums: &Sums) -> u64 {
        [CPU, WAIT].map(|kind| sums.of_kind(kind).map(|sum| sum.weight).sum::<u64>()).iter().sum()
    }

    #[test]
    fn sums_are_those_of_a_map() {
        let (mut sums, mut model) = (Sums::default(), HashMap::<_, (u64, u64)>::new());
        let mut used_most = 0;
        for i in 0..120_000_u32 {
            let random = i.wrapping_mul(0x9E37_79B9).rotate_left(15);
            let stack = StackId::of_number(random % 701);
            let kind = [CPU, WAIT][usize::from(random.is_multiple_of(5))];
            let thread = 1 + i % 6 + i / 20_000;
            let seen = sum(stack, kind, thread, u64::from(random % 2));
            assert_eq!(sums.add(&seen), Kept::InPlace);
            let (samples, weight) =
                model.entry((stack, kind, thread, seen.place.statement)).or_default();
            (*samples, *weight) = (*samples + 1, *weight + seen.weight);
            if i % 20_000 == 19_999 {
                let ended = 1 + i / 20_000;
                sums.end_thread(ended);
                let is_its = |key: &(_, u8, u32, _)| (key.1, key.2) == (CPU, ended);
                for ((stack, kind, _, statement), sum) in
                    model.extract_if(|key, _| is_its(key)).collect::<Vec<_>>()
                {
                    let (samples, weight) = model.entry((stack, kind, 0, statement)).or_default();
                    (*samples, *weight) = (*samples + sum.0, *weight + sum.1);
                }
            }
            used_most = used_most.max(sums.used);
        }
        assert!((OWN_MAX / 2..OWN_MAX).contains(&used_most), "{used_most}: full as it gets");
        let is_as_known = |sum: &Sum| {
            let Place { stack, thread, statement, kind, .. } = sum.place;
            assert_eq!((sum.place.subject, sum.place.label), (200, 7));
            model.get(&(stack, kind, thread, statement)) == Some(&(sum.samples, sum.weight))
        };
        let all = || sums.of_kind(CPU).chain(sums.of_kind(WAIT));
        assert!(all().all(is_as_known));
        assert_eq!((all().count(), sums.used), (model.len(), model.len()));
        // Each sum is found by a search for its place.
        assert!(all().all(|sum| sums.slots[sums.slot_of(&sum.place)] == *sum));
    }

    #[test]
    fn what_ended_threads_were_seen_at_becomes_one() {
        let mut sums = Sums::default();
        let stack = StackId::of_number(9);
        for thread in [1, 2, 3, 1, 2, 2] {
            sums.add(&sum(stack, CPU, thread, 3));
            sums.add(&sum(stack, WAIT, thread, 6));
        }
        sums.end_thread(1);
        sums.end_thread(2);
        sums.end_thread(4);
        let threads = |kind| {
            let own = sums.of_kind(kind).map(|sum| (sum.place.thread, sum.samples, sum.weight));
            let mut own: Vec<_> = own.collect();
            own.sort_unstable();
            own
        };
        assert_eq!(threads(CPU), [(0, 5, 15), (3, 1, 3)]);
        assert_eq!(threads(WAIT), [(1, 2, 12), (2, 3, 18), (3, 1, 6)]);
        assert_eq!(sums.used, 5);
    }

    #[test]
    fn a_full_table_counts_at_callers_and_loses_nothing_that_has_one() {
        const LEAVES: usize = 60_000;
        let stack_of = |i: usize| stack::keep(&[i * 4 + 4, i % 9_000 * 4 + 0x100_0000, 0x200_0000]);
        let mut sums = Sums::default();
        let root = stack::keep(&[0x200_0000]);
        sums.add(&sum(root, CPU, 1, 3));
        let first: Vec<_> = (0..LEAVES).map(stack_of).collect();
        for (i, &stack) in first.iter().enumerate() {
            let expected = if i + 1 < OWN_MAX { Kept::InPlace } else { Kept::AtCaller };
            assert_eq!(sums.add(&sum(stack, CPU, 1, 3)), expected);
        }
        assert_eq!((sums.slots.len(), sums.used), (MANY, USED_MAX));
        assert_eq!(weight_of(&sums), (LEAVES as u64 + 1) * 3);
        let of = |sums: &Sums, stack| {
            let mut own = sums.of_kind(CPU).filter(|sum| sum.place.stack == stack);
            own.next().map(|sum| sum.samples)
        };
        assert_eq!((of(&sums, first[7]), of(&sums, first[OWN_MAX])), (Some(1), None));
        assert!(of(&sums, stack::caller(first[OWN_MAX]).expect("it has one")) > Some(1));
        assert!(of(&sums, root) > Some(1_000), "callers that came when there was no room for them");
        // Places with a slot keep it.
        assert_eq!(sums.add(&sum(first[7], CPU, 1, 3)), Kept::InPlace);
        assert_eq!(of(&sums, first[7]), Some(2));
        // This thread has no sums at callers.
        assert_eq!(sums.add(&sum(first[LEAVES - 1], CPU, 2, 3)), Kept::Not);
        assert_eq!(weight_of(&sums), (LEAVES as u64 + 2) * 3);
    }
}
