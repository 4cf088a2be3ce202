//! `LogStats`: what the log thread has done, for views. Only the log thread writes the counters.

use super::CommitBuffers;
use super::buffers::LogState;
use sos::sync::{AtomicU64, Ordering};

/// Classes of a histogram. Class 0 counts zeros; class n counts values from 2^(n-1) to 2^n - 1; the
/// last class has no upper end.
pub const HISTOGRAM_CLASSES: usize = 32;

/// How many values were in each class, by powers of two.
pub type Histogram = [u64; HISTOGRAM_CLASSES];

/// The counters, in cache lines of the log thread.
#[derive(Debug)]
pub(super) struct Counters {
    flushes: AtomicU64,
    commits: AtomicU64,
    bytes_flushed: AtomicU64,
    segment: AtomicU64,
    log_bytes: AtomicU64,
    unused_bytes: AtomicU64,
    busy_us: AtomicU64,
    commits_per_flush: Box<[AtomicU64]>,
    flush_us: Box<[AtomicU64]>,
}

/// What a log has done since it was opened, and how large it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogStats {
    /// What the log can do now.
    pub state: LogState,
    /// Bytes of records that are not durable yet.
    pub buffered_bytes: u64,
    /// Groups that were written and synced.
    pub flushes: u64,
    /// Commits in those groups.
    pub commits: u64,
    /// Bytes of records in those groups.
    pub bytes_flushed: u64,
    /// Number of the segment that is being written.
    pub segment: u64,
    /// Bytes of all segments, without spares.
    pub log_bytes: u64,
    /// Bytes of the last segment that are not written yet.
    pub unused_bytes: u64,
    /// Microseconds that the writes and syncs of groups took.
    pub busy_us: u64,
    /// Groups by their number of commits.
    pub commits_per_flush: Histogram,
    /// Groups by the microseconds of their write and sync.
    pub flush_us: Histogram,
}

/// Returns the class of a value.
fn class(value: u64) -> usize {
    let bits = u64::BITS - value.leading_zeros();
    (bits as usize).min(HISTOGRAM_CLASSES - 1)
}

/// Adds to a counter that this thread alone writes.
fn add(counter: &AtomicU64, more: u64) {
    // Relaxed: counters have one writer, and readers need no order.
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

fn read(classes: &[AtomicU64]) -> Histogram {
    std::array::from_fn(|class| classes.get(class).map_or(0, |n| n.load(Ordering::Relaxed)))
}

impl Default for Counters {
    fn default() -> Self {
        // Models have no flushes, and a model's memory is small.
        let classes = if cfg!(any(loom, shuttle)) { 0 } else { HISTOGRAM_CLASSES };
        let histogram = || (0..classes).map(|_| AtomicU64::new(0)).collect();
        Self {
            flushes: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            bytes_flushed: AtomicU64::new(0),
            segment: AtomicU64::new(0),
            log_bytes: AtomicU64::new(0),
            unused_bytes: AtomicU64::new(0),
            busy_us: AtomicU64::new(0),
            commits_per_flush: histogram(),
            flush_us: histogram(),
        }
    }
}

impl Counters {
    /// Counts a group that is durable now.
    pub(super) fn count_flush(&self, commits: u64, bytes: u64, micros: u64) {
        add(&self.flushes, 1);
        add(&self.commits, commits);
        let flushed = self.bytes_flushed.load(Ordering::Relaxed) + bytes;
        // Release: pairs with the Acquire in `bytes_flushed`.
        self.bytes_flushed.store(flushed, Ordering::Release);
        add(&self.busy_us, micros);
        add(&self.commits_per_flush[class(commits)], 1);
        add(&self.flush_us[class(micros)], 1);
    }

    /// Notes how large the log is.
    pub(super) fn set_size(&self, segment: u64, log_bytes: u64, unused_bytes: u64) {
        // Release: pairs with the Acquire in `segment`.
        self.segment.store(segment, Ordering::Release);
        self.log_bytes.store(log_bytes, Ordering::Relaxed);
        self.unused_bytes.store(unused_bytes, Ordering::Relaxed);
    }

    /// Returns a segment in which, or after which, all groups to come begin.
    pub(super) fn segment(&self) -> u64 {
        self.segment.load(Ordering::Acquire)
    }

    pub(super) fn bytes_flushed(&self) -> u64 {
        // Acquire: pairs with the Release in `count_flush`, for the room.
        self.bytes_flushed.load(Ordering::Acquire)
    }
}

impl CommitBuffers {
    /// Returns what the log has done. The numbers are of one moment each.
    #[must_use]
    pub fn stats(&self) -> LogStats {
        let counters = &self.counters;
        LogStats {
            state: self.state(),
            buffered_bytes: self.buffered_bytes(),
            flushes: counters.flushes.load(Ordering::Relaxed),
            commits: counters.commits.load(Ordering::Relaxed),
            bytes_flushed: counters.bytes_flushed(),
            segment: counters.segment(),
            log_bytes: counters.log_bytes.load(Ordering::Relaxed),
            unused_bytes: counters.unused_bytes.load(Ordering::Relaxed),
            busy_us: counters.busy_us.load(Ordering::Relaxed),
            commits_per_flush: read(&counters.commits_per_flush),
            flush_us: read(&counters.flush_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HISTOGRAM_CLASSES, class};

    #[test]
    fn classes_are_powers_of_two() {
        let cases = [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (1023, 10), (1024, 11)];
        for (value, expected) in cases {
            assert_eq!(class(value), expected, "{value}");
        }
        assert_eq!(class(u64::MAX), HISTOGRAM_CLASSES - 1);
    }
}
