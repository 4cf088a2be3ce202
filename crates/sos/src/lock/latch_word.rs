//! `LatchWord`: the 8 bytes of a latch as a value, and how it may change.
//!
//! | bits     | name             | meaning                                                            |
//! |----------|------------------|--------------------------------------------------------------------|
//! | 0 to 23  | holders          | count of readers; with `WRITER` the writer's thread number         |
//! | 24       | `WRITER`         | one writer                                                         |
//! | 25       | `HOLD_BACK`      | a writer waits: new readers must wait until it is done             |
//! | 26       | `READERS_PARKED` | readers are in the queue                                           |
//! | 27       | `WRITERS_PARKED` | writers are in the queue                                           |
//! | 28       | `WAKING`         | a woken thread is on its way: no other one need be woken           |
//! | 29       | `FAVOURS`        | readers may show themselves in their rows instead of counting      |
//! | 32 to 63 | version          | incremented by every writer                                        |
//!
//! The flags of the queue are set only under the lock of its bucket. `FAVOURS` and `WRITER` exclude
//! each other.

const HOLDERS: u64 = (1 << 24) - 1;
const WRITER: u64 = 1 << 24;
const HOLD_BACK: u64 = 1 << 25;
const READERS_PARKED: u64 = 1 << 26;
const WRITERS_PARKED: u64 = 1 << 27;
const WAKING: u64 = 1 << 28;
const FAVOURS: u64 = 1 << 29;
const QUEUE: u64 = READERS_PARKED | WRITERS_PARKED;
const VERSION_ONE: u64 = 1 << 32;
const VERSION: u64 = !(VERSION_ONE - 1);

/// The mode in which a thread wants a latch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Read,
    Write,
}

/// Which kinds of threads are in the queue.
#[cfg_attr(loom, expect(dead_code, reason = "under loom no thread parks"))]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parked {
    pub(super) readers: bool,
    pub(super) writers: bool,
}

/// A value of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LatchWord(pub(super) u64);

impl LatchWord {
    /// One counted reader, as a number to subtract.
    pub(super) const READER: u64 = 1;

    #[inline]
    pub(super) const fn admits(self, wanted: Wanted) -> bool {
        match wanted {
            Wanted::Read => self.0 & (WRITER | HOLD_BACK) == 0,
            Wanted::Write => self.0 & (WRITER | HOLDERS) == 0,
        }
    }

    /// Whether a reader may show itself in its row.
    #[inline]
    pub(super) const fn favours_readers(self) -> bool {
        // A reader that only shows itself does not check the queue when it leaves.
        self.0 & (FAVOURS | HOLD_BACK | QUEUE | WRITER) == FAVOURS
    }

    /// Whether readers may be in their rows.
    #[inline]
    pub(super) const fn has_shown_readers(self) -> bool {
        self.0 & FAVOURS != 0
    }

    /// Whether the writer must check the queue when it leaves.
    #[inline]
    pub(super) const fn is_queued_for(self) -> bool {
        self.0 & (QUEUE | HOLD_BACK) != 0 && self.0 & WAKING == 0
    }

    /// Whether the reader that left this word was the last one and must check the queue. If a woken
    /// thread is on its way, that one does it instead, unless it would be held back.
    #[inline]
    pub(super) const fn was_last_reader(self) -> bool {
        let is_tended = self.0 & (WAKING | HOLD_BACK) == WAKING;
        self.0 & HOLDERS == Self::READER && self.0 & QUEUE != 0 && !is_tended
    }

    /// The ledger number of the writer; 0 if there is none.
    pub(super) fn owner(self) -> u32 {
        let holder = if self.0 & WRITER == 0 { 0 } else { self.0 & HOLDERS };
        u32::try_from(holder).unwrap_or(0)
    }

    /// The version, with the mark of a writer: equal words mean that nothing was written between.
    #[inline]
    pub(super) const fn version(self) -> u64 {
        self.0 & (VERSION | WRITER)
    }

    #[inline]
    pub(super) const fn is_written(self) -> bool {
        self.0 & WRITER != 0
    }

    #[inline]
    pub(super) const fn with_reader(self) -> Self {
        Self(self.0 + Self::READER)
    }

    /// The word with readers favoured, unless a thread is parked.
    #[inline]
    pub(super) const fn with_favour(self) -> Self {
        if self.0 & QUEUE == 0 { Self(self.0 | FAVOURS) } else { self }
    }

    /// The word after the writer with this number has taken the latch.
    #[inline]
    pub(super) fn with_writer(self, number: u32) -> Self {
        Self(self.0 & !FAVOURS | WRITER | u64::from(number) & HOLDERS)
    }

    /// The word after its writer has left, open to readers.
    #[inline]
    pub(super) const fn freed(self) -> Self {
        Self((self.0 & !(WRITER | HOLDERS | HOLD_BACK)).wrapping_add(VERSION_ONE))
    }
}

/// Changes of the word by the queue.
#[cfg(not(loom))]
impl LatchWord {
    pub(super) const fn is_held(self) -> bool {
        self.0 & (WRITER | HOLDERS) != 0
    }

    /// The word after its writer has handed it to `count` readers of the queue.
    pub(super) fn handed_to_readers(self, count: usize) -> Self {
        Self(self.freed().0 | u64::try_from(count).unwrap_or(HOLDERS) & HOLDERS)
    }

    /// The word when a thread that wants this mode is about to enter the queue.
    pub(super) const fn with_parked(self, wanted: Wanted) -> Self {
        match wanted {
            Wanted::Read => Self(self.0 | READERS_PARKED),
            Wanted::Write => Self(self.0 | WRITERS_PARKED | HOLD_BACK),
        }
    }

    /// The word with the flags for this content of the queue, and readers admitted.
    pub(super) const fn with_queue(self, parked: Parked) -> Self {
        let mut word = self.0 & !(QUEUE | HOLD_BACK);
        if parked.readers {
            word |= READERS_PARKED;
        }
        if parked.writers {
            word |= WRITERS_PARKED;
        }
        Self(word)
    }

    /// The word with new readers held back.
    pub(super) const fn holding_back(self) -> Self {
        Self(self.0 | HOLD_BACK)
    }

    /// The word with the mark that a woken thread is on its way.
    pub(super) const fn waking(self) -> Self {
        Self(self.0 | WAKING)
    }

    /// The word without that mark, and open to readers.
    pub(super) const fn awake(self) -> Self {
        Self(self.0 & !(WAKING | HOLD_BACK))
    }

    /// Whether readers are parked although the latch admits them.
    pub(super) const fn keeps_readers_out(self) -> bool {
        self.0 & READERS_PARKED != 0 && self.0 & (WRITER | HOLD_BACK | WAKING) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_overflows_into_nothing() {
        let last = LatchWord(VERSION | READERS_PARKED).with_writer(7);
        assert_eq!(last.owner(), 7);
        assert_eq!(last.freed(), LatchWord(READERS_PARKED));
    }

    #[test]
    fn writer_ends_the_readers_favour_and_keeps_the_queue() {
        let word = LatchWord(0).with_favour().with_parked(Wanted::Write);
        assert!(!word.favours_readers() && word.has_shown_readers());
        assert!(!word.admits(Wanted::Read) && word.admits(Wanted::Write));
        let taken = word.with_writer(3);
        assert!(!taken.has_shown_readers() && taken.is_queued_for());
        assert_eq!(taken.freed().version(), VERSION_ONE);
    }

    #[test]
    fn last_reader_learns_of_parked_writers() {
        let word = LatchWord(0).with_reader().with_parked(Wanted::Write);
        assert!(word.was_last_reader());
        assert!(!word.with_reader().was_last_reader());
        assert!(!LatchWord(0).with_reader().was_last_reader());
    }
}
