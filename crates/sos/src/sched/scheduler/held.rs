//! Answers that are held until something outside is done, such as a write of the log.
//!
//! ```text
//! scheduler        queue the tasks of a round ─ count them ─ fence ─ released already? then send now
//! who releases     raise `released` ─ fence ─ is one counted? then nudge the scheduler
//! ```
//! Either the scheduler sees the released number, or the other thread sees the count: no task is
//! left behind. A release costs a nudge for each scheduler that holds answers, however many.
//!
//! Released answers are sent in one pass of the loop ([`super::Task::release`]). A task runs for its
//! answer only if it asks for that.

use super::connections::{Core, Resting, Token};
use super::{Next, Ready, Scheduler, Worker};
use crate::ledger;
use crate::sync::{Ordering, fence};
use crate::thread;

impl Scheduler {
    /// Sends the answers whose numbers are released. Called by the loop after the tasks of a round
    /// and before it polls.
    pub(super) fn send_released(&self, worker: &Worker) {
        // SAFETY: called by the loop, which holds the scheduler; the closure only reads and counts.
        let Some(released) = (unsafe { self.core.with(|core| self.look_at_released(core)) }) else {
            return;
        };
        // SAFETY: as above; the closure only pops.
        let next = || unsafe { self.core.with(|core| core.next_released(released)) };
        while let Some((token, mut resting)) = next() {
            worker.begin_request();
            self.counters.step();
            let released = thread::contain(|| resting.task.release()).unwrap_or_else(|message| {
                crate::error_log::line(&format_args!("A connection's task panicked: {message}"));
                Some(Next::Close)
            });
            self.put_back_released(token, resting, released);
        }
        ledger::task_returned();
        // SAFETY: as above; the closure only counts.
        unsafe { self.core.with(|core| self.count_held(core)) };
    }

    /// Whether a held answer may leave.
    pub(super) fn may_send(&self, core: &Core) -> bool {
        self.look_at_released(core).is_some()
    }

    /// Counts what is held, and returns the released number if an answer may leave.
    fn look_at_released(&self, core: &Core) -> Option<u64> {
        let &(first, _) = core.held.front()?;
        self.count_held(core);
        // SeqCst: pairs with the one in `release`.
        fence(Ordering::SeqCst);
        // Acquire: pairs with the Release in `release`, so that what was waited for is visible.
        let released = self.shared.released.load(Ordering::Acquire);
        (first <= released).then_some(released)
    }

    /// Takes back a task whose answer was released.
    fn put_back_released(&self, token: Token, resting: Resting, released: Option<Next>) {
        match released {
            // It runs for the answer. Until then it stays held, so that a stop does not close it.
            None => {
                // SAFETY: called by the loop, which holds the scheduler; the closure does not give it
                // up.
                unsafe {
                    self.core.with(|core| {
                        let Some(slot) = core.slot(token) else { return };
                        slot.resting = Some(resting);
                        let reasons = std::mem::take(&mut slot.pending).and(Ready::RELEASED);
                        core.queue(token, reasons);
                    });
                }
            }
            Some(next) => {
                // SAFETY: as above.
                unsafe {
                    self.core.with(|core| {
                        if let Some(slot) = core.slot(token) {
                            slot.is_held = false;
                        }
                    });
                }
                self.put_back(token, resting, next, Ready::RELEASED);
            }
        }
    }

    fn count_held(&self, core: &Core) {
        let count = u64::try_from(core.held.len()).expect("a length fits into 64 bits");
        // Relaxed: only the holder of the scheduler writes it, and the fence orders it.
        self.held.store(count, Ordering::Relaxed);
    }

    /// Wakes the holder if answers are held. Called after `released` was raised.
    pub(in crate::sched) fn released(&self) {
        // Relaxed: ordered by the caller's fence.
        if self.held.load(Ordering::Relaxed) > 0 {
            self.nudge();
        }
    }
}

impl Core {
    /// Holds a task that is at rest until `number` is released. The loop looks for released answers
    /// before it polls.
    pub(super) fn hold(&mut self, token: Token, number: u64) {
        // Numbers rise, but for those of readers.
        let at = match self.held.back() {
            Some(&(last, _)) if last > number => self.held.partition_point(|(n, _)| *n <= number),
            _ => self.held.len(),
        };
        self.held.insert(at, (number, token));
    }

    /// Takes the next task whose answer is released.
    fn next_released(&mut self, released: u64) -> Option<(Token, Resting)> {
        while let Some(&(number, token)) = self.held.front()
            && number <= released
        {
            self.held.pop_front();
            if let Some(resting) = self.slot(token).and_then(|slot| slot.resting.take()) {
                return Some((token, resting));
            }
        }
        None
    }
}

impl super::Shared {
    /// Raises the number up to which answers may leave. The caller then wakes the schedulers.
    pub(in crate::sched) fn release(&self, number: u64) {
        // Release: pairs with the Acquire in `look_at_released`.
        self.released.store(number, Ordering::Release);
        // SeqCst: pairs with the one in `look_at_released`.
        fence(Ordering::SeqCst);
    }
}
