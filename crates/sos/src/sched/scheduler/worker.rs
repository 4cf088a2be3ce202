//! Workers: the threads that run tasks, and how the calling thread finds its own worker.

use std::cell::Cell;
use std::io;
use std::ptr;

use super::connections::Token;
use super::quantum::Quantum;
use super::{Scheduler, Shared};
use crate::sched::activity::{Activity, Role};
use crate::sched::handover::baton::Seat;
use crate::sync::{Arc, Ordering};
use crate::sys;
use crate::thread;

/// What a worker is there for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Duty {
    /// It runs whatever is ready, until it is not needed any more.
    All,
    /// It runs what is urgent, beyond the limit of workers, and ends.
    Urgent,
}

/// A worker. It is a local variable of its thread.
pub(in crate::sched) struct Worker {
    pub(in crate::sched) scheduler: Arc<Scheduler>,
    pub(in crate::sched) seat: Arc<Seat>,
    pub(in crate::sched) activity: Arc<Activity>,
    pub(super) quantum: Quantum,
    /// The connection whose task it runs, or has run last.
    pub(super) task: Cell<Token>,
    /// How often it has returned its free memory since it became idle.
    pub(in crate::sched) tidied: Cell<usize>,
}

thread_local! {
    static WORKER: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

/// The scheduler number and the address of the calling thread's worker; `None` if it is no worker.
pub(crate) fn current_worker() -> Option<(u32, usize)> {
    Worker::with_current(|worker| {
        worker.map(|worker| (worker.scheduler.id, std::ptr::from_ref(worker).addr()))
    })
}

/// Returns the number of the scheduler whose worker calls this; `None` on any other thread. A worker
/// that runs holds its scheduler, so no other thread gets the same number at the same time.
#[inline]
#[must_use]
pub fn current_scheduler() -> Option<u32> {
    Worker::with_current(|worker| worker.map(|worker| worker.scheduler.id))
}

impl Worker {
    /// Starts a worker that holds the scheduler from its first moment. Returns false if the limit
    /// of workers is reached or the system refuses a thread.
    pub(in crate::sched) fn hire(scheduler: &Arc<Scheduler>) -> bool {
        let hired = Self::try_hire(scheduler);
        if !hired {
            // The caller holds the scheduler.
            scheduler.counters.count_refused_hire();
        }
        hired
    }

    fn try_hire(scheduler: &Arc<Scheduler>) -> bool {
        let shared = &scheduler.shared;
        // Relaxed: a count that orders nothing.
        if shared.workers.fetch_add(1, Ordering::Relaxed) >= shared.workers_max {
            shared.workers.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        Self::start(scheduler, Duty::All)
    }

    /// Starts a worker for urgent tasks beyond the limit; it holds the scheduler from its first
    /// moment. Returns false if the system refuses a thread.
    pub(super) fn hire_relief(scheduler: &Arc<Scheduler>) -> bool {
        scheduler.shared.workers.fetch_add(1, Ordering::Relaxed);
        Self::start(scheduler, Duty::Urgent)
    }

    /// Starts a worker that is counted already.
    fn start(scheduler: &Arc<Scheduler>, duty: Duty) -> bool {
        let started = Self::spawn(scheduler, duty);
        if started.is_err() {
            scheduler.shared.workers.fetch_sub(1, Ordering::Relaxed);
        }
        started.is_ok()
    }

    fn spawn(scheduler: &Arc<Scheduler>, duty: Duty) -> io::Result<()> {
        let name = format!("sched-{}", scheduler.id);
        let shared = Arc::clone(&scheduler.shared);
        let scheduler_id = scheduler.id;
        let of_worker = Arc::clone(scheduler);
        scheduler.workers.fetch_add(1, Ordering::Relaxed);
        let body_name = name.clone();
        let body = move || {
            let role = Role::Worker(scheduler_id);
            let activity = Arc::new(Activity::of_this_thread(&body_name, role));
            let worker = Self {
                scheduler: of_worker,
                seat: Arc::default(),
                activity,
                quantum: Quantum::new(),
                task: Cell::new(Token::KICK),
                tidied: Cell::new(0),
            };
            worker.run(duty);
        };
        let started = thread::spawn(&shared.accounts, &name, body);
        match started {
            Ok(handle) => shared.keep_handle(handle),
            Err(error) => {
                scheduler.workers.fetch_sub(1, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    }

    fn run(self, duty: Duty) {
        if let Some(cpu) = self.scheduler.cpu {
            // If the system refuses, the worker runs on any CPU, which costs only speed.
            let _ = sys::pin_to_cpu(cpu);
        }
        #[cfg(census)]
        crate::census::enter(crate::census::Domain::of_scheduler(self.scheduler.id));
        let on_roster = self.shared().roster.enter(&self.activity);
        WORKER.set(&raw const self);
        match duty {
            Duty::All => self.scheduler.serve(&self),
            Duty::Urgent => self.scheduler.relieve(&self),
        }
        WORKER.set(ptr::null());
        self.scheduler.keep_times();
        drop(on_roster);
        self.scheduler.workers.fetch_sub(1, Ordering::Relaxed);
        self.shared().workers.fetch_sub(1, Ordering::Relaxed);
    }

    fn shared(&self) -> &Shared {
        &self.scheduler.shared
    }

    /// Runs `run` with the calling thread's worker, if it is one.
    #[inline]
    pub(in crate::sched) fn with_current<R>(run: impl FnOnce(Option<&Self>) -> R) -> R {
        let worker = WORKER.get();
        // SAFETY: `run` set it to a worker on its own stack, and clears it before that is gone.
        run(unsafe { worker.as_ref() })
    }

    /// Counts a new request and begins its quantum.
    #[inline]
    pub(in crate::sched) fn begin_request(&self) {
        self.activity.count_task();
        self.quantum.begin();
    }
}
