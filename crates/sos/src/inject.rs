//! Delays injected at one point of the server for a bounded time, to see what they do to its
//! throughput: `sys.sp_inject_delay`, which `clearway diagnose --confirm` calls.
//!
//! | point   | where                                              | how                              |
//! |---------|----------------------------------------------------|----------------------------------|
//! | request | at the start of a request                          | keeps the CPU, as `observation`  |
//! | locks   | before a lock goes that another session waits for  | sleeps, wait INJECTED_DELAY      |
//! | log     | before the log's writes become durable             | sleeps, wait INJECTED_DELAY      |
//! | spin    | with a spinlock that was contended, of one class   | keeps the CPU, as that `spin`    |
//!
//! One point at a time. While nothing is injected, a point costs one relaxed load of a line that is
//! not written. An injection ends at its time, also when its client has gone.

use std::time::Duration;

use crate::clock;
use crate::ledger::{self, State};
use crate::lock::{SpinClass, spin_for};
use crate::park;
use crate::registry::registry;
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::wait::WaitType;

registry! {
    /// A kind of place where delays can be injected.
    pub enum Kind {
        /// The start of a request.
        Request => "request",
        /// The end of holding a lock that another session waits for.
        Locks => "locks",
        /// Before the log's writes become durable.
        Log => "log",
        /// While a contended spinlock is held.
        Spin => "spin",
    }
}

/// A point where delays can be injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The start of a request.
    Request,
    /// The end of holding a lock that another session waits for.
    Locks,
    /// Before the log's writes become durable.
    Log,
    /// A contended spinlock of this class.
    Spin(SpinClass),
}

/// The longest delay at a point.
pub const DELAY_MAX: Duration = Duration::from_millis(200);
/// The longest time that an injection lasts.
pub const LENGTH_MAX: Duration = Duration::from_secs(60);
/// A spinlock is not held longer than this.
const SPIN_NS_MAX: u64 = 1_000_000;

/// The point's code; 0 while nothing is injected.
static POINT: AtomicU32 = AtomicU32::new(0);
static DELAY_NS: AtomicU64 = AtomicU64::new(0);
/// When the injection ends, by the monotonic clock.
static UNTIL_NS: AtomicU64 = AtomicU64::new(0);

impl Point {
    /// Returns the point of a kind; `class` is the name of a spinlock. `None` if there is no such
    /// class.
    #[must_use]
    pub fn new(kind: Kind, class: &str) -> Option<Self> {
        Some(match kind {
            Kind::Request => Self::Request,
            Kind::Locks => Self::Locks,
            Kind::Log => Self::Log,
            Kind::Spin => {
                Self::Spin(SpinClass::ALL.iter().copied().find(|known| known.name() == class)?)
            }
        })
    }

    fn code(self) -> u32 {
        match self {
            Self::Request => 1,
            Self::Locks => 2,
            Self::Log => 3,
            // There are fewer than a hundred classes.
            Self::Spin(class) => 4 + u32::try_from(class.index()).unwrap_or(0),
        }
    }
}

/// Injects a delay at a point from now on, for so long at most; both are cut to their limits. It
/// replaces an earlier injection.
pub fn begin(point: Point, delay: Duration, length: Duration) {
    end();
    let delay = delay.min(DELAY_MAX);
    DELAY_NS.store(u64::try_from(delay.as_nanos()).unwrap_or(0), Ordering::Relaxed);
    UNTIL_NS.store(clock::deadline_ns(length.min(LENGTH_MAX)), Ordering::Relaxed);
    // Relaxed: a thread that sees the point before the times injects a delay of another length.
    POINT.store(point.code(), Ordering::Relaxed);
}

/// Ends the injection at once.
pub fn end() {
    POINT.store(0, Ordering::Relaxed);
}

/// Returns whether delays are injected at a point.
#[inline]
#[must_use]
pub fn is_at(point: Point) -> bool {
    // Relaxed: a switch that orders nothing.
    POINT.load(Ordering::Relaxed) != 0 && is_in_time(point)
}

/// Lets the injected time pass, if there is any at this point.
#[inline]
pub fn pass(point: Point) {
    if is_at(point) {
        pass_now(point);
    }
}

#[cold]
fn is_in_time(point: Point) -> bool {
    let code = POINT.load(Ordering::Relaxed);
    if clock::monotonic_ns() >= UNTIL_NS.load(Ordering::Relaxed) {
        // If another injection has begun since, it stays.
        let _ = POINT.compare_exchange(code, 0, Ordering::Relaxed, Ordering::Relaxed);
        return false;
    }
    code == point.code()
}

#[cold]
fn pass_now(point: Point) {
    let ns = DELAY_NS.load(Ordering::Relaxed);
    match point {
        Point::Request => {
            let before = ledger::to(State::Observing);
            let end_ns = clock::monotonic_ns() + ns;
            while clock::monotonic_ns() < end_ns {
                std::hint::spin_loop();
            }
            ledger::to(before);
        }
        Point::Locks | Point::Log => {
            park::sleep(Duration::from_nanos(ns), WaitType::InjectedDelay, None);
        }
        Point::Spin(_) => {
            spin_for(u32::try_from(ns.min(SPIN_NS_MAX)).unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn injection_ends_by_itself_and_is_of_one_point() {
        assert!(!is_at(Point::Log));
        begin(Point::Log, Duration::from_millis(1), LENGTH_MAX);
        assert!(is_at(Point::Log) && !is_at(Point::Locks));
        let class = SpinClass::PlanCache;
        begin(Point::Spin(class), Duration::from_millis(1), LENGTH_MAX);
        assert!(is_at(Point::Spin(class)) && !is_at(Point::Log));
        assert!(!is_at(Point::Spin(SpinClass::ServerOther)));
        begin(Point::Log, Duration::from_secs(99), Duration::ZERO);
        assert!(!is_at(Point::Log), "its time is over");
        assert_eq!(DELAY_NS.load(Ordering::Relaxed), 200_000_000, "cut to the limit");
        assert_eq!(
            Point::new(Kind::Spin, "CMED_HASH_SET"),
            Some(Point::Spin(SpinClass::CmedHashSet))
        );
        assert_eq!(Point::new(Kind::Spin, "none"), None);
    }
}
