//! `Patience`: how long a request that is refused memory waits for the collectors, counted in their
//! passes.
//!
//! A pass that frees nothing says that what is left can still be seen, and the request waits for
//! some more of them. A pass during which a thread held reclamation back says less: the thread may
//! be one that the machine does not run just now. Such a pass does not count. Time on the wall
//! counts nothing: on a busy machine a quarter of a second passes without any work.
//!
//! A pass that leaves nothing says nearly all: only a table that was truncated or dropped may still come,
//! where a thread that has just looked at it does not run just now. So a few more passes follow.

/// Passes that may free nothing, one after the other: a quarter of a second with the collector's
/// pauses, if the machine has nothing else to do.
const PASSES: u32 = 50;

/// As [`PASSES`], where the passes leave nothing.
const EMPTY_PASSES: u32 = 10;

/// What the collectors have done so far, in sums that only grow, and what the last pass left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Pieces that the collectors have freed.
    pub(super) freed: u64,
    /// Passes during which no thread held back what had been unlinked before.
    pub(super) settled: u64,
    /// Pieces that the last pass left.
    pub(super) left: u64,
}

/// What a request does next that still has no room after a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Asks for another pass at once.
    Ask,
    /// Asks for another one after a pause.
    Pause,
    /// Gives up: what is left can still be seen, or nothing is left.
    GiveUp,
}

/// The patience of one request.
#[derive(Debug)]
pub(super) struct Patience {
    seen: Progress,
    passes: u32,
}

impl Patience {
    pub(super) fn new(now: Progress) -> Self {
        Self { seen: now, passes: PASSES }
    }

    /// Takes note of a pass that has ended since the last call and left no room.
    pub(super) fn after_pass(&mut self, now: Progress) -> Next {
        let before = std::mem::replace(&mut self.seen, now);
        if now.freed != before.freed {
            self.passes = PASSES;
            return Next::Ask;
        }
        if now.left == 0 {
            self.passes = self.passes.min(EMPTY_PASSES);
        }
        if now.settled != before.settled {
            self.passes -= 1;
        }
        if self.passes == 0 { Next::GiveUp } else { Next::Pause }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
