//! Commit timestamps: `sos::clock::Timestamps`, and a counter in its place under a model checker.

#[cfg(any(loom, shuttle))]
pub(crate) use model::{Clock, Timestamp, monotonic_ns};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use sos::clock::{Timestamp, Timestamps as Clock, monotonic_ns};

#[cfg(any(loom, shuttle))]
mod model {
    use crate::primitives::sync::{AtomicU64, Ordering};

    /// A point in the order of commits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub(crate) struct Timestamp(pub(crate) u64);

    /// Returns no time: a model has none.
    pub(crate) fn monotonic_ns() -> u64 {
        0
    }

    /// The promises of `sos::clock::Timestamps`, kept by one counter.
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

        pub(crate) fn advance(&self) {
            self.counter.fetch_add(1, Ordering::SeqCst);
        }
    }
}
