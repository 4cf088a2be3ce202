//! One scheduler: the right to run on one CPU, its connections, and the workers that take turns.
//!
//! `rounds.rs` is the loop that the holder runs; `connections.rs` and `events.rs` what the loop
//! works on; `task.rs` what a connection must provide; `worker.rs` the threads; `quantum.rs` how
//! long a request may run before it offers the scheduler; `counters.rs` the numbers that views
//! show; `shared.rs` what all schedulers of a machine share. This file has the scheduler itself and
//! what happens when it changes hands.
//!
//! A scheduler does not know the other schedulers, nor how a task waits (`waiting` does).

mod connections;
mod counters;
mod events;
mod held;
mod holder_cell;
mod quantum;
mod round_end;
mod rounds;
mod sends;
mod shared;
mod task;
mod worker;

use std::io;

use super::crew::SentItem;
use super::handover::baton::{Baton, Passed};
use crate::epoch;
use crate::lock::{SpinClass, SpinLock};
use crate::sync::{Arc, AtomicBool, AtomicU32, AtomicU64, CachePadded, Ordering, Weak};
use crate::sys::{self, EventFd, Poller};

use connections::{Core, Token};
use counters::SchedulerCounters;
use holder_cell::HolderCell;

pub use counters::SchedulerCounts;
pub use quantum::{BytePace, Pace, QUANTUM, check_quantum_soon, yield_if_quantum_due};
pub use round_end::{RoundEnd, put_off_to_round_end, send_at_round_end, take_unsent};
pub(in crate::sched) use shared::{Phase, Shared};
pub use task::{Connection, Interrupt, Next, Ready, Task, TaskWaker};
pub(in crate::sched) use worker::Worker;
pub use worker::current_scheduler;
pub(crate) use worker::current_worker;

/// A message from another thread to the holder.
pub(in crate::sched) enum Mail {
    Adopt(Connection),
    Wake(Token),
    WorkItem(Arc<SentItem>),
}

/// The right to run on one CPU, and the connections that run there.
pub(in crate::sched) struct Scheduler {
    pub(in crate::sched) id: u32,
    pub(in crate::sched) cpu: Option<usize>,
    pub(in crate::sched) shared: Arc<Shared>,
    pub(in crate::sched) baton: Baton,
    core: HolderCell<Core>,
    poller: Poller,
    kick: EventFd,
    mail: CachePadded<SpinLock<Vec<Mail>>>,
    /// The number of its connections whose answers are held.
    held: CachePadded<AtomicU64>,
    /// Whether something was put off, and the clock ticks since when. Only the holder uses them.
    has_put_off: AtomicBool,
    put_off_ticks: AtomicU64,
    /// The number of its connections, those still in the mail included.
    pub(in crate::sched) connections: AtomicU64,
    pub(in crate::sched) workers: AtomicU64,
    pub(in crate::sched) counters: CachePadded<SchedulerCounters>,
    /// Clock ticks when each task that waits for a worker was first seen, while no worker holds the
    /// scheduler. Only the monitor uses it.
    pub(in crate::sched) queued: SpinLock<Vec<u64>>,
    /// Whether a worker beyond the limit runs urgent tasks, and its ledger number once it does.
    has_relief: AtomicBool,
    relief: AtomicU32,
    /// The time that its ended workers spent on a CPU, and waiting for one, in ns.
    pub(in crate::sched) ended_cpu_ns: AtomicU64,
    pub(in crate::sched) ended_delay_ns: AtomicU64,
    /// Set when the last connection has gone after the machine began to stop.
    ended: AtomicBool,
    me: Weak<Self>,
}

impl Scheduler {
    pub(in crate::sched) fn new(
        id: u32,
        cpu: Option<usize>,
        shared: Arc<Shared>,
    ) -> io::Result<Arc<Self>> {
        let (poller, kick) = (Poller::new()?, EventFd::new()?);
        poller.add(&kick, Token::KICK.0)?;
        Ok(Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            id,
            cpu,
            shared,
            baton: Baton::new(),
            core: HolderCell::new(Core::new()),
            poller,
            kick,
            mail: CachePadded::new(SpinLock::new(SpinClass::SosScheduler, Vec::new())),
            held: CachePadded::new(AtomicU64::new(0)),
            has_put_off: AtomicBool::new(false),
            put_off_ticks: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            workers: AtomicU64::new(0),
            counters: CachePadded::default(),
            queued: SpinLock::new(SpinClass::SosScheduler, Vec::new()),
            has_relief: AtomicBool::new(false),
            relief: AtomicU32::new(0),
            ended_cpu_ns: AtomicU64::new(0),
            ended_delay_ns: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        }))
    }

    /// Sends mail to the holder, waking it if it sleeps.
    pub(in crate::sched) fn send(&self, mail: Mail) {
        self.mail.lock().push(mail);
        self.baton.announce_mail(|| self.kick.signal());
    }

    /// Adds the CPU and run-queue time of the calling worker, which ends, to the scheduler's sums.
    pub(in crate::sched) fn keep_times(&self) {
        if let Some(times) = sys::run_times(sys::thread_id()) {
            self.ended_cpu_ns.fetch_add(times.on_cpu_ns, Ordering::Relaxed);
            self.ended_delay_ns.fetch_add(times.runnable_ns, Ordering::Relaxed);
        }
    }

    /// Wakes the holder so that it reads the machine's phase.
    pub(in crate::sched) fn nudge(&self) {
        self.baton.announce_mail(|| self.kick.signal());
    }

    /// Whether the machine is stopping and the last connection has gone.
    pub(in crate::sched) fn has_ended(&self) -> bool {
        // Acquire: pairs with the Release in `close_down`.
        self.ended.load(Ordering::Acquire)
    }

    /// Asks the running requests to stop if no worker holds the scheduler, because every worker
    /// that the limit allows is waiting.
    pub(in crate::sched) fn stop_waiting(&self) {
        if !self.baton.take_if_free() {
            return;
        }
        // SAFETY: this thread holds the scheduler now; the closure does not give it up.
        let interrupts = unsafe { self.core.with(|core| core.running()) };
        for interrupt in interrupts {
            interrupt.stop();
        }
        self.baton.abandon();
    }

    /// For a scheduler that no worker holds: delivers attentions, adopts connections, and starts a
    /// worker if the limit allows one again, or else one beyond it for urgent tasks. Returns how
    /// many other tasks wait for a worker; `None` if a worker holds the scheduler.
    pub(in crate::sched) fn tend(self: &Arc<Self>) -> Option<usize> {
        if !self.baton.take_if_free() {
            return None;
        }
        if self.has_ended() {
            self.baton.abandon();
            return None;
        }
        if self.baton.take_mail_flag() {
            self.read_mail();
        }
        // SAFETY: this thread holds the scheduler now; the closure does not give it up.
        let (interrupts, queued) = unsafe { self.core.with(|core| core.take_stock(&self.poller)) };
        for interrupt in interrupts {
            interrupt.interrupt();
        }
        // SAFETY: as above; the closure only reads and counts.
        let (urgent, may_send) =
            unsafe { self.core.with(|core| (core.urgent.len(), self.may_send(core))) };
        let is_served =
            queued > 0 && Worker::hire(self) || (urgent > 0 || may_send) && self.hire_relief();
        if !is_served {
            self.baton.abandon();
        }
        Some(queued - urgent)
    }

    /// Whether the worker that holds the scheduler runs urgent tasks only.
    pub(in crate::sched) fn is_held_by_relief(&self) -> bool {
        // Relaxed: the monitor's counts may be a look behind.
        let relief = self.relief.load(Ordering::Relaxed);
        let is_there = self.has_relief.load(Ordering::Relaxed);
        // It holds the scheduler before it has begun.
        is_there && (relief == 0 || self.counters.holder() == relief)
    }

    /// Starts a worker beyond the limit, for urgent tasks and held answers that may leave; it begins as
    /// the scheduler's holder. There is one at a time: if it waits as well, further urgent tasks
    /// wait for it.
    fn hire_relief(self: &Arc<Self>) -> bool {
        if self.has_relief.swap(true, Ordering::Relaxed) {
            return false;
        }
        let hired = Worker::hire_relief(self);
        if !hired {
            self.has_relief.store(false, Ordering::Relaxed);
        }
        hired
    }

    /// Gives the scheduler to another worker because the calling one must wait.
    pub(in crate::sched) fn hand_over(self: &Arc<Self>) {
        self.send_kept();
        self.end_rounds();
        if self.baton.pass() == Passed::Nobody && !Worker::hire(self) {
            self.counters.held_by_nobody();
            self.baton.abandon();
            // No worker serves the connections now: the monitor delivers attentions.
            self.shared.monitor.wake();
        }
    }

    /// Takes the scheduler back after a wait.
    pub(in crate::sched) fn take_back(&self, worker: &Worker) {
        self.baton.take(&worker.seat, || self.kick.signal());
        self.counters.held_by(worker.activity.number());
        worker.quantum.renew();
    }

    /// Ends the quantum of the running request: delivers interrupts, and if another task is ready,
    /// gives it the scheduler and waits to get it back. Returns whether it did.
    pub(in crate::sched) fn end_quantum(self: &Arc<Self>, worker: &Worker) -> bool {
        self.send_kept();
        self.end_rounds();
        // SAFETY: the caller is a worker in the middle of a request, so it holds the scheduler.
        let interrupts = unsafe { self.core.with(|core| core.look_around(&self.poller)) };
        for interrupt in interrupts {
            interrupt.interrupt();
        }
        // SAFETY: as above.
        let ready = unsafe { self.core.with(|core| core.has_ready()) }
            || self.baton.has_signalled()
            || self.baton.has_yielded()
            || self.baton.has_mail();
        self.counters.step();
        // An epoch pin of this request stays: others may run, but nothing that it reads is freed.
        let aside = epoch::step_aside();
        if ready {
            self.baton.offer(&worker.seat, || Worker::hire(self));
        }
        drop(aside);
        if ready {
            self.counters.held_by(worker.activity.number());
        }
        ready
    }
}
