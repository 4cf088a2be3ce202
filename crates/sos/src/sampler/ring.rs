//! `Ring`: a ring buffer of records from one thread to the collector.
//!
//! ```text
//!   the thread: words, then head (Release)      the collector: words up to head, then tail (Release)
//! ```
//!
//! The writer may be a signal handler, so it never waits. A record that finds no room is counted as
//! lost.
//!
//! Checked by `tests/loom_sampler.rs`: a collector beside the writer, and mutants that must fail.

use std::marker::PhantomData;

use crate::lock::Proven;
use crate::stack::StackId;
use crate::sync::{AtomicU64, Ordering};

const WORDS: usize = 3;

/// One sample of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The call stack at the sample.
    pub stack: StackId,
    /// The kind of record: CPU time, wait or allocation.
    pub kind: u8,
    /// The state, wait type or clerk, as an index: each kind has its own.
    pub subject: u8,
    /// The ledger label of the thread, as an index.
    pub label: u8,
    /// The statement that ran; 0 for none.
    pub statement: u64,
    /// The amount that it represents: periods, ns or bytes.
    pub weight: u64,
}

/// The orderings of a [`Ring`]; other than [`Proven`] only in tests that must fail.
pub trait RingOrders {
    /// The ordering of the store that publishes a record.
    const SHOW: Ordering;
    /// The ordering of the collector's load of the head.
    const LOOK: Ordering;
    /// Whether the collector frees room only after it has read the records there.
    const READS_FIRST: bool;
}

impl RingOrders for Proven {
    // Release: pairs with the Acquire in `drain`: a collector that sees the head sees the words.
    const SHOW: Ordering = Ordering::Release;
    // Acquire: pairs with the Release in `push`.
    const LOOK: Ordering = Ordering::Acquire;
    const READS_FIRST: bool = true;
}

/// A ring with room for `N` records.
#[derive(Debug)]
pub struct Ring<const N: usize, O = Proven> {
    head: AtomicU64,
    tail: AtomicU64,
    records: [[AtomicU64; WORDS]; N],
    /// The number of lost records; only the writer writes it.
    lost: AtomicU64,
    orders: PhantomData<O>,
}

impl<const N: usize, O> Default for Ring<N, O> {
    fn default() -> Self {
        Self {
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            records: std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))),
            lost: AtomicU64::new(0),
            orders: PhantomData,
        }
    }
}

impl<const N: usize, O: RingOrders> Ring<N, O> {
    /// Adds a record. Only the writer may call it.
    pub fn push(&self, record: Record) {
        let head = self.head.load(Ordering::Relaxed);
        // Acquire: pairs with the Release in `drain`, so that the slot's last record has been read.
        if head - self.tail.load(Ordering::Acquire) >= N as u64 {
            // Relaxed: a count with one writer.
            self.lost.store(self.lost.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            return;
        }
        let words = [
            u64::from(record.stack.number())
                | u64::from(record.kind) << 32
                | u64::from(record.subject) << 40
                | u64::from(record.label) << 48,
            record.statement,
            record.weight,
        ];
        for (slot, word) in self.slot(head).iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
        }
        self.head.store(head + 1, O::SHOW);
    }

    /// Takes all records out. One collector at a time may call it.
    pub fn drain(&self, mut take: impl FnMut(Record)) {
        let head = self.head.load(O::LOOK);
        let tail = self.tail.load(Ordering::Relaxed);
        if !O::READS_FIRST {
            self.tail.store(head, Ordering::Release);
        }
        for at in tail..head {
            let [first, statement, weight] =
                std::array::from_fn(|i| self.slot(at)[i].load(Ordering::Relaxed));
            let byte = |shift: u32| u8::try_from(first >> shift & 0xFF).unwrap_or(0);
            take(Record {
                stack: StackId::of_number(u32::try_from(first & 0xFFFF_FFFF).unwrap_or(0)),
                kind: byte(32),
                subject: byte(40),
                label: byte(48),
                statement,
                weight,
            });
        }
        // Release: pairs with the Acquire in `push`.
        self.tail.store(head, Ordering::Release);
    }

    /// The number of records that found no room.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn slot(&self, at: u64) -> &[AtomicU64; WORDS] {
        &self.records[usize::try_from(at % N as u64).unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64) -> Record {
        let stack = StackId::of_number(u32::MAX - 7);
        Record { stack, kind: 2, subject: 255, label: 9, statement: u64::MAX, weight: number }
    }

    #[test]
    fn records_come_out_as_they_went_in_and_what_finds_no_room_is_counted() {
        let ring = Ring::<4>::default();
        for round in 0..5 {
            (0..6).for_each(|i| ring.push(record(round * 10 + i)));
            let mut taken = Vec::new();
            ring.drain(|record| taken.push(record));
            assert_eq!(taken, (0..4).map(|i| record(round * 10 + i)).collect::<Vec<_>>());
            assert_eq!(ring.lost(), 2 * (round + 1));
        }
    }

    #[test]
    fn a_collector_beside_the_writer_sees_each_record_once_and_in_order() {
        const RECORDS: u64 = 200_000;
        let ring = Ring::<16>::default();
        let mut taken = Vec::new();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (0..RECORDS).for_each(|i| ring.push(record(i))));
            while !writer.is_finished() {
                ring.drain(|record| taken.push(record.weight));
            }
        });
        ring.drain(|record| taken.push(record.weight));
        assert!(taken.is_sorted_by(|before, after| before < after));
        assert_eq!(taken.len() as u64 + ring.lost(), RECORDS);
    }
}
