//! `RawRwLatch`: the algorithm of [`super::RwLatch`], without the value that it guards.
//!
//! There are three ways to read, on one word ([`LatchWord`]):
//!
//! * *counted*: the reader increments the word, and decrements it afterwards;
//! * *favoured*: when readers collide, the word changes to favour them: they show themselves in
//!   their own rows and write nothing shared. The next writer ends the favour. It does not return
//!   before nine times as long as ending it took, or twice as long as the last time if it lasted
//!   briefly;
//! * *optimistic*: the reader reads the version and checks it afterwards, for data that may be read
//!   while being written.
//!
//! A thread that finds the latch taken looks again a few times, which is usually enough, without
//! reading the clock. After that its time is booked: it spins for at most 2 us, and not at all
//! while more threads than CPUs want to run, and then parks. Barging is allowed: waking a thread
//! takes microseconds, so a running thread may take a freed latch first, and while one woken thread
//! is on its way no other is woken. But the head of a queue that has waited for 0.75 ms gets the
//! latch handed over. Readers go in batches: a writer that leaves admits all parked readers, the
//! last reader wakes a writer, and while a writer is parked new readers wait.

use std::marker::PhantomData;

use super::distributed::Hold;
use super::latch_slow_path::{self, Brief, LatchCost, LatchSlowPath, Next};
use super::latch_word::{LatchWord, Wanted};
use super::readers::{self, ReaderOrders};
use super::{LatchClass, Proven, Row, thread_number};
use crate::sync::{AtomicU64, Ordering, fence};

/// The favour of readers is suspended this many times as long as ending it took.
const RESUME_AFTER: u64 = 9;

/// One in this many collisions of readers reads the clock.
#[cfg(not(any(loom, shuttle)))]
const COLLISIONS_BEFORE_CLOCK: u64 = 16;

/// The memory orderings of words that count their readers; other than [`Proven`] only in tests that
/// must fail.
pub trait LatchOrders {
    /// The ordering of the exchanges that take the latch.
    const TAKE: Ordering;
    /// The ordering of the read-modify-writes that free it.
    const FREE: Ordering;
    /// Whether a latch's writer has its fence against optimistic readers.
    const WRITER_FENCE: bool;
    /// Whether optimistic readers have their fence.
    const VALIDATE_FENCE: bool;
    /// Whether a thread that enters the queue checks the word again under the bucket's lock.
    const LOOKS_AGAIN: bool = true;
    /// Whether the last reader wakes a parked writer.
    const LAST_READER_WAKES: bool = true;
    /// Whether a woken thread clears the mark that it is on its way, so that others may be woken.
    const SAYS_IT_IS_THERE: bool = true;
}

impl LatchOrders for Proven {
    // Acquire: pairs with the Release in `free_read` and `free_write`.
    const TAKE: Ordering = Ordering::Acquire;
    // Release: pairs with the Acquire in `try_read` and `try_write`.
    const FREE: Ordering = Ordering::Release;
    const WRITER_FENCE: bool = true;
    const VALIDATE_FENCE: bool = true;
}

/// The latch's word, and the state of its favour of readers.
#[derive(Debug)]
pub struct RawRwLatch<O = Proven> {
    pub(super) word: AtomicU64,
    /// Clock ticks from which on readers may be favoured again. On the word's cache line, and read
    /// only when readers have collided.
    resume_at: AtomicU64,
    /// The ticks for which the favour of readers was last suspended. Only writers use it.
    away: AtomicU64,
    /// The number of collisions of readers, of which a few are lost.
    #[cfg(not(any(loom, shuttle)))]
    collisions: AtomicU64,
    /// Each latch has its own queue, since a model's primitives do not outlive its run.
    #[cfg(shuttle)]
    pub(super) queues: super::latch_queue::LatchQueues,
    orders: PhantomData<O>,
}

/// The version that an optimistic reader saw when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatchVersion(u64);

impl<O: LatchOrders + ReaderOrders> RawRwLatch<O> {
    /// Makes a free latch.
    #[must_use]
    pub fn new() -> Self {
        readers::prepare();
        Self {
            word: AtomicU64::new(0),
            resume_at: AtomicU64::new(0),
            away: AtomicU64::new(0),
            #[cfg(not(any(loom, shuttle)))]
            collisions: AtomicU64::new(0),
            #[cfg(shuttle)]
            queues: super::latch_queue::LatchQueues::new(),
            orders: PhantomData,
        }
    }

    /// Makes a free latch that favours readers until its first writer.
    #[must_use]
    pub fn favouring_readers() -> Self {
        let latch = Self::new();
        latch.word.store(LatchWord(0).with_favour().0, Ordering::Relaxed);
        latch
    }

    #[inline]
    pub(super) fn load(&self) -> LatchWord {
        LatchWord(self.word.load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn exchange(&self, from: LatchWord, to: LatchWord) -> bool {
        // Relaxed on failure: the caller tries again from a fresh load.
        self.word.compare_exchange(from.0, to.0, O::TAKE, Ordering::Relaxed).is_ok()
    }

    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Becomes a reader, waiting as long as needed. `row` is the calling thread's.
    #[inline]
    pub fn read<'r>(
        &self,
        row: Option<&'r Row>,
        class: LatchClass,
    ) -> (Hold<'r>, Option<LatchCost>) {
        let word = self.load();
        if word.favours_readers() {
            if let Some(hold) = self.try_shown(row) {
                return (hold, None);
            }
        } else if word.admits(Wanted::Read) && self.exchange(word, word.with_reader()) {
            return (Hold::Counted, None);
        }
        self.read_again(row, class)
    }

    /// Becomes a reader that shows itself in its row.
    #[inline]
    fn try_shown<'r>(&self, row: Option<&'r Row>) -> Option<Hold<'r>> {
        // Acquire: sees the favour, and what the writer before it wrote, because the exchange that
        // favours readers continues the release sequence of that writer's `free_write`.
        let still = || LatchWord(self.word.load(Ordering::Acquire)).favours_readers();
        readers::enter::<O>(row?, self.address(), still).map(Hold::Shown)
    }

    /// Reads after a first attempt that failed, because of another reader or a writer.
    #[cold]
    fn read_again<'r>(
        &self,
        row: Option<&'r Row>,
        class: LatchClass,
    ) -> (Hold<'r>, Option<LatchCost>) {
        let mut brief = Brief::default();
        while brief.goes_on() {
            if let Some(hold) = self.attempt_read(row) {
                return (hold, brief.end(class));
            }
        }
        let mut slow_path = LatchSlowPath::after(brief, class, Wanted::Read, self.owner());
        loop {
            if let Some(hold) = self.attempt_read(row) {
                return (hold, Some(slow_path.end()));
            }
            if self.wait(&mut slow_path) == Next::Taken {
                return (Hold::Counted, Some(slow_path.end()));
            }
        }
    }

    /// Becomes a reader and makes the latch favour readers, because they have collided.
    fn attempt_read<'r>(&self, row: Option<&'r Row>) -> Option<Hold<'r>> {
        let word = self.load();
        if word.favours_readers()
            && let Some(hold) = self.try_shown(row)
        {
            return Some(hold);
        }
        if !word.admits(Wanted::Read) {
            return None;
        }
        let taken = word.with_reader();
        let taken = if self.may_favour() { taken.with_favour() } else { taken };
        self.exchange(word, taken).then_some(Hold::Counted)
    }

    /// Whether the favour of readers may return. A clock read costs as much as several attempts, so
    /// that only one in [`COLLISIONS_BEFORE_CLOCK`] collisions checks.
    fn may_favour(&self) -> bool {
        let resume_at = self.resume_at.load(Ordering::Relaxed);
        if resume_at == 0 {
            return true;
        }
        #[cfg(not(any(loom, shuttle)))]
        {
            // Some collisions are lost: a plain load and store on a line that is written anyway.
            let collisions = self.collisions.load(Ordering::Relaxed).wrapping_add(1);
            self.collisions.store(collisions, Ordering::Relaxed);
            if !collisions.is_multiple_of(COLLISIONS_BEFORE_CLOCK) {
                return false;
            }
        }
        latch_slow_path::now() >= resume_at
    }

    /// Becomes a reader unless a writer holds the latch or waits for it.
    #[inline]
    pub fn try_read<'r>(&self, row: Option<&'r Row>) -> Option<Hold<'r>> {
        let word = self.load();
        if word.favours_readers() {
            return self.try_shown(row);
        }
        let taken = word.admits(Wanted::Read) && self.exchange(word, word.with_reader());
        taken.then_some(Hold::Counted)
    }

    /// Becomes the writer, waiting as long as needed. `rows` are those of all threads.
    #[inline]
    pub fn write<'r>(
        &self,
        rows: impl FnOnce() -> &'r [Row],
        class: LatchClass,
    ) -> Option<LatchCost> {
        let word = self.load();
        if word.admits(Wanted::Write) && self.try_take(word) {
            if !word.has_shown_readers() {
                return None;
            }
            let slow_path = LatchSlowPath::after(Brief::default(), class, Wanted::Write, 0);
            return Some(self.revoke(slow_path, rows()));
        }
        self.write_again(rows, class)
    }

    /// Takes the word as the writer; readers may still be in their rows.
    #[inline]
    fn try_take(&self, word: LatchWord) -> bool {
        let taken = self.exchange(word, word.with_writer(thread_number()));
        // Release: pairs with the Acquire fence in `validate`. An optimistic reader that sees what
        // this writer stores sees that the word was taken.
        if O::WRITER_FENCE {
            fence(Ordering::Release);
        }
        taken
    }

    /// Becomes the writer after a first attempt that failed.
    #[cold]
    fn write_again<'r>(
        &self,
        rows: impl FnOnce() -> &'r [Row],
        class: LatchClass,
    ) -> Option<LatchCost> {
        let mut brief = Brief::default();
        while brief.goes_on() {
            let word = self.load();
            if word.admits(Wanted::Write) && self.try_take(word) {
                if !word.has_shown_readers() {
                    return brief.end(class);
                }
                let slow_path = LatchSlowPath::after(brief, class, Wanted::Write, 0);
                return Some(self.revoke(slow_path, rows()));
            }
        }
        let mut slow_path = LatchSlowPath::after(brief, class, Wanted::Write, self.owner());
        loop {
            let word = self.load();
            if word.admits(Wanted::Write) && self.try_take(word) {
                return Some(match word.has_shown_readers() {
                    true => self.revoke(slow_path, rows()),
                    false => slow_path.end(),
                });
            }
            if self.wait(&mut slow_path) == Next::Taken {
                fence(Ordering::Release);
                // The thread that handed it over may have found it in favour of readers.
                return Some(self.revoke(slow_path, rows()));
            }
        }
    }

    /// Waits for the readers in their rows to leave; the word keeps new ones out.
    #[cold]
    fn revoke(&self, mut slow_path: LatchSlowPath, rows: &[Row]) -> LatchCost {
        let started = latch_slow_path::now();
        readers::writer_barrier::<O>();
        readers::wait_out::<O>(rows, self.address(), || slow_path.pause());
        let ended = latch_slow_path::now();
        let least = ended.saturating_sub(started).saturating_mul(RESUME_AFTER);
        let before = self.away.load(Ordering::Relaxed);
        // With frequent writers, a brief favour costs more than it saves.
        let was_brief = started.saturating_sub(self.resume_at.load(Ordering::Relaxed)) < before;
        let longer = before.saturating_mul(2).min(latch_slow_path::away_max());
        let away = if was_brief { longer.max(least) } else { least };
        // Relaxed: only a writer stores these, and readers use them as hints.
        self.away.store(away, Ordering::Relaxed);
        self.resume_at.store(ended.saturating_add(away), Ordering::Relaxed);
        slow_path.end()
    }

    /// Ends a read that [`Self::read`] or [`Self::try_read`] began.
    #[inline]
    pub fn free_read(&self, hold: Hold<'_>) {
        match hold {
            Hold::Shown(slot) => readers::leave::<O>(slot),
            Hold::Counted => {
                let before = LatchWord(self.word.fetch_sub(LatchWord::READER, O::FREE));
                if O::LAST_READER_WAKES && before.was_last_reader() {
                    self.last_reader_left();
                }
            }
        }
    }

    /// Ends the write that [`Self::write`] began.
    #[inline]
    pub fn free_write(&self) {
        let word = self.load();
        let (free, failed) = (O::FREE, Ordering::Relaxed);
        // The exchange fails if a thread has just entered the queue.
        if word.is_queued_for()
            || self.word.compare_exchange(word.0, word.freed().0, free, failed).is_err()
        {
            self.free_write_queued();
        }
    }

    /// Begins an optimistic read: returns the version, or `None` if there is a writer.
    #[inline]
    #[must_use]
    pub fn optimistic(&self) -> Option<LatchVersion> {
        // Acquire: pairs with the Release in `free_write`.
        let word = LatchWord(self.word.load(Ordering::Acquire));
        (!word.is_written()).then_some(LatchVersion(word.version()))
    }

    /// Whether nothing was written since `version`.
    #[inline]
    #[must_use]
    pub fn validate(&self, version: LatchVersion) -> bool {
        // Acquire: pairs with the Release fence in `try_take`.
        if O::VALIDATE_FENCE {
            fence(Ordering::Acquire);
        }
        self.load().version() == version.0
    }

    /// The ledger number of the writer; 0 if there is none.
    pub fn owner(&self) -> u32 {
        self.load().owner()
    }

    fn wait(&self, slow_path: &mut LatchSlowPath) -> Next {
        if slow_path.spin() { Next::TryAgain } else { self.park(slow_path) }
    }
}

impl<O: LatchOrders + ReaderOrders> Default for RawRwLatch<O> {
    fn default() -> Self {
        Self::new()
    }
}

/// Under loom no thread parks.
#[cfg(loom)]
impl<O> RawRwLatch<O> {
    fn park(&self, _slow_path: &mut LatchSlowPath) -> Next {
        Next::TryAgain
    }

    fn free_write_queued(&self) {
        unreachable!("no thread is queued");
    }

    fn last_reader_left(&self) {
        unreachable!("no thread is queued");
    }
}
