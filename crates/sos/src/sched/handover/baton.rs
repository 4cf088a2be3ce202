//! The baton: which worker holds a scheduler, and who is next.
//!
//! | held | queues          | meaning                                                              |
//! |------|-----------------|----------------------------------------------------------------------|
//! | yes  | any             | one worker runs; others wait in `signalled`, `yielded` or `idle`     |
//! | no   | all but `idle`  | empty: nobody could take it (the limit of workers), the next comer   |
//! |      | are empty       | takes it without waiting                                             |
//!
//! The holder looks at the queues between two requests, so the ones who queue need not stop it. Only
//! when it sleeps in its poller they must kick it. That neither side misses the other is Dekker's
//! pattern: each stores its own flag, fences, and reads the other's.

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
    /// Sleeps until the worker is told something or the deadline (monotonic ns) has passed, which it tells; what
    /// the worker is told waits for who asks.
    #[cfg(not(shuttle))]
    pub(in crate::sched) fn is_left_alone_until(&self, deadline_ns: u64) -> bool {
        self.grant.wait(Some(deadline_ns)) == 0
    }
}

/// What a sleeping worker is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// It holds the scheduler.
    Scheduler,
    /// It shall end.
    Exit,
    /// Nobody needed it until its deadline, and it has left the queue.
    Unneeded,
}

const GRANTED: u32 = 1;
const EXIT: u32 = 2;

/// Whether somebody took the scheduler over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// A worker of the queues holds it now.
    ToWorker,
    /// Nobody was there; the caller still holds it.
    Nobody,
}

#[derive(Debug)]
struct Queues {
    held: bool,
    /// Waits are over, in the order of their signals.
    signalled: VecDeque<Arc<Seat>>,
    /// Have used up their quantum.
    yielded: VecDeque<Arc<Seat>>,
    /// Have nothing to do. Last in, first out: its caches are warm.
    idle: Vec<Arc<Seat>>,
}

/// The right to run on one scheduler.
#[derive(Debug)]
pub struct Baton {
    queues: CachePadded<SpinLock<Queues>>,
    /// Lengths of the queues, and whether there is mail, for the holder to look at.
    signalled: AtomicU32,
    yielded: AtomicU32,
    mail: AtomicBool,
    /// Whether the holder sleeps in its poller, or is about to.
    polling: AtomicBool,
    /// Whether nobody holds it; for who looks from outside.
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

    /// Takes the scheduler if nobody holds it.
    pub fn take_if_free(&self) -> bool {
        let mut queues = self.queues.lock();
        let taken = !queues.held;
        self.hold(&mut queues);
        taken
    }

    fn hold(&self, queues: &mut Queues) {
        queues.held = true;
        // Relaxed, as in `abandon`: a hint for who looks from outside.
        self.unattended.store(false, Ordering::Relaxed);
    }

    /// Gives the scheduler to somebody who is ready for it: first to whose wait is over, then to an
    /// idle worker, which serves other connections.
    pub fn pass(&self) -> Passed {
        let mut queues = self.queues.lock();
        let next = queues.signalled.pop_front().or_else(|| queues.idle.pop());
        let next = next.or_else(|| queues.yielded.pop_front());
        self.publish(&queues);
        drop(queues);
        grant(next)
    }

    /// Gives the scheduler up although nobody serves its connections then: the next comer takes it.
    pub fn abandon(&self) {
        let mut queues = self.queues.lock();
        let next = queues.signalled.pop_front().or_else(|| queues.yielded.pop_front());
        queues.held = next.is_some();
        self.unattended.store(next.is_none(), Ordering::Relaxed);
        self.publish(&queues);
        drop(queues);
        grant(next);
    }

    /// Offers the scheduler at the end of a quantum and sleeps until it comes back. If nobody is there
    /// to take it, `hire` may start a worker that begins as its holder; if that fails, the caller
    /// keeps it.
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
            // Only the holder takes seats out, and that is still this thread.
            queues.yielded.retain(|other| !Arc::ptr_eq(other, seat));
            self.publish(&queues);
            return;
        }
        seat.grant.wait(None);
    }

    /// Gives the scheduler to whose wait is over, or whose quantum is due again, if there is one, and
    /// rests until it is needed or until `deadline_ns`. None if there was nobody.
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
        // Somebody has just taken this seat out to grant it.
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

    /// Whether nobody holds it, so that nobody serves its connections.
    pub fn is_unattended(&self) -> bool {
        self.unattended.load(Ordering::Relaxed)
    }

    /// Whether somebody's wait is over; the holder asks between two requests.
    #[inline]
    pub fn has_signalled(&self) -> bool {
        self.signalled.load(Ordering::Relaxed) != 0
    }

    /// Whether somebody has used up a quantum; the holder asks after each round.
    #[inline]
    pub fn has_yielded(&self) -> bool {
        self.yielded.load(Ordering::Relaxed) != 0
    }

    /// Whether there is mail.
    pub fn has_mail(&self) -> bool {
        self.mail.load(Ordering::Relaxed)
    }

    /// Takes note of mail, if there is some; the mailbox itself has its own lock.
    pub fn take_mail_flag(&self) -> bool {
        // Acquire: pairs with the Release in `announce_mail`, though the box's lock would do.
        self.mail.load(Ordering::Acquire) && self.mail.swap(false, Ordering::AcqRel)
    }

    /// Tells the holder that there is mail in the box.
    pub fn announce_mail(&self, kick: impl FnOnce()) {
        self.mail.store(true, Ordering::Release);
        self.kick_if_polling(kick);
    }

    /// Sleeps in the poller unless somebody queues or there is mail; whoever comes later kicks.
    pub fn poll(&self, sleep: impl FnOnce()) {
        self.polling.store(true, Ordering::Relaxed);
        // SeqCst: pairs with the fence in `kick_if_polling`: either this thread sees the queue or the
        // mail, or the other one sees that it polls.
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

    /// How many workers wait for the scheduler, and how many are idle.
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
