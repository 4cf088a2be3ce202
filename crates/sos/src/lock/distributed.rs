//! The distributed mode of a reader/writer spinlock: each thread shows its reads in its own row, so
//! readers write no shared cache line; a writer pays with a barrier on all CPUs.
//!
//! | favours readers | word   | rows   | meaning                                                     |
//! |-----------------|--------|--------|-------------------------------------------------------------|
//! | yes             | free   | some   | readers, each in its row                                    |
//! | no              | writer | some   | a writer waits for those readers; new ones go to the word   |
//! | no              | writer | none   | one writer                                                  |
//! | no              | n      | none   | n readers, counted in the word as in the one-word mode      |
//!
//! Frequent writers would pay for the barrier each time: after a revocation the lock stays in its
//! one-word mode for nine times as long as the revocation took, so that writers lose at most a
//! tenth.

use super::readers::{self, ReaderOrders, Shown};
use super::spin_slow_path::SpinCost;
use super::{LatchOrders, Proven, RawRwSpin, Row, SpinClass, WordMode};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, CachePadded, Ordering};

/// The one-word mode lasts this many times as long as the switch to it took.
const RESUME_AFTER: u64 = 9;
/// One in this many counted reads reads the clock, to return to the distributed mode.
const READS_BEFORE_CLOCK: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 64 };

/// The words of the lock, without the value that it guards.
#[derive(Debug)]
pub struct RawDistributed<O = Proven> {
    /// On its own cache line: written only when the lock changes its mode.
    favours_readers: CachePadded<AtomicBool>,
    fallback: CachePadded<Fallback<O>>,
}

#[derive(Debug)]
struct Fallback<O> {
    word: RawRwSpin<O>,
    /// The number of counted reads, of which some are lost: a plain load and store on a line that
    /// is written anyway.
    reads: AtomicU32,
    /// Clock ticks from which on readers may be favoured again.
    resume_at: AtomicU64,
}

/// How a reader holds a lock.
#[derive(Clone, Copy, Debug)]
#[must_use = "a read that is not freed lasts for ever"]
pub enum Hold<'r> {
    /// The read is shown in the thread's row.
    Shown(Shown<'r>),
    /// Counted in the lock's word.
    Counted,
}

impl<O: ReaderOrders + LatchOrders> RawDistributed<O> {
    /// Makes a free lock that favours readers.
    #[must_use]
    pub fn new() -> Self {
        readers::prepare();
        Self {
            favours_readers: CachePadded::new(AtomicBool::new(true)),
            fallback: CachePadded::new(Fallback {
                word: RawRwSpin::new(WordMode::Shared),
                reads: AtomicU32::new(0),
                resume_at: AtomicU64::new(0),
            }),
        }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Becomes a reader, spinning while there is a writer. `row` is the calling thread's.
    #[inline]
    pub fn read<'r>(&self, row: Option<&'r Row>, class: SpinClass) -> (Hold<'r>, Option<SpinCost>) {
        if let Some(row) = row
            && self.favours_readers.load(Ordering::Relaxed)
            // Acquire: pairs with the Release in `consider_readers`.
            && let Some(slot) = readers::enter::<O>(row, self.address(), || {
                self.favours_readers.load(Ordering::Acquire)
            })
        {
            return (Hold::Shown(slot), None);
        }
        self.read_counted(class)
    }

    #[cold]
    fn read_counted(&self, class: SpinClass) -> (Hold<'static>, Option<SpinCost>) {
        let booking = self.fallback.word.read(class);
        let reads = self.fallback.reads.load(Ordering::Relaxed).wrapping_add(1);
        self.fallback.reads.store(reads, Ordering::Relaxed);
        if reads.is_multiple_of(READS_BEFORE_CLOCK)
            && now() >= self.fallback.resume_at.load(Ordering::Relaxed)
        {
            // Release: publishes to the favoured readers what this one acquired with the word. It
            // holds the word, so there is no writer.
            self.favours_readers.store(true, Ordering::Release);
        }
        (Hold::Counted, booking)
    }

    /// Ends a read that [`Self::read`] began.
    #[inline]
    pub fn free_read(&self, hold: Hold<'_>) {
        match hold {
            Hold::Shown(slot) => readers::leave::<O>(slot),
            Hold::Counted => self.fallback.word.free_read(),
        }
    }

    /// Becomes the writer, spinning until the last reader has gone. `rows` are those of all
    /// threads.
    #[cold]
    pub fn write<'r>(
        &self,
        rows: impl FnOnce() -> &'r [Row],
        class: SpinClass,
    ) -> Option<SpinCost> {
        let booking = self.fallback.word.write(class);
        // Relaxed: it becomes true only under the word in shared mode, which this thread excludes.
        if !self.favours_readers.load(Ordering::Relaxed) {
            return booking;
        }
        let started = now();
        self.favours_readers.store(false, Ordering::Relaxed);
        readers::writer_barrier::<O>();
        let mut slow_path = None;
        readers::wait_out::<O>(rows(), self.address(), || {
            let begin = || super::spin_slow_path::SpinSlowPath::begin(class, 0, self.address());
            slow_path.get_or_insert_with(begin).pause();
        });
        let ended = now();
        let pause = ended.saturating_sub(started).saturating_mul(RESUME_AFTER);
        self.fallback.resume_at.store(ended.saturating_add(pause), Ordering::Relaxed);
        slow_path.map(super::spin_slow_path::SpinSlowPath::end).or(booking)
    }

    /// Ends the write that [`Self::write`] began.
    pub fn free_write(&self) {
        self.fallback.word.free_write();
    }
}

impl<O: ReaderOrders + LatchOrders> Default for RawDistributed<O> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(not(any(loom, shuttle)))]
fn now() -> u64 {
    crate::clock::now_ticks()
}

/// Under a model checker no time passes: readers are favoured again at once.
#[cfg(any(loom, shuttle))]
const fn now() -> u64 {
    0
}
