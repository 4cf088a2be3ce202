//! Waiting: the scheduler goes to another worker, the wait is booked, the scheduler comes back.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use super::activity::{self, Standing};
use super::worker::Worker;
use crate::clock;
use crate::epoch;
use crate::ledger::{self, State};
use crate::park::{Cancel, Listener, Wake};
use crate::sampler;
use crate::sync::Arc;
use crate::sys::{self, Direction, EventFd, Polled};
use crate::wait::WaitType;
use crate::xe::told;

/// When the reason of a wait ended, for the split into resource and signal time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unblocked {
    /// The blocking call has just returned by itself.
    Now,
    /// Another thread ended the wait at these ticks.
    At(u64),
}

/// Runs something that blocks the thread, with the scheduler handed over meanwhile, and books it.
/// On a thread that is no worker it just runs and is booked.
pub fn blocking(wait_type: WaitType, block: impl FnOnce() -> Unblocked) {
    let resource = activity::noted_address();
    told::wait_begins(wait_type, resource);
    let before = ledger::to(State::Wait(wait_type));
    let started = ledger::now_at_edge();
    activity::begin_wait(wait_type, started);
    let signalled = Worker::with_current(|worker| {
        let _away = worker.map(|worker| Away::begin(worker, wait_type));
        let signalled = match block() {
            Unblocked::Now => None,
            Unblocked::At(ticks) => Some(ticks),
        };
        ledger::to(State::Signal(wait_type));
        activity::signalled();
        signalled.unwrap_or_else(ledger::now_at_edge)
    });
    ledger::to(before);
    let ended = ledger::now_at_edge();
    activity::end_wait(ended);
    let signal_ticks = ended.saturating_sub(signalled.max(started));
    let ticks = ended.saturating_sub(started);
    ledger::with_current(|account| {
        account.book_wait(wait_type, ticks, signal_ticks);
        sampler::waited(account, wait_type, ticks);
    });
    told::wait_ends(wait_type, resource, ticks, signal_ticks);
}

/// A worker without its scheduler; has it again when dropped.
struct Away<'a> {
    worker: &'a Worker,
    _suspended: epoch::Suspended,
}

impl<'a> Away<'a> {
    fn begin(worker: &'a Worker, wait_type: WaitType) -> Self {
        let suspended = epoch::suspend();
        if wait_type.is_preemptive() {
            worker.scheduler.books.count_preemptive();
        }
        worker.scheduler.hand_over();
        Self { worker, _suspended: suspended }
    }
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.worker.scheduler.take_back(self.worker);
    }
}

/// Waits until a descriptor is ready: `Signalled` when it is, or the peer has gone.
///
/// While a task waits to read its own socket so, what arrives is also reported to its
/// [`super::Interrupt`], which then must leave it alone.
pub fn wait_fd(
    fd: impl AsFd,
    direction: Direction,
    wait_type: WaitType,
    timeout: Option<Duration>,
    cancel: Option<&Cancel>,
) -> io::Result<Wake> {
    let deadline_ns = timeout.map(clock::deadline_ns);
    let event = cancel.map(|_| EventFd::new().map(Arc::new)).transpose()?;
    let listening = match (cancel, &event) {
        (Some(cancel), Some(event)) => Some(cancel.listen(Listener::Polling(Arc::clone(event)))),
        (None, _) | (_, None) => None,
    };
    let mut polled = Ok(Polled::TimedOut);
    blocking(wait_type, || {
        polled = sys::poll_two(&fd, direction, event.as_deref(), deadline_ns);
        Unblocked::Now
    });
    drop(listening);
    Ok(match polled? {
        Polled::Ready => Wake::Signalled,
        Polled::Woken => Wake::Cancelled,
        Polled::TimedOut => Wake::TimedOut,
    })
}

/// Lets others have the scheduler if this request has had it for its quantum of 4 ms and somebody
/// else is ready. Also delivers attentions that have arrived meanwhile. Cheap enough for every few
/// rows: a thread-local countdown, and one clock read in 16 calls.
#[inline]
pub fn yield_if_quantum_due() {
    Worker::with_current(|worker| {
        if let Some(worker) = worker
            && worker.is_quantum_over()
        {
            quantum_over(worker);
        }
    });
}

#[cold]
fn quantum_over(worker: &Worker) {
    let before = ledger::to(State::Signal(WaitType::SchedulerYield));
    let started = ledger::now_at_edge();
    activity::signalled();
    // Still pinned, if it is: others may run, but what this request reads stays.
    let yielded = worker.scheduler.end_quantum(worker);
    ledger::to(before);
    worker.activity.stand(Standing::Running);
    worker.renew_quantum();
    let ticks = ledger::now_at_edge().saturating_sub(started);
    told::quantum_exceeded(yielded, ticks);
    if yielded {
        // All of it is signal time: there was nothing to wait for but the scheduler.
        ledger::with_current(|account| {
            account.book_wait(WaitType::SchedulerYield, ticks, ticks);
            sampler::waited(account, WaitType::SchedulerYield, ticks);
        });
        told::wait_ends(WaitType::SchedulerYield, 0, ticks, ticks);
    }
}
