//! The loop that a scheduler's holder runs: events, tasks, timers, mail, and sleep in the poller.

use std::io;

use super::activity::Standing;
use super::baton::{Baton, Grant, Passed};
use super::books::SchedulerBooks;
use super::core::{Core, HolderCell, Resting, Token};
use super::crew::Sent;
use super::machine::{Phase, Shared};
use super::task::{Connection, Interrupt, Next, Ready, TaskWaker};
use super::worker::Worker;
use crate::clock;
use crate::epoch;
use crate::ledger::{self, State};
use crate::lock::{SpinClass, SpinLock};
use crate::memory::{self, TIDY_NS};
use crate::sync::{Arc, AtomicBool, AtomicU64, CachePadded, Ordering, Weak};
use crate::sys::{self, Event, EventFd, Events, Poller, Timeout};
use crate::thread;
use crate::wait::WaitType;

/// An idle worker ends after this time; the next wait hires another one.
const IDLE_WORKER_NS: u64 = 60_000_000_000;
/// How long the poller sleeps while retired memory waits to be freed.
const COLLECT_NS: u64 = 5_000_000;
/// How long a worker has nothing to do before it tidies up its memory, and how much longer until it does so again: others
/// free what it has allocated, the collector and whoever lets go of dropped tables, some seconds after its last
/// request, and only its own thread can give that back.
const TIDY_STEPS_NS: [u64; 3] = [TIDY_NS, 9 * TIDY_NS, 30 * TIDY_NS];

/// What other threads send to the holder.
pub(super) enum Mail {
    Adopt(Connection),
    Wake(Token),
    Errand(Arc<Sent>),
}

/// The right to run on one CPU, and the connections that run there.
pub(super) struct Scheduler {
    pub(super) id: u32,
    pub(super) cpu: Option<usize>,
    pub(super) shared: Arc<Shared>,
    pub(super) baton: Baton,
    core: HolderCell<Core>,
    poller: Poller,
    kick: EventFd,
    mail: CachePadded<SpinLock<Vec<Mail>>>,
    /// Connections, the ones still in the mail included.
    pub(super) connections: AtomicU64,
    pub(super) workers: AtomicU64,
    pub(super) books: CachePadded<SchedulerBooks>,
    /// When tasks were first seen to wait for a worker, in ticks, while nobody holds the scheduler; the
    /// monitor's.
    pub(super) queued: SpinLock<Vec<u64>>,
    /// What workers that have ended spent on a CPU and waiting for one, in ns.
    pub(super) ended_cpu_ns: AtomicU64,
    pub(super) ended_delay_ns: AtomicU64,
    /// Set when the last connection has gone after the machine began to stop.
    ended: AtomicBool,
    me: Weak<Self>,
}

enum Serving {
    On,
    End,
}

impl Scheduler {
    pub(super) fn new(id: u32, cpu: Option<usize>, shared: Arc<Shared>) -> io::Result<Arc<Self>> {
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
            connections: AtomicU64::new(0),
            workers: AtomicU64::new(0),
            books: CachePadded::default(),
            queued: SpinLock::new(SpinClass::SosScheduler, Vec::new()),
            ended_cpu_ns: AtomicU64::new(0),
            ended_delay_ns: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        }))
    }

    /// Sends something to the holder, waking it if it sleeps.
    pub(super) fn send(&self, mail: Mail) {
        self.mail.lock().push(mail);
        self.baton.announce_mail(|| self.kick.signal());
    }

    /// Keeps the kernel's books on the calling worker, which ends.
    pub(super) fn keep_times(&self) {
        if let Some(times) = sys::run_times(sys::thread_id()) {
            self.ended_cpu_ns.fetch_add(times.on_cpu_ns, Ordering::Relaxed);
            self.ended_delay_ns.fetch_add(times.runnable_ns, Ordering::Relaxed);
        }
    }

    /// Wakes the holder to look at the machine's phase.
    pub(super) fn nudge(&self) {
        self.baton.announce_mail(|| self.kick.signal());
    }

    /// Whether the machine is stopping and the last connection has gone.
    pub(super) fn has_ended(&self) -> bool {
        // Acquire: pairs with the Release in `close_down`.
        self.ended.load(Ordering::Acquire)
    }

    /// Runs the loop; the calling worker holds the scheduler. Returns when the worker shall end.
    pub(super) fn serve(&self, worker: &Worker) {
        self.books.held_by(worker.activity.number());
        ledger::to(State::Scheduling);
        epoch::enter();
        while let Serving::On = self.round(worker) {}
        epoch::leave();
        ledger::to(State::Idle);
    }

    /// Works on what is ready, one task after the other, then looks for more.
    fn round(&self, worker: &Worker) -> Serving {
        while let Some((token, ready)) = self.next_ready() {
            self.run_task(worker, token, ready);
            epoch::quiescent();
            if self.baton.has_signalled() {
                match self.rest(worker) {
                    Serving::On => {}
                    Serving::End => return Serving::End,
                }
            }
        }
        if self.baton.take_mail_flag() {
            self.read_mail();
        }
        self.run_errands(worker);
        if self.shared.phase() != Phase::Running && self.close_down() {
            return Serving::End;
        }
        if self.baton.has_yielded() || self.baton.has_signalled() {
            // Whoever has the scheduler meanwhile may leave events: a new round begins with them.
            self.begin_round();
            return self.rest(worker);
        }
        self.poll(worker);
        Serving::On
    }

    /// Takes the next task that is ready off the events, then off the ones to run again. The latter
    /// wait until the events at hand are done.
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
                match slot.resting.take() {
                    Some(resting) => Some(Ok(resting)),
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
            // A deadline or a waker: the task is run for it when it is at rest.
            Some(Err(_)) => {}
            Some(Ok(mut resting)) => {
                worker.begin_request();
                self.books.step();
                let run = || resting.task.run(ready, &resting.waker);
                // The worker may have given the scheduler up in between; it holds it again now.
                let next = thread::contain(run).unwrap_or_else(|message| {
                    eprintln!("clearway: a connection's task panicked: {message}");
                    Next::Close
                });
                ledger::task_returned();
                crate::stack::give_back();
                self.put_back(token, resting, next, ready);
            }
        }
    }

    /// Takes the next errand of another scheduler's request.
    pub(super) fn next_errand(&self) -> Option<Arc<Sent>> {
        // SAFETY: called by the loop, which holds the scheduler; the closure only pops.
        unsafe { self.core.with(|core| core.errands.pop_front()) }
    }

    fn put_back(&self, token: Token, resting: Resting, next: Next, ready: Ready) {
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
                let mut reasons = std::mem::take(&mut slot.pending);
                if next == Next::Again {
                    reasons = reasons.and(Ready::AGAIN);
                }
                if ready.has(Ready::HANGUP) {
                    // The kernel reports the end of the stream once; the task may not be there yet.
                    reasons = reasons.and(Ready::HANGUP);
                }
                if reasons != Ready::default() {
                    core.again.push_back((token, reasons));
                }
            });
        }
    }

    /// Ends a connection; `running` is its task, if that was running.
    fn close(&self, token: Token, running: Option<Resting>) {
        // SAFETY: called by the loop, which holds the scheduler; the closure does not give it up.
        let resting = unsafe { self.core.with(|core| core.remove(token)) };
        if let Some(gone) = running.or(resting) {
            self.poller.remove(gone.task.fd());
            let dropped = thread::contain(|| drop(gone));
            if let Err(message) = dropped {
                eprintln!("clearway: a connection's task panicked at its end: {message}");
            }
        }
        // Relaxed: a count for the choice of a scheduler.
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Gives the scheduler to a worker that is runnable, and rests until there is need again.
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
            self.books.held_by(worker.activity.number());
        }
        epoch::enter();
        match grant {
            None | Some(Grant::Scheduler) => Serving::On,
            Some(Grant::Exit | Grant::Unneeded) => Serving::End,
        }
    }

    #[cold]
    fn read_mail(&self) {
        let letters = std::mem::take(&mut *self.mail.lock());
        for letter in letters {
            match letter {
                Mail::Adopt(connection) => self.adopt(connection),
                // SAFETY: called by the loop, which holds the scheduler.
                Mail::Wake(token) => unsafe {
                    self.core.with(|core| core.again.push_back((token, Ready::WOKEN)));
                },
                // SAFETY: as above.
                Mail::Errand(sent) => unsafe {
                    self.core.with(|core| core.errands.push_back(sent));
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

    /// Fires timers and makes due what asks to run again. Requests that use up their quanta ask the poller themselves, so
    /// that a scheduler which always has some of them may not get to its own for long.
    fn begin_round(&self) {
        // SAFETY: called by the loop, which holds the scheduler; the closure does not give it up.
        unsafe {
            self.core.with(|core| {
                if core.next_deadline().is_some() {
                    core.fire_timers(clock::monotonic_ns());
                }
                core.again_due = core.again.len();
            });
        }
    }

    /// Fires timers and asks the poller for events, sleeping if there is nothing else to do.
    fn poll(&self, worker: &Worker) {
        self.books.step();
        // SAFETY: called by the loop, which holds the scheduler; the closures do not give it up.
        let (ready, deadline_ns) = unsafe {
            self.core.with(|core| {
                let deadline_ns = core.next_deadline();
                if let Some(deadline_ns) = deadline_ns {
                    let now_ns = clock::monotonic_ns();
                    self.books.note_timers(clock::now_ticks());
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
        // While this thread sleeps it must not hold back what others retire.
        epoch::leave();
        let collect_ns = (epoch::pending() > 0).then_some(COLLECT_NS);
        let tidy_ns = TIDY_STEPS_NS.get(worker.tidied.get()).copied();
        let first_ns = [deadline_ns, collect_ns, tidy_ns].into_iter().flatten().min();
        let timeout = first_ns.map_or(Timeout::Never, Timeout::After);
        let mut fetched = 1;
        idle(worker, State::Polling, || {
            self.baton.poll(|| {
                self.books.count_idle();
                // SAFETY: as above: sleeping in the poller does not give the scheduler up.
                fetched = unsafe { self.core.with(|core| core.fetch(&self.poller, timeout)) };
            });
        });
        if fetched == 0 {
            // A quiet moment: nobody is held up by freeing.
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
        // SAFETY: called by the loop, which holds the scheduler; the closures do not give it up.
        let resting = unsafe { self.core.with(|core| core.resting()) };
        for token in resting {
            self.close(token, None);
        }
        // SAFETY: as above.
        let running = unsafe { self.core.with(|core| core.running()) };
        if self.shared.phase() == Phase::Stopping {
            for interrupt in &running {
                interrupt.stop();
            }
        }
        if !running.is_empty() {
            return false;
        }
        self.ended.store(true, Ordering::Release);
        self.baton.dismiss();
        self.baton.abandon();
        self.shared.announce_end();
        true
    }

    /// Asks the running requests to stop on behalf of a scheduler that nobody holds, because all the
    /// workers there may be are waiting.
    pub(super) fn stop_waiting(&self) {
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

    /// Does for a scheduler that nobody holds what cannot wait for a worker: delivers attentions, takes
    /// connections in, and makes a worker if there may be one again. Returns how many tasks wait for a
    /// worker; none if somebody holds it.
    pub(super) fn tend(self: &Arc<Self>) -> Option<usize> {
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
        if queued == 0 || !Worker::hire(self) {
            self.baton.abandon();
        }
        Some(queued)
    }

    /// Gives the scheduler to somebody else because the calling worker must wait.
    pub(super) fn hand_over(self: &Arc<Self>) {
        if self.baton.pass() == Passed::Nobody && !Worker::hire(self) {
            self.books.held_by_nobody();
            self.baton.abandon();
            // Nobody serves the connections now: attentions are the monitor's to deliver.
            self.shared.monitor.wake();
        }
    }

    /// Takes the scheduler back after a wait.
    pub(super) fn take_back(&self, worker: &Worker) {
        self.baton.take(&worker.seat, || self.kick.signal());
        self.books.held_by(worker.activity.number());
        worker.renew_quantum();
    }

    /// The running request has used up its quantum: interrupts are delivered, and if another task is
    /// ready it gets the scheduler. True if it did, and the caller has it back now.
    pub(super) fn end_quantum(self: &Arc<Self>, worker: &Worker) -> bool {
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
        self.books.step();
        if ready {
            self.baton.offer(&worker.seat, || Worker::hire(self));
            self.books.held_by(worker.activity.number());
        }
        ready
    }
}

/// Has nothing to do until `rest` returns. Booked as a wait, as SQL Server does, of an idle type.
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

/// Turns what the kernel reports into reasons to run.
fn reasons(event: Event) -> Ready {
    if event.hangup { Ready::READABLE.and(Ready::HANGUP) } else { Ready::READABLE }
}

impl Core {
    fn next_ready(&mut self) -> Option<(Token, Ready)> {
        for event in &mut self.events {
            let token = Token(event.token);
            if token != Token::KICK {
                return Some((token, reasons(event)));
            }
        }
        // What asks to run again during this round waits for the next: the poller comes first.
        if self.again_due == 0 {
            return None;
        }
        self.again_due -= 1;
        self.again.pop_front()
    }

    /// Asks the poller for events and begins a new round; returns how many there are.
    fn fetch(&mut self, poller: &Poller, timeout: Timeout) -> usize {
        // Edges are reported once: an event that is thrown away is lost.
        debug_assert!(!self.events.has_next(), "a round ends with its last event");
        poller.wait(&mut self.events, timeout);
        self.again_due = self.again.len();
        self.events.len()
    }

    /// Fetches events and queues the tasks they are for; returns how to reach those that are running,
    /// and how many others wait.
    fn take_stock(&mut self, poller: &Poller) -> (Vec<Arc<dyn Interrupt>>, usize) {
        let interrupts = self.look_around(poller);
        for event in self.events.by_ref() {
            let token = Token(event.token);
            if token == Token::KICK || self.again.iter().any(|(other, _)| *other == token) {
                // Whoever is queued reads all that has come.
                continue;
            }
            self.again.push_back((token, reasons(event)));
        }
        (interrupts, self.again.len())
    }

    /// Fetches events if there are none left, and takes out those of tasks that are running.
    fn look_around(&mut self, poller: &Poller) -> Vec<Arc<dyn Interrupt>> {
        let mut interrupts = Vec::new();
        let mut events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        if !events.has_next() {
            poller.wait(&mut events, Timeout::None);
        }
        events.retain(|event| {
            let Some(slot) = self.slot(Token(event.token)) else { return false };
            if slot.resting.is_some() {
                return true;
            }
            slot.pending = slot.pending.and(reasons(event));
            interrupts.extend(slot.interrupt.clone());
            false
        });
        self.events = events;
        interrupts
    }
}
