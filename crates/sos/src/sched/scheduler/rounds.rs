//! The loop that a scheduler's holder runs: events, tasks, timers, mail, and sleep in the poller.

use super::connections::{Core, Resting, Token};
use super::{Connection, Mail, Next, Phase, Ready, Scheduler, SentItem, TaskWaker, Worker};
use crate::clock;
use crate::epoch;
use crate::ledger::{self, State};
use crate::memory::{self, TIDY_NS};
use crate::sched::activity::Standing;
use crate::sched::handover::baton::{Grant, Passed};
use crate::sync::{Arc, Ordering};
use crate::sys::Timeout;
use crate::thread;
use crate::wait::WaitType;

/// An idle worker ends after this time; the next wait hires another one.
const IDLE_WORKER_NS: u64 = 60_000_000_000;
/// How long the poller sleeps while retired memory waits to be freed.
const COLLECT_NS: u64 = 5_000_000;
/// How long a worker is idle before it returns its free memory, and how much longer until it does
/// so again. Other threads, such as the collector, free memory that this worker allocated some
/// seconds after its last request, and only the worker's own thread can return that.
const TIDY_STEPS_NS: [u64; 3] = [TIDY_NS, 9 * TIDY_NS, 30 * TIDY_NS];

enum Serving {
    On,
    End,
}

impl Scheduler {
    /// Runs the loop; the calling worker holds the scheduler. Returns when the worker must end.
    pub(super) fn serve(&self, worker: &Worker) {
        self.counters.held_by(worker.activity.number());
        ledger::to(State::Scheduling);
        epoch::enter();
        while let Serving::On = self.round(worker) {}
        epoch::leave();
        ledger::to(State::Idle);
    }

    /// Runs the urgent tasks that are queued, while all other workers wait, and gives the scheduler
    /// up. The monitor finds those that come later.
    pub(super) fn relieve(&self, worker: &Worker) {
        self.relief.store(worker.activity.number(), Ordering::Relaxed);
        self.counters.held_by(worker.activity.number());
        ledger::to(State::Scheduling);
        epoch::enter();
        self.send_released(worker);
        // SAFETY: this worker holds the scheduler, in each turn; the closure only reads and pops.
        while let Some((token, ready)) = unsafe { self.core.with(Core::next_urgent) } {
            self.run_task(worker, token, ready);
            epoch::quiescent();
            if self.baton.has_signalled() {
                break;
            }
        }
        self.send_kept();
        self.end_rounds();
        epoch::leave();
        // Others may have come back while an urgent task waited.
        if self.baton.pass() == Passed::Nobody {
            self.counters.held_by_nobody();
            self.baton.abandon();
            self.shared.monitor.wake();
        }
        self.relief.store(0, Ordering::Relaxed);
        self.has_relief.store(false, Ordering::Relaxed);
        ledger::to(State::Idle);
    }

    /// Sends released answers, runs the ready tasks one after the other, reads mail, then polls for
    /// more.
    fn round(&self, worker: &Worker) -> Serving {
        self.send_released(worker);
        while let Some((token, ready)) = self.next_ready() {
            self.run_task(worker, token, ready);
            epoch::quiescent();
            if self.baton.has_signalled() {
                self.send_kept();
                self.end_rounds();
                match self.rest(worker) {
                    Serving::On => {}
                    Serving::End => return Serving::End,
                }
            }
        }
        self.send_kept();
        if self.baton.take_mail_flag() {
            self.read_mail();
        }
        self.send_released(worker);
        self.run_work_items(worker);
        if self.shared.phase() != Phase::Running && self.close_down() {
            return Serving::End;
        }
        self.end_long_rounds();
        if self.baton.has_yielded() || self.baton.has_signalled() {
            self.end_rounds();
            // The worker that gets the scheduler may leave events behind: a new round starts with
            // them.
            self.begin_round();
            return self.rest(worker);
        }
        self.poll(worker);
        Serving::On
    }

    /// Takes the next ready task: from the fetched events, and once those are used up, from the
    /// tasks that are due to run again.
    #[inline]
    fn next_ready(&self) -> Option<(Token, Ready)> {
        // SAFETY: called by the loop, which holds the scheduler; the closure only reads and pops.
        unsafe { self.core.with(Core::next_ready) }
    }

    /// Runs a task, or interrupts it if another worker is in the middle of it.
    fn run_task(&self, worker: &Worker, token: Token, ready: Ready) {
        // SAFETY: called by the loop, which holds the scheduler; the closure does not give it up.
        let resting = unsafe {
            self.core.with(|core| {
                let slot = core.slot(token)?;
                if slot.is_held && !ready.has(Ready::RELEASED) {
                    slot.pending = slot.pending.and(ready);
                    return None;
                }
                slot.is_held = false;
                let was_long = slot.was_long;
                match slot.resting.take() {
                    Some(resting) => {
                        if was_long {
                            core.send_kept();
                        }
                        Some(Ok(resting))
                    }
                    None => {
                        slot.pending = slot.pending.and(ready);
                        slot.interrupt.clone().map(Err)
                    }
                }
            })
        };
        match resting {
            None => {}
            Some(Err(interrupt)) if ready.has(Ready::READABLE) => interrupt.interrupt(),
            // A deadline or a waker: the task runs for that reason once it is at rest.
            Some(Err(_)) => {}
            Some(Ok(mut resting)) => {
                worker.begin_request();
                worker.task.set(token);
                self.counters.step();
                let began = ledger::now_at_edge();
                let run = || resting.task.run(ready, &resting.waker);
                // The task may have handed the scheduler over while it ran; the worker holds it
                // again now.
                let next = thread::contain(run).unwrap_or_else(|message| {
                    crate::error_log::line(&format_args!(
                        "A connection's task panicked: {message}"
                    ));
                    Next::Close
                });
                ledger::task_returned();
                crate::stack::give_back();
                let ticks = ledger::now_at_edge().saturating_sub(began);
                // SAFETY: as above.
                unsafe { self.core.with(|core| core.note_run(token, ticks)) };
                self.put_back(token, resting, next, ready);
            }
        }
    }

    /// Runs the work items that requests of other schedulers have sent.
    fn run_work_items(&self, worker: &Worker) {
        while let Some(sent) = self.next_work_item() {
            worker.begin_request();
            self.counters.step();
            sent.run();
            ledger::task_returned();
            crate::stack::give_back();
            epoch::quiescent();
        }
    }

    fn next_work_item(&self) -> Option<Arc<SentItem>> {
        // SAFETY: called by the loop, which holds the scheduler; the closure only pops.
        unsafe { self.core.with(|core| core.work_items.pop_front()) }
    }

    pub(super) fn put_back(&self, token: Token, resting: Resting, next: Next, ready: Ready) {
        if next == Next::Close {
            return self.close(token, Some(resting));
        }
        let deadline_ns = resting.task.deadline_ns();
        // SAFETY: called by the loop, which holds the scheduler; the closure does not give it up.
        unsafe {
            self.core.with(|core| {
                core.set_deadline(token, deadline_ns);
                let Some(slot) = core.slot(token) else { return };
                slot.resting = Some(resting);
                if let Next::Hold(number) = next {
                    slot.is_held = true;
                    return core.hold(token, number);
                }
                let mut reasons = std::mem::take(&mut slot.pending);
                if next == Next::Again {
                    reasons = reasons.and(Ready::AGAIN);
                }
                if ready.has(Ready::HANGUP) {
                    // The kernel reports the end of the stream once; the task may not have read so
                    // far yet.
                    reasons = reasons.and(Ready::HANGUP);
                }
                // What was queued while it ran is not among the urgent ones.
                let is_behind = slot.is_queued && slot.is_urgent();
                if reasons != Ready::default() || is_behind {
                    core.queue(token, reasons);
                }
            });
        }
    }

    /// Ends a connection; `running` is its task, if that was running.
    fn close(&self, token: Token, running: Option<Resting>) {
        // Its last answer, and before its descriptor is used again.
        self.send_kept();
        // SAFETY: called by the loop, which holds the scheduler; the closure does not give it up.
        let resting = unsafe { self.core.with(|core| core.remove(token)) };
        if let Some(gone) = running.or(resting) {
            self.poller.remove(gone.task.fd());
            let dropped = thread::contain(|| drop(gone));
            if let Err(message) = dropped {
                crate::error_log::line(&format_args!(
                    "A connection's task panicked at its end: {message}"
                ));
            }
        }
        // Relaxed: a count for the choice of a scheduler.
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Gives the scheduler to a runnable worker, if there is one, and rests until a worker is
    /// needed.
    #[cold]
    fn rest(&self, worker: &Worker) -> Serving {
        epoch::leave();
        let deadline_ns = || {
            let begin_ns = clock::monotonic_ns();
            let mut until_ns = begin_ns;
            for step_ns in TIDY_STEPS_NS {
                until_ns += step_ns;
                if !worker.seat.is_left_alone_until(until_ns) {
                    break;
                }
                memory::tidy();
            }
            Some(begin_ns + IDLE_WORKER_NS)
        };
        let grant = idle(worker, State::Idle, || self.baton.rest(&worker.seat, deadline_ns));
        if grant == Some(Grant::Scheduler) {
            self.counters.held_by(worker.activity.number());
        }
        epoch::enter();
        match grant {
            None | Some(Grant::Scheduler) => Serving::On,
            Some(Grant::Exit | Grant::Unneeded) => Serving::End,
        }
    }

    #[cold]
    pub(super) fn read_mail(&self) {
        let letters = std::mem::take(&mut *self.mail.lock());
        for letter in letters {
            match letter {
                Mail::Adopt(connection) => self.adopt(connection),
                // SAFETY: called by the loop, which holds the scheduler.
                Mail::Wake(token) => unsafe {
                    self.core.with(|core| core.queue(token, Ready::WOKEN));
                },
                // SAFETY: as above.
                Mail::WorkItem(sent) => unsafe {
                    self.core.with(|core| core.work_items.push_back(sent));
                },
            }
        }
    }

    fn adopt(&self, connection: Connection) {
        let deadline_ns = connection.task.deadline_ns();
        let scheduler = self.me.upgrade().expect("a worker of the scheduler keeps it alive");
        let make = |token| {
            let waker = TaskWaker { scheduler, token };
            Resting { task: connection.task, waker }
        };
        // SAFETY: called by the loop, which holds the scheduler; the closure does not give it up.
        let (token, added) = unsafe {
            self.core.with(|core| {
                let token = core.insert(connection.interrupt, make);
                core.set_deadline(token, deadline_ns);
                let fd = core.slot(token).and_then(|slot| slot.resting.as_ref());
                let added = fd.map(|resting| self.poller.add(resting.task.fd(), token.0));
                (token, added)
            })
        };
        if !matches!(added, Some(Ok(()))) {
            self.close(token, None);
        }
    }

    /// Fires timers and makes due the tasks that ask to run again. Requests that use up their
    /// quanta fetch events themselves, so a scheduler that always has some may not reach `poll` for
    /// long.
    fn begin_round(&self) {
        // SAFETY: called by the loop, which holds the scheduler; the closure does not give it up.
        unsafe {
            self.core.with(|core| {
                if core.next_deadline().is_some() {
                    core.fire_timers(clock::monotonic_ns());
                }
                core.make_due();
            });
        }
    }

    /// Fires timers and asks the poller for events, sleeping if there is nothing else to do.
    fn poll(&self, worker: &Worker) {
        self.counters.step();
        // SAFETY: called by the loop, which holds the scheduler; the closures do not give it up.
        let (ready, deadline_ns) = unsafe {
            self.core.with(|core| {
                let deadline_ns = core.next_deadline();
                if let Some(deadline_ns) = deadline_ns {
                    let now_ns = clock::monotonic_ns();
                    self.counters.note_timers(clock::now_ticks());
                    core.fire_timers(now_ns);
                    (core.has_ready(), Some(deadline_ns.saturating_sub(now_ns)))
                } else {
                    (core.has_ready(), None)
                }
            })
        };
        if ready {
            // SAFETY: as above.
            unsafe { self.core.with(|core| core.fetch(&self.poller, Timeout::None)) };
            return;
        }
        if self.has_put_off() {
            // What has arrived by now shares the work.
            // SAFETY: as above.
            if unsafe { self.core.with(|core| core.fetch(&self.poller, Timeout::None)) } > 0 {
                return;
            }
            self.end_rounds();
        }
        // While this thread sleeps it must not hold back the freeing of what others retire.
        epoch::leave();
        let collect_ns = (epoch::pending() > 0).then_some(COLLECT_NS);
        let tidy_ns = TIDY_STEPS_NS.get(worker.tidied.get()).copied();
        let first_ns = [deadline_ns, collect_ns, tidy_ns].into_iter().flatten().min();
        let timeout = first_ns.map_or(Timeout::Never, Timeout::After);
        let mut fetched = 1;
        idle(worker, State::Polling, || {
            self.baton.poll(|| {
                self.counters.count_idle();
                // SAFETY: as above: sleeping in the poller does not give the scheduler up.
                fetched = unsafe { self.core.with(|core| core.fetch(&self.poller, timeout)) };
            });
        });
        if fetched == 0 {
            // Nothing is ready, so freeing memory now delays no request.
            epoch::collect();
            if first_ns == tidy_ns && tidy_ns.is_some() {
                memory::tidy();
                worker.tidied.set(worker.tidied.get() + 1);
            }
        } else {
            worker.tidied.set(0);
        }
        epoch::enter();
    }

    /// Closes the connections that are at rest, and asks the running ones to stop when it is time.
    /// True when none is left.
    #[cold]
    fn close_down(&self) -> bool {
        // Held answers leave first, unless requests are asked to stop.
        let and_held = self.shared.phase() == Phase::Stopping;
        // SAFETY: called by the loop, which holds the scheduler; the closures do not give it up.
        let resting = unsafe { self.core.with(|core| core.resting(and_held)) };
        for token in resting {
            self.close(token, None);
        }
        if and_held {
            // SAFETY: as above.
            unsafe { self.core.with(|core| core.held.clear()) };
        }
        // SAFETY: as above.
        let running = unsafe { self.core.with(|core| core.running()) };
        if self.shared.phase() == Phase::Stopping {
            for interrupt in &running {
                interrupt.stop();
            }
        }
        // SAFETY: as above.
        if !running.is_empty() || unsafe { self.core.with(|core| core.has_held()) } {
            return false;
        }
        self.ended.store(true, Ordering::Release);
        self.baton.dismiss();
        self.baton.abandon();
        self.shared.announce_end();
        true
    }
}

/// Runs `rest`, in which the worker has nothing to do, and books it as SQL Server does: as a wait
/// of the idle type `SOS_WORK_DISPATCHER`.
fn idle<R>(worker: &Worker, state: State, rest: impl FnOnce() -> R) -> R {
    ledger::to(state);
    let started = ledger::now_at_edge();
    worker.activity.set_idle();
    let rested = rest();
    worker.activity.stand(Standing::Running);
    ledger::to(State::Scheduling);
    let ticks = ledger::now_at_edge().saturating_sub(started);
    ledger::with_current(|account| account.book_wait(WaitType::WorkDispatcher, ticks, 0));
    rested
}
