//! `Progress`: how far a start is, for the server's log and for clients that want to log in.
//!
//! | phase | what is done |
//! |---|---|
//! | 1 | the log is read |
//! | 2 | the rows of the checkpoint and of the log get to their places |
//! | 3 | indexes are built |

use sos::clock;
use sos::sync::{AtomicU64, Ordering};

/// How far a recovery is. One thread begins phases; any thread advances and reads.
#[derive(Debug, Default)]
pub struct Progress {
    phase: AtomicU64,
    /// When the phase began, in monotonic nanoseconds.
    began_ns: AtomicU64,
    done: AtomicU64,
    total: AtomicU64,
}

/// A reading of [`Progress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// The number of the phase, from 1 to 3; 0 before the first.
    pub phase: u64,
    /// How much of the phase is done, from 0 to 100.
    pub percent: u64,
    /// How many seconds the phase will take if it goes on as it has; `None` at its begin.
    pub seconds_left: Option<u64>,
}

impl Progress {
    /// Begins a phase with this amount of work.
    pub(crate) fn begin(&self, phase: u64, total: u64) {
        // Relaxed, all of them: a reading may mix two phases for a moment.
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.began_ns.store(clock::monotonic_ns(), Ordering::Relaxed);
        self.phase.store(phase, Ordering::Relaxed);
    }

    /// Notes that more of the phase is done.
    pub(crate) fn advance(&self, more: u64) {
        self.done.fetch_add(more, Ordering::Relaxed);
    }

    /// Returns how far it is.
    #[must_use]
    pub fn read(&self) -> Advance {
        let began_ns = self.began_ns.load(Ordering::Relaxed);
        self.read_after(clock::monotonic_ns().saturating_sub(began_ns))
    }

    fn read_after(&self, elapsed_ns: u64) -> Advance {
        let phase = self.phase.load(Ordering::Relaxed);
        let total = self.total.load(Ordering::Relaxed);
        let done = self.done.load(Ordering::Relaxed).min(total);
        let percent = (done * 100).checked_div(total).unwrap_or(0);
        let left = u128::from(total - done) * u128::from(elapsed_ns);
        let left_ns = left.checked_div(u128::from(done));
        let seconds = |ns: u128| u64::try_from(ns.div_ceil(1_000_000_000)).unwrap_or(u64::MAX);
        Advance { phase, percent, seconds_left: left_ns.map(seconds) }
    }
}

impl std::fmt::Display for Advance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { phase, percent, seconds_left } = self;
        write!(f, "{percent}% complete")?;
        if let Some(seconds) = seconds_left {
            write!(f, " (approximately {seconds} seconds remain)")?;
        }
        write!(f, ". Phase {phase} of 3.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_from_what_was_done() {
        let progress = Progress::default();
        assert_eq!(progress.read().to_string(), "0% complete. Phase 0 of 3.");
        progress.begin(1, 400);
        assert_eq!(progress.read_after(7_000_000_000).seconds_left, None);
        progress.advance(100);
        let advance = progress.read_after(7_000_000_000);
        let text = "25% complete (approximately 21 seconds remain). Phase 1 of 3.";
        assert_eq!(advance.to_string(), text);
        progress.advance(500);
        assert_eq!(progress.read_after(1).percent, 100, "more than was expected");
        progress.begin(3, 0);
        let empty = Advance { phase: 3, percent: 0, seconds_left: None };
        assert_eq!(progress.read_after(1), empty);
    }
}
