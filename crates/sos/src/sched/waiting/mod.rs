//! Waiting: hands the scheduler to another worker, books the wait, and takes the scheduler back.
//!
//! Whatever blocks, a lock, a socket or a file, is a closure here; [`crate::park`] waits for
//! changes in memory by it.

mod descriptor;

use super::activity;
use super::scheduler::Worker;
use crate::epoch;
use crate::ledger::{self, State};
use crate::sampler;
use crate::wait::WaitType;
use crate::xe::machine_events;

pub use descriptor::wait_fd;

/// When the reason of a wait ended: splits the wait into resource time and signal time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unblocked {
    /// The blocking call has just returned by itself.
    Now,
    /// Another thread ended the wait at these clock ticks.
    At(u64),
}

/// Runs `block`, which blocks the thread, and books the time as a wait. A worker hands its
/// scheduler over before and takes it back afterwards; other threads have none to hand over.
pub fn blocking(wait_type: WaitType, block: impl FnOnce() -> Unblocked) {
    let resource = activity::noted_address();
    machine_events::wait_begins(wait_type, resource);
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
    machine_events::wait_ends(wait_type, resource, ticks, signal_ticks);
}

/// A worker that has handed its scheduler over; takes it back when dropped.
struct Away<'a> {
    worker: &'a Worker,
    _suspended: epoch::Suspended,
}

impl<'a> Away<'a> {
    fn begin(worker: &'a Worker, wait_type: WaitType) -> Self {
        let suspended = epoch::suspend();
        if wait_type.is_preemptive() {
            worker.scheduler.counters.count_preemptive();
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
