//! `park`, `unpark` and `sleep`: waits with deadline and cancellation, which the ledger counts.

use std::time::Duration;

use super::cancel::Listener;
use super::{Cancel, Lot, Waiter};
use crate::clock;
use crate::sched;
use crate::sync::Arc;
use crate::wait::WaitType;

/// One lot for the process: addresses are unique in it, also with several instances.
static LOT: Lot = Lot::new();

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Another thread unparked the address, or there was nothing to wait for: check again.
    Signalled,
    /// The deadline has passed.
    TimedOut,
    /// The request's [`Cancel`] was set.
    Cancelled,
}

/// Waits under `key` while `must_wait`, which is evaluated once, under the lot's lock, so that a
/// change followed by an unpark cannot be missed. Hands the scheduler over and books the wait,
/// unless there was nothing to wait for.
///
/// `must_wait` may only read; it must not park, unpark, or take other locks.
pub fn park(
    key: usize,
    wait_type: WaitType,
    must_wait: impl FnOnce() -> bool,
    timeout: Option<Duration>,
    cancel: Option<&Cancel>,
) -> Wake {
    let Some(waiter) = LOT.enter(key, must_wait) else {
        return Wake::Signalled;
    };
    let _at = sched::wait_at(key);
    let wake = wait(&waiter, wait_type, timeout, cancel);
    if wake != Wake::Signalled {
        LOT.leave(key, &waiter);
    }
    wake
}

/// Wakes the thread that has waited longest under `key`; returns whether there was one.
pub fn unpark_one(key: usize) -> bool {
    LOT.unpark_one(key, clock::now_ticks())
}

/// Wakes every thread that waits under `key`; returns how many there were.
pub fn unpark_all(key: usize) -> usize {
    LOT.unpark_all(key, clock::now_ticks())
}

/// Lets time pass, as WAITFOR DELAY does: `TimedOut` when it has, `Cancelled` when cut short.
pub fn sleep(duration: Duration, wait_type: WaitType, cancel: Option<&Cancel>) -> Wake {
    wait(&Arc::new(Waiter::default()), wait_type, Some(duration), cancel)
}

fn wait(
    waiter: &Arc<Waiter>,
    wait_type: WaitType,
    timeout: Option<Duration>,
    cancel: Option<&Cancel>,
) -> Wake {
    let deadline_ns = timeout.map(clock::deadline_ns);
    let listening = cancel.map(|cancel| cancel.listen(Listener::Parked(Arc::clone(waiter))));
    sched::blocking(wait_type, || {
        if waiter.word.wait(deadline_ns) == 0 && waiter.word.decide(Waiter::TIMED_OUT) {
            return sched::Unblocked::Now;
        }
        sched::Unblocked::At(waiter.signalled_at())
    });
    drop(listening);
    match waiter.word.get() {
        Waiter::SIGNALLED => Wake::Signalled,
        Waiter::CANCELLED => Wake::Cancelled,
        _ => Wake::TimedOut,
    }
}
