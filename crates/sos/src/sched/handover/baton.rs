//! The baton: which worker holds a scheduler, and which one holds it next.
//!
//! | held | queues          | meaning                                                              |
//! |------|-----------------|----------------------------------------------------------------------|
//! | yes  | any             | one worker runs; others wait in `signalled`, `yielded` or `idle`     |
//! | no   | all but `idle`  | no worker could take it (the limit of workers); the next one whose   |
//! |      | are empty       | wait ends takes it without queueing                                  |
//!
//! The holder checks the queues between two requests, so a worker that queues need not interrupt
//! it. Only a holder that sleeps in its poller must be woken ("kicked"). Neither side misses the
//! other by Dekker's pattern: each stores its own flag, fences, and reads the other's.

use std::collections::VecDeque;

use crate::lock::{SpinClass, SpinLock};
use crate::park::WakeWord;
use crate::sync::{Arc, AtomicBool, AtomicU32, CachePadded, Ordering, fence};

/// One worker's place in the queues: where it sleeps until it is granted the scheduler.
#[derive(Debug, Default)]
pub struct Seat {
    grant: WakeWord,
}

impl Seat {
    /// Sleeps until a grant arrives or the deadline (monotonic ns) passes; returns true if no grant
    /// came. A grant stays in the seat until the caller takes it.
    #[cfg(not(shuttle))]
    pub(in crate::sched) fn is_left_alone_until(&self, deadline_ns: u64) -> bool {
        self.grant.wait(Some(deadline_ns)) == 0
    }
}

/// Why a sleeping worker is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// It holds the scheduler.
    Scheduler,
    /// It must end its thread.
    Exit,
    /// No grant came before its deadline, and it has left the queue.
    Unneeded,
}

const GRANTED: u32 = 1;
const EXIT: u32 = 2;

/// The result of giving a scheduler up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// A worker from one of the queues holds it now.
    ToWorker,
    /// The queues were empty; the caller still holds it.
    Nobody,
}

#[derive(Debug)]
struct Queues {
    held: bool,
    /// Workers whose wait is over, in the order of their signals.
    signalled: VecDeque<Arc<Seat>>,
    /// Workers that have used up their quantum.
    yielded: VecDeque<Arc<Seat>>,
    /// Workers with nothing to do. Last in, first out: the last one has the warmest caches.
    idle: Vec<Arc<Seat>>,
}

/// The right to run on one scheduler.
#[derive(Debug)]
pub struct Baton {
    queues: CachePadded<SpinLock<Queues>>,
    /// Lengths of two queues, and whether there is mail, for the holder to read without the lock.
    signalled: AtomicU32,
    yielded: AtomicU32,
    mail: AtomicBool,
    /// Whether the holder sleeps in its poller, or is about to.
    polling: AtomicBool,
    /// Whether no worker holds it; for the monitor.
    unattended: AtomicBool,
}

impl Default for Baton {
    fn default() -> Self {
        Self::new()
    }
}

impl Baton {
    /// Makes a scheduler that one worker holds from the start.
    #[must_use]
    pub fn new() -> Self {
        let queues = Queues {
            held: true,
            signalled: VecDeque::new(),
            yielded: VecDeque::new(),
            idle: Vec::new(),
        };
        Self {
            queues: CachePadded::new(SpinLock::new(SpinClass::SosScheduler, queues)),
            signalled: AtomicU32::new(0),
            yielded: AtomicU32::new(0),
            mail: AtomicBool::new(false),
            polling: AtomicBool::new(false),
            unattended: AtomicBool::new(false),
        }
    }

    /// Takes the scheduler after a wait, sleeping until its holder gives it up. `kick` wakes the
    /// holder out of its poller.
    pub fn take(&self, seat: &Arc<Seat>, kick: impl FnOnce()) {
        {
            let mut queues = self.queues.lock();
            if !queues.held {
                self.hold(&mut queues);
                return;
            }
            seat.grant.reset();
            queues.signalled.push_back(Arc::clone(seat));
            self.publish(&queues);
        }
        self.kick_if_polling(kick);
        seat.grant.wait(None);
    }

    /// Takes the scheduler if no worker holds it; returns whether it did.
    pub fn take_if_free(&self) -> bool {
        let mut queues = self.queues.lock();
        let taken = !queues.held;
        self.hold(&mut queues);
        taken
    }

    fn hold(&self, queues: &mut Queues) {
        queues.held = true;
        // Relaxed, as in `abandon`: a hint for the monitor.
        self.unattended.store(false, Ordering::Relaxed);
    }

    /// Gives the scheduler to a queued worker: one whose wait is over before an idle one, which
    /// serves other connections, and that before one whose quantum is used up.
    pub fn pass(&self) -> Passed {
        let mut queues = self.queues.lock();
        let next = queues.signalled.pop_front().or_else(|| queues.idle.pop());
        let next = next.or_else(|| queues.yielded.pop_front());
        self.publish(&queues);
        drop(queues);
        grant(next)
    }

    /// Gives the scheduler up without an idle worker to serve its connections: if no worker is
    /// queued, the next one whose wait ends takes it.
    pub fn abandon(&self) {
        let mut queues = self.queues.lock();
        let next = queues.signalled.pop_front().or_else(|| queues.yielded.pop_front());
        queues.held = next.is_some();
        self.unattended.store(next.is_none(), Ordering::Relaxed);
        self.publish(&queues);
        drop(queues);
        grant(next);
    }

    /// Offers the scheduler at the end of a quantum and sleeps until it comes back. If no worker is
    /// queued, `hire` may start one that begins as its holder; if that fails, the caller keeps it.
    pub fn offer(&self, seat: &Arc<Seat>, hire: impl FnOnce() -> bool) {
        seat.grant.reset();
        let next = {
            let mut queues = self.queues.lock();
            let next = queues.signalled.pop_front().or_else(|| queues.idle.pop());
            queues.yielded.push_back(Arc::clone(seat));
            self.publish(&queues);
            next
        };
        if grant(next) == Passed::Nobody && !hire() {
            let mut queues = self.queues.lock();
            // Only the holder removes seats, and that is still this thread.
            queues.yielded.retain(|other| !Arc::ptr_eq(other, seat));
            self.publish(&queues);
            return;
        }
        seat.grant.wait(None);
    }

    /// Gives the scheduler to a worker whose wait is over, or else to one that yielded, and sleeps
    /// until a grant or `deadline_ns`. Returns `None` at once, and keeps the scheduler, if no
    /// worker is queued.
    pub fn rest(
        &self,
        seat: &Arc<Seat>,
        deadline_ns: impl FnOnce() -> Option<u64>,
    ) -> Option<Grant> {
        let next = {
            let mut queues = self.queues.lock();
            let next = queues.signalled.pop_front().or_else(|| queues.yielded.pop_front())?;
            seat.grant.reset();
            queues.idle.push(Arc::clone(seat));
            self.publish(&queues);
            next
        };
        grant(Some(next));
        Some(self.rest_until(seat, deadline_ns()))
    }

    fn rest_until(&self, seat: &Arc<Seat>, deadline_ns: Option<u64>) -> Grant {
        match seat.grant.wait(deadline_ns) {
            GRANTED => return Grant::Scheduler,
            EXIT => return Grant::Exit,
            _ => {}
        }
        let mut queues = self.queues.lock();
        let before = queues.idle.len();
        queues.idle.retain(|other| !Arc::ptr_eq(other, seat));
        if queues.idle.len() < before {
            return Grant::Unneeded;
        }
        // Another thread has just removed this seat in order to grant it.
        drop(queues);
        match seat.grant.wait(None) {
            GRANTED => Grant::Scheduler,
            _ => Grant::Exit,
        }
    }

    /// Ends the idle workers; the holder ends itself afterwards.
    pub fn dismiss(&self) {
        let idle = std::mem::take(&mut self.queues.lock().idle);
        for seat in idle {
            seat.grant.set(EXIT);
        }
    }

    /// Whether the holder sleeps in its poller, or is about to.
    pub fn is_polling(&self) -> bool {
        self.polling.load(Ordering::Relaxed)
    }

    /// Whether no worker holds it, so that its connections are not served.
    pub fn is_unattended(&self) -> bool {
        self.unattended.load(Ordering::Relaxed)
    }

    /// Whether a worker whose wait is over is queued; the holder asks between two requests.
    #[inline]
    pub fn has_signalled(&self) -> bool {
        self.signalled.load(Ordering::Relaxed) != 0
    }

    /// Whether a worker that used up its quantum is queued; the holder asks after each round.
    #[inline]
    pub fn has_yielded(&self) -> bool {
        self.yielded.load(Ordering::Relaxed) != 0
    }

    /// Whether the scheduler's mailbox has mail.
    pub fn has_mail(&self) -> bool {
        self.mail.load(Ordering::Relaxed)
    }

    /// Clears the mail flag and returns whether it was set; the mailbox itself has its own lock.
    pub fn take_mail_flag(&self) -> bool {
        // Acquire: pairs with the Release in `announce_mail`, though the box's lock would do.
        self.mail.load(Ordering::Acquire) && self.mail.swap(false, Ordering::AcqRel)
    }

    /// Sets the mail flag, and kicks the holder if it sleeps.
    pub fn announce_mail(&self, kick: impl FnOnce()) {
        self.mail.store(true, Ordering::Release);
        self.kick_if_polling(kick);
    }

    /// Calls `sleep`, which sleeps in the poller, unless a worker is queued or there is mail. A
    /// thread that queues or sends mail later kicks.
    pub fn poll(&self, sleep: impl FnOnce()) {
        self.polling.store(true, Ordering::Relaxed);
        // SeqCst: pairs with the fence in `kick_if_polling`: either this thread sees the queue or
        // the mail, or the other thread sees that this one polls.
        fence(Ordering::SeqCst);
        let busy = self.has_signalled() || self.has_yielded() || self.mail.load(Ordering::Relaxed);
        if !busy {
            sleep();
        }
        self.polling.store(false, Ordering::Relaxed);
    }

    fn kick_if_polling(&self, kick: impl FnOnce()) {
        // SeqCst: pairs with the fence in `poll`.
        fence(Ordering::SeqCst);
        if self.polling.load(Ordering::Relaxed) {
            kick();
        }
    }

    fn publish(&self, queues: &Queues) {
        let length = |queue: &VecDeque<_>| u32::try_from(queue.len()).unwrap_or(u32::MAX);
        // Relaxed: hints between threads; what must not be missed goes through the fences.
        self.signalled.store(length(&queues.signalled), Ordering::Relaxed);
        self.yielded.store(length(&queues.yielded), Ordering::Relaxed);
    }

    /// The number of workers that wait for the scheduler, and the number of idle ones.
    #[must_use]
    pub fn queue_lengths(&self) -> (usize, usize) {
        let queues = self.queues.lock();
        (queues.signalled.len() + queues.yielded.len(), queues.idle.len())
    }
}

fn grant(next: Option<Arc<Seat>>) -> Passed {
    match next {
        Some(seat) => {
            seat.grant.set(GRANTED);
            Passed::ToWorker
        }
        None => Passed::Nobody,
    }
}
