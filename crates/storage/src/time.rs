//! Commit timestamps.

use crate::sync::{AtomicU64, Ordering};

/// A point in the order of commits. Below 2^61.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Timestamp(pub(crate) u64);

/// The source of timestamps: `commit()` is above every `snapshot()` and `commit()` that happened
/// before it, `snapshot()` is not below any `commit()` that happened before it.
pub(crate) struct Clock {
    counter: AtomicU64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { counter: AtomicU64::new(2) }
    }

    pub(crate) fn snapshot(&self) -> Timestamp {
        Timestamp(self.counter.fetch_add(1, Ordering::SeqCst))
    }

    pub(crate) fn commit(&self) -> Timestamp {
        Timestamp(self.counter.load(Ordering::SeqCst))
    }
}
