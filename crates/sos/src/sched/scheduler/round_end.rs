//! Work that is put off until a scheduler has nothing else to do: until it is about to sleep, hands
//! itself to another worker or ends a quantum, and for a millisecond at most. The requests that it
//! serves until then share the work.
//!
//! ```text
//! request   put_off: mark the scheduler          (the holder alone reads and writes the mark)
//! holder    about to sleep, or 1 ms later: marked? ─► unmark ─► call the machine's function
//! ```
//! A scheduler that sleeps or that no worker holds has no mark, so nothing is put off for long.

use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use super::{Scheduler, Worker};
use crate::clock;
use crate::sync::Ordering;
use crate::sys::Socket;

/// Called at the end of busy rounds, with the number of the scheduler. It must not wait.
pub type RoundEnd = Box<dyn Fn(u32) + Send + Sync>;

/// How long work is put off while the scheduler has other work.
pub(super) const PUT_OFF_MAX: Duration = Duration::from_millis(1);

/// A longer answer is sent at once.
const ANSWER_BYTES_MAX: usize = 4096;

/// Asks for a call of the machine's function ([`crate::sched::Machine::at_round_end`]) when the
/// calling worker's scheduler has nothing else to do, at the latest at the end of the quantum. Returns
/// false on any other thread, and if the machine has no function.
#[inline]
#[must_use]
pub fn put_off_to_round_end() -> bool {
    Worker::with_current(|worker| {
        let Some(worker) = worker else { return false };
        let scheduler = &worker.scheduler;
        if scheduler.shared.round_end.get().is_none() {
            return false;
        }
        // Relaxed, both: only the holder of the scheduler uses them, and the baton orders its holders.
        if !scheduler.has_put_off.load(Ordering::Relaxed) {
            scheduler.has_put_off.store(true, Ordering::Relaxed);
            scheduler.put_off_ticks.store(clock::now_ticks(), Ordering::Relaxed);
        }
        true
    })
}

/// Keeps the answer of the running task until the answers of other ready tasks can leave with it.
/// Returns false if there are none, or the answer is long: then the caller sends it. The task calls
/// [`take_unsent`] before it sends anything else.
#[must_use]
pub fn send_at_round_end(socket: &Socket, bytes: &[u8]) -> bool {
    Worker::with_current(|worker| {
        let Some(worker) = worker else { return false };
        let is_short = bytes.len() <= ANSWER_BYTES_MAX;
        let fd = socket.as_fd().as_raw_fd();
        // SAFETY: a worker in the middle of a task holds the scheduler; the closure does not give it
        // up.
        is_short
            && unsafe {
                worker.scheduler.core.with(|core| core.keep_answer(worker.task.get(), fd, bytes))
            }
    })
}

/// Sends the running task's answer if it was kept, and returns the part that the kernel did not take.
#[must_use]
pub fn take_unsent() -> Option<Vec<u8>> {
    Worker::with_current(|worker| {
        let worker = worker?;
        // SAFETY: as in `send_at_round_end`.
        unsafe { worker.scheduler.core.with(|core| core.take_unsent(worker.task.get())) }
    })
}

impl Scheduler {
    /// Returns whether something was put off. Called by the holder.
    #[inline]
    pub(super) fn has_put_off(&self) -> bool {
        self.has_put_off.load(Ordering::Relaxed)
    }

    /// Does what was put off long ago. Called by the holder while it has other work.
    #[inline]
    pub(super) fn end_long_rounds(&self) {
        if self.has_put_off() {
            let began = self.put_off_ticks.load(Ordering::Relaxed);
            if clock::now_ticks().saturating_sub(began) >= self.shared.put_off_ticks_max {
                self.end_rounds();
            }
        }
    }

    /// Does what was put off. Called by the holder.
    #[inline]
    pub(super) fn end_rounds(&self) {
        if self.has_put_off() {
            self.has_put_off.store(false, Ordering::Relaxed);
            if let Some(call) = self.shared.round_end.get() {
                call(self.id);
            }
        }
    }
}
