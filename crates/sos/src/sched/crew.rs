//! Crews: a request lends parts of its work to schedulers that have nothing to do.
//!
//! ```text
//!  Machine::crew ── Mail::Errand ──► idle schedulers          each errand: waiting ──► running ──► done
//!        │ lead()                       │ help(number)                        └─────► revoked
//!        └── revoke what has not begun, wait for what runs ◄───┘ notifies
//! ```
//! Only schedulers whose holder sleeps in its poller are asked: who has requests of its own keeps to them.
//! A helper runs as a request does: at the end of its quantum it gives its scheduler to whoever is ready.
//! An errand that nobody has begun when the leader has no more work is taken back, so that a leader waits
//! for those only that run.

use std::marker::PhantomData;

use super::machine::Machine;
use super::scheduler::{Mail, Scheduler};
use super::worker::Worker;
use crate::errand::{Errand, ProvenErrand, Running};
use crate::lock::{SpinClass, SpinLock};
use crate::park;
use crate::sync::Arc;
use crate::thread;
use crate::wait::WaitType;

/// What an errand calls, its lifetime taken off.
type Help = &'static (dyn Fn(usize, &Bell) + Sync);

/// An errand on its way to a scheduler.
pub(super) struct Sent {
    errand: Errand,
    number: usize,
    help: Help,
    hall: Arc<Hall>,
}

/// Where the leader waits.
struct Hall {
    running: Running,
    /// What the first helper that panicked had to say.
    panicked: SpinLock<Option<String>>,
}

impl Hall {
    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl Sent {
    /// Runs the errand, unless it has been taken back.
    fn run(&self) {
        self.errand.run::<ProvenErrand>(&self.hall.running, || {
            let helped =
                thread::contain(|| (self.help)(self.number, &Bell(Arc::clone(&self.hall))));
            if let Err(message) = helped {
                self.hall.panicked.lock().get_or_insert(message);
            }
        });
        park::unpark_all(self.hall.key());
    }
}

/// The helpers of a leader.
pub struct Crew<'a> {
    sent: Vec<Arc<Sent>>,
    hall: Arc<Hall>,
    _help: PhantomData<&'a ()>,
}

impl Crew<'_> {
    /// Returns how many schedulers have been asked.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// Tells whether nobody has been asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Takes back what nobody has begun.
    pub fn revoke(&self) {
        self.sent.iter().for_each(|sent| sent.errand.revoke::<ProvenErrand>());
    }

    /// Tells whether no helper runs. After [`Crew::revoke`] none will.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.hall.running.is_over()
    }

    /// Waits while `must_wait`, until somebody notifies. The leader and helpers may.
    ///
    /// `must_wait` may only read; it must not park, unpark, or take other locks.
    pub fn wait(&self, wait_type: WaitType, must_wait: impl FnOnce() -> bool) {
        park::park(self.hall.key(), wait_type, must_wait, None, None);
    }

    /// Wakes who waits.
    pub fn notify(&self) {
        park::unpark_all(self.hall.key());
    }

    /// Returns what wakes who waits, for helpers.
    #[must_use]
    pub fn bell(&self) -> Bell {
        Bell(Arc::clone(&self.hall))
    }
}

/// Wakes and waits where the leader of a crew does.
#[derive(Clone)]
pub struct Bell(Arc<Hall>);

impl std::fmt::Debug for Bell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bell").finish_non_exhaustive()
    }
}

impl Bell {
    /// As [`Crew::notify`].
    pub fn notify(&self) {
        park::unpark_all(self.0.key());
    }

    /// As [`Crew::wait`].
    pub fn wait(&self, wait_type: WaitType, must_wait: impl FnOnce() -> bool) {
        park::park(self.0.key(), wait_type, must_wait, None, None);
    }
}

/// Ends a crew: takes back what nobody has begun, and waits for who runs. Also when the leader panics.
struct Dismiss<'c, 'a>(&'c Crew<'a>);

impl Drop for Dismiss<'_, '_> {
    fn drop(&mut self) {
        self.0.revoke();
        while !self.0.is_over() {
            self.0.wait(WaitType::CxConsumer, || !self.0.is_over());
        }
    }
}

impl Machine {
    /// Returns how many schedulers have nothing to do.
    #[must_use]
    pub fn idle_schedulers(&self) -> usize {
        self.scheduler_list().iter().filter(|scheduler| scheduler.baton.is_polling()).count()
    }

    /// Asks up to `helpers_max` schedulers that have nothing to do to call `help` with a number of their own,
    /// from 0, and calls `lead`. Returns when `lead` has and nobody is in `help` any more; who has not begun by
    /// then is not called.
    ///
    /// # Panics
    /// If a helper does.
    pub fn crew<R>(
        &self,
        helpers_max: usize,
        help: &(dyn Fn(usize, &Bell) + Sync),
        lead: impl FnOnce(&Crew<'_>) -> R,
    ) -> R {
        let panicked = SpinLock::new(SpinClass::SosScheduler, None);
        let hall = Arc::new(Hall { running: Running::default(), panicked });
        // SAFETY: `Dismiss` does not let this function end, by a panic neither, before no errand is being run
        // and none can begin: so nobody calls it after its lifetime.
        let help: Help = unsafe { std::mem::transmute(help) };
        let idle = self.scheduler_list().iter().filter(|scheduler| scheduler.baton.is_polling());
        let idle: Vec<&Arc<Scheduler>> = idle.take(helpers_max).collect();
        let sent = |number| {
            let errand = Errand::default();
            Arc::new(Sent { errand, number, help, hall: Arc::clone(&hall) })
        };
        let sent: Vec<Arc<Sent>> = (0..idle.len()).map(sent).collect();
        let crew = Crew { sent, hall: Arc::clone(&hall), _help: PhantomData };
        let dismiss = Dismiss(&crew);
        for (scheduler, sent) in idle.into_iter().zip(&crew.sent) {
            scheduler.send(Mail::Errand(Arc::clone(sent)));
        }
        let led = lead(&crew);
        drop(dismiss);
        let panicked = hall.panicked.lock().take();
        assert!(panicked.is_none(), "a helper panicked: {}", panicked.unwrap_or_default());
        led
    }
}

impl Scheduler {
    /// Runs the errands that have come.
    pub(super) fn run_errands(&self, worker: &Worker) {
        while let Some(sent) = self.next_errand() {
            worker.begin_request();
            self.books.step();
            sent.run();
            crate::ledger::task_returned();
            crate::stack::give_back();
            crate::epoch::quiescent();
        }
    }
}
