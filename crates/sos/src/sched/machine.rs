//! The machine of one instance: its schedulers, workers, background threads and their books.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::Duration;

use super::Connection;
use super::activity::{Activity, Role};
use super::books::SchedulerCounts;
use super::monitor::{Monitor, MonitorBell};
use super::roster::Roster;
use super::scheduler::{Mail, Scheduler};
use super::stall::{Stall, Stalls};
use super::worker::Worker;
use crate::clock;
use crate::epoch;
use crate::ledger::{self, Accounts, SourceChoice, State};
use crate::lock::{SpinClass, SpinLock};
use crate::memory::{self, TIDY_NS};
use crate::park::{self, Cancel};
use crate::sampler;
use crate::sync::{Arc, AtomicU32, AtomicUsize, Ordering};
use crate::sys::{self, Direction, EventFd, Listener, Polled, Socket};
use crate::thread;
use crate::wait::WaitType;

/// How long a request may run before it offers its scheduler to others.
pub const QUANTUM: Duration = Duration::from_millis(4);
/// How often the machine looks after its clock and its retired memory.
const HOUSEKEEPING_PERIOD: Duration = Duration::from_secs(1);
/// Threads that a machine starts with, besides a worker for each scheduler.
const BACKGROUND_THREADS: usize = 4;
/// How long the listener pauses when the system is out of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// How to build a [`Machine`].
#[derive(Clone, Debug)]
pub struct MachineConfig {
    /// Schedulers; 0 for one per CPU that the process may use.
    pub schedulers: usize,
    /// Workers at most; 0 for 512, or 16 per scheduler if that is more.
    pub workers_max: usize,
    /// Whether each scheduler's workers are tied to one CPU.
    pub affinity: Affinity,
    /// How the ledger tells time on a CPU from time off it.
    pub ledger: SourceChoice,
    /// How often the sampler looks at each thread, per second of its CPU time; 0 for never.
    pub sampling_rate_hz: u32,
}

/// Where workers may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// Wherever the kernel puts them.
    Free,
    /// On their scheduler's CPU.
    Pinned,
}

impl Default for MachineConfig {
    fn default() -> Self {
        Self {
            schedulers: 0,
            workers_max: 0,
            affinity: Affinity::Free,
            ledger: SourceChoice::Auto,
            sampling_rate_hz: sampler::RATE_HZ,
        }
    }
}

/// One scheduler, as `sys.dm_os_schedulers` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerRow {
    /// Its number.
    pub id: u32,
    /// Where it is in memory.
    pub address: usize,
    /// The CPU that its workers are tied to.
    pub cpu: Option<usize>,
    /// Whether its worker sleeps, because there is nothing to do.
    pub is_idle: bool,
    /// Connections assigned to it.
    pub connections: u64,
    /// Its workers, idle ones included.
    pub workers: u64,
    /// Workers that are idle.
    pub idle_workers: u64,
    /// Workers that are ready and wait for it.
    pub runnable: u64,
    /// Tasks that wait for a worker, when all the workers there may be are waiting.
    pub queued: u64,
    /// Ticks since when each of them has been seen to wait.
    pub queued_since: Vec<u64>,
    /// Workers there may be, if each scheduler had as many.
    pub workers_ideal: u64,
    /// What it has counted.
    pub counts: SchedulerCounts,
    /// What its workers have spent on a CPU, in ns; none if the kernel does not say.
    pub cpu_ns: Option<u64>,
    /// What they have waited for a CPU, in ns.
    pub delay_ns: Option<u64>,
}

/// How [`Machine::stop`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopOutcome {
    /// Every request finished and every thread ended.
    Clean,
    /// So many schedulers still had requests that did not end in time; their threads are left behind.
    Abandoned(usize),
}

/// How far the machine is on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    /// No new connections; idle ones are closed; requests finish.
    Draining,
    /// Requests are asked to stop.
    Stopping,
}

/// What schedulers and workers share.
pub(super) struct Shared {
    pub(super) accounts: Arc<Accounts>,
    pub(super) workers: AtomicUsize,
    pub(super) workers_max: usize,
    pub(super) quantum_ticks: u64,
    phase: AtomicU32,
    handles: SpinLock<Vec<JoinHandle<()>>>,
    pub(super) roster: Roster,
    pub(super) stalls: Stalls,
    pub(super) monitor: MonitorBell,
    /// Set when the machine begins to stop; background threads sleep on it.
    stopping: Cancel,
    stop_accepting: EventFd,
}

impl Shared {
    #[inline]
    pub(super) fn phase(&self) -> Phase {
        // Relaxed: whoever changes it also sends mail.
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Running,
            1 => Phase::Draining,
            _ => Phase::Stopping,
        }
    }

    pub(super) fn keep_handle(&self, handle: JoinHandle<()>) {
        let mut handles = self.handles.lock();
        handles.retain(|handle| !handle.is_finished());
        handles.push(handle);
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// A scheduler's last connection has gone.
    pub(super) fn announce_end(&self) {
        park::unpark_all(self.key());
    }
}

/// Schedulers, workers and background threads of one instance. A handle: clones are the same machine.
/// It runs until [`Machine::stop`].
#[derive(Clone)]
pub struct Machine {
    shared: Arc<Shared>,
    schedulers: Arc<[Arc<Scheduler>]>,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("schedulers", &self.schedulers()).finish_non_exhaustive()
    }
}

impl Machine {
    /// Starts the schedulers, each with one worker, the monitor and the housekeeping thread. All of
    /// them run when it returns.
    pub fn start(config: &MachineConfig) -> io::Result<Self> {
        crate::lock::calibrate();
        let cpus = sys::allowed_cpus();
        let count = if config.schedulers == 0 { cpus.len().max(1) } else { config.schedulers };
        let workers_max =
            if config.workers_max == 0 { (16 * count).max(512) } else { config.workers_max };
        let shared = Arc::new(Shared {
            accounts: Arc::new(Accounts::new(config.ledger)),
            workers: AtomicUsize::new(0),
            workers_max: workers_max.max(count),
            quantum_ticks: clock::duration_to_ticks(QUANTUM),
            phase: AtomicU32::new(0),
            handles: SpinLock::new(SpinClass::SosThreadList, Vec::new()),
            roster: Roster::new(),
            stalls: Stalls::new(),
            monitor: MonitorBell::default(),
            stopping: Cancel::new(),
            stop_accepting: EventFd::new()?,
        });
        shared.accounts.set_sampling_rate(config.sampling_rate_hz);
        let cpu = |id: usize| match config.affinity {
            Affinity::Free => None,
            Affinity::Pinned => cpus.get(id % cpus.len().max(1)).copied(),
        };
        let schedulers = (0..count)
            .map(|id| {
                let number = u32::try_from(id).map_err(|_| io::ErrorKind::InvalidInput)?;
                Scheduler::new(number, cpu(id), Arc::clone(&shared))
            })
            .collect::<io::Result<Vec<_>>>()?;
        let machine = Self { shared, schedulers: schedulers.into() };
        for scheduler in machine.schedulers.iter() {
            if !Worker::hire(scheduler) {
                machine.stop(Duration::ZERO);
                return Err(io::Error::other("the system refuses to start a worker thread"));
            }
        }
        let monitor = Monitor::new(&machine.shared, &machine.schedulers);
        machine.spawn("monitor", move || monitor.run())?;
        let accounts = Arc::clone(&machine.shared.accounts);
        machine.spawn_background("housekeeper", HOUSEKEEPING_PERIOD, move || {
            clock::refine();
            accounts.tick();
            epoch::collect();
        })?;
        let (mut trimmer, stopping) = (memory::Trimmer::default(), Arc::clone(&machine.shared));
        machine.spawn_background("trimmer", memory::LOOK_PERIOD, move || {
            trimmer.run(&stopping.stopping);
        })?;
        let accounts = Arc::clone(&machine.shared.accounts);
        machine.spawn_background("sampler", sampler::COLLECT_PERIOD, move || {
            let before = ledger::to(State::Observing);
            accounts.collect_samples();
            ledger::to(before);
        })?;
        machine.wait_for_threads(count + BACKGROUND_THREADS);
        Ok(machine)
    }

    /// Waits until so many threads have begun, so that whoever looks finds them.
    fn wait_for_threads(&self, count: usize) {
        while self.shared.roster.read().len() < count {
            sys::nap();
        }
    }

    pub(super) fn scheduler_list(&self) -> &[Arc<Scheduler>] {
        &self.schedulers
    }

    /// Returns how many schedulers there are.
    #[must_use]
    pub fn scheduler_count(&self) -> usize {
        self.schedulers.len()
    }

    /// The books of its threads.
    #[must_use]
    pub fn accounts(&self) -> &Arc<Accounts> {
        &self.shared.accounts
    }

    /// The most workers that it starts.
    #[must_use]
    pub fn workers_max(&self) -> usize {
        self.shared.workers_max
    }

    /// Accepts connections from now on: `connect` turns each into a task, or refuses it. It runs on
    /// the listener's own thread.
    pub fn listen(
        &self,
        listener: Listener,
        mut connect: impl FnMut(Socket, SocketAddr) -> Option<Connection> + Send + 'static,
    ) -> io::Result<()> {
        let machine = self.clone();
        self.spawn("listener", move || machine.accept_all(&listener, &mut connect))
    }

    fn accept_all(
        &self,
        listener: &Listener,
        connect: &mut dyn FnMut(Socket, SocketAddr) -> Option<Connection>,
    ) {
        while self.shared.phase() == Phase::Running {
            match listener.accept() {
                Ok((socket, peer)) => {
                    let connection = thread::contain(|| connect(socket, peer));
                    if let Ok(Some(connection)) = connection {
                        self.adopt(connection);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait_for_connections(listener);
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(_) => {
                    park::sleep(ACCEPT_PAUSE, WaitType::Accept, Some(&self.shared.stopping));
                }
            }
        }
    }

    fn wait_for_connections(&self, listener: &Listener) {
        let stop = &self.shared.stop_accepting;
        super::blocking(WaitType::Accept, || {
            let wait =
                |until_ns| sys::poll_two(listener, Direction::Readable, Some(stop), until_ns);
            if matches!(wait(Some(clock::monotonic_ns() + TIDY_NS)), Ok(Polled::TimedOut)) {
                memory::tidy();
                // An error shows at the next attempt to accept.
                _ = wait(None);
            }
            super::Unblocked::Now
        });
    }

    /// Gives a connection to the scheduler with the fewest; drops it if the machine is stopping.
    pub fn adopt(&self, connection: Connection) {
        if self.shared.phase() != Phase::Running {
            return;
        }
        // Relaxed: a stale count makes a slightly uneven choice.
        let load = |scheduler: &&Arc<Scheduler>| scheduler.connections.load(Ordering::Relaxed);
        let fewest = self.schedulers.iter().min_by_key(load).expect("a machine has schedulers");
        fewest.connections.fetch_add(1, Ordering::Relaxed);
        fewest.send(Mail::Adopt(connection));
    }

    /// Runs something once on a thread of its own; [`Self::stop`] waits for its end.
    pub fn spawn(&self, name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let of_thread = name.to_owned();
        let body = move || {
            ledger::to(State::Background);
            let activity = Arc::new(Activity::of_this_thread(&of_thread, Role::Background));
            let _on_roster = shared.roster.enter(&activity);
            if let Err(message) = thread::contain(run) {
                eprintln!("clearway: a background thread panicked: {message}");
            }
        };
        self.shared.keep_handle(thread::spawn(&self.shared.accounts, name, body)?);
        Ok(())
    }

    /// Runs something once per period, on a thread of its own, until the machine stops. A panic ends
    /// one run, not the thread.
    pub fn spawn_background(
        &self,
        name: &str,
        period: Duration,
        run: impl FnMut() + Send + 'static,
    ) -> io::Result<()> {
        let wait = move |stopping: &Cancel| {
            park::sleep(period, WaitType::SleepTask, Some(stopping));
        };
        self.spawn_waiting(name, wait, run)
    }

    /// Runs something each time that `wait` returns, on a thread of its own, until the machine stops.
    /// `wait` is given the flag that says so. A panic ends one run, not the thread.
    pub fn spawn_waiting(
        &self,
        name: &str,
        mut wait: impl FnMut(&Cancel) + Send + 'static,
        mut run: impl FnMut() + Send + 'static,
    ) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        self.spawn(name, move || {
            let mut tidied_ns = 0;
            loop {
                wait(&shared.stopping);
                if shared.stopping.is_set() {
                    return;
                }
                if let Err(message) = thread::contain(&mut run) {
                    eprintln!("clearway: a background task panicked: {message}");
                }
                let now_ns = clock::monotonic_ns();
                if now_ns - tidied_ns >= TIDY_NS {
                    memory::tidy();
                    tidied_ns = now_ns;
                } else {
                    memory::retire();
                }
            }
        })
    }

    /// The flag that is set when the machine begins to stop, for threads made with [`Self::spawn`].
    #[must_use]
    pub fn stopping(&self) -> &Cancel {
        &self.shared.stopping
    }

    /// What its threads do now.
    #[must_use]
    pub fn activities(&self) -> Vec<Arc<Activity>> {
        self.shared.roster.read()
    }

    /// The latest stalls, oldest first.
    #[must_use]
    pub fn stalls(&self) -> Vec<Stall> {
        self.shared.stalls.read()
    }

    /// The schedulers as they are now.
    #[must_use]
    pub fn schedulers(&self) -> Vec<SchedulerRow> {
        let activities = self.activities();
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let row = |scheduler: &Arc<Scheduler>| {
            let (runnable, idle) = scheduler.baton.queue_lengths();
            let (cpu_ns, delay_ns) = scheduler_times(scheduler, &activities).unzip();
            let queued_since = scheduler.queued.lock().clone();
            SchedulerRow {
                id: scheduler.id,
                address: Arc::as_ptr(scheduler).addr(),
                cpu: scheduler.cpu,
                is_idle: scheduler.baton.is_polling(),
                connections: scheduler.connections.load(Ordering::Relaxed),
                workers: scheduler.workers.load(Ordering::Relaxed),
                idle_workers: count(idle),
                runnable: count(runnable),
                queued: count(queued_since.len()),
                queued_since,
                workers_ideal: count(self.shared.workers_max / self.schedulers.len().max(1)),
                counts: scheduler.books.read(),
                cpu_ns,
                delay_ns,
            }
        };
        self.schedulers.iter().map(row).collect()
    }

    /// Stops: refuses connections, closes the idle ones, lets requests finish for `grace`, asks the
    /// rest to stop and waits once more as long, then ends all threads. Not to be called by a worker.
    pub fn stop(&self, grace: Duration) -> StopOutcome {
        self.shared.phase.store(1, Ordering::Relaxed);
        self.shared.stopping.set();
        self.shared.monitor.stop();
        self.shared.stop_accepting.signal();
        self.nudge_all();
        if self.wait_for_end(grace) > 0 {
            self.shared.phase.store(2, Ordering::Relaxed);
            self.nudge_all();
            for scheduler in self.schedulers.iter() {
                scheduler.stop_waiting();
            }
        }
        let left = self.wait_for_end(grace.max(ACCEPT_PAUSE));
        let handles = std::mem::take(&mut *self.shared.handles.lock());
        for handle in handles {
            if left == 0 || handle.is_finished() {
                thread::join(handle);
            }
        }
        self.shared.accounts.events().stop_all();
        if left == 0 { StopOutcome::Clean } else { StopOutcome::Abandoned(left) }
    }

    fn nudge_all(&self) {
        for scheduler in self.schedulers.iter() {
            scheduler.nudge();
        }
    }

    /// Waits until every scheduler has ended or the time is up; returns how many have not.
    fn wait_for_end(&self, grace: Duration) -> usize {
        let deadline_ns = clock::deadline_ns(grace);
        let left = || self.schedulers.iter().filter(|scheduler| !scheduler.has_ended()).count();
        loop {
            let rest_ns = deadline_ns.saturating_sub(clock::monotonic_ns());
            if left() == 0 || rest_ns == 0 {
                return left();
            }
            let timeout = Some(Duration::from_nanos(rest_ns));
            park::park(self.shared.key(), WaitType::Shutdown, || left() > 0, timeout, None);
        }
    }
}

/// What the workers of a scheduler, ended ones included, have spent on a CPU and waiting for one.
fn scheduler_times(scheduler: &Scheduler, activities: &[Arc<Activity>]) -> Option<(u64, u64)> {
    let mut cpu_ns = scheduler.ended_cpu_ns.load(Ordering::Relaxed);
    let mut delay_ns = scheduler.ended_delay_ns.load(Ordering::Relaxed);
    for worker in activities.iter().filter(|a| a.role() == Role::Worker(scheduler.id)) {
        let times = sys::run_times(worker.thread_id())?;
        cpu_ns += times.on_cpu_ns;
        delay_ns += times.runnable_ns;
    }
    Some((cpu_ns, delay_ns))
}

/// Whether an error of accept concerns only the connection it would have returned; see accept(2).
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::ConnectionAborted
            | Kind::ConnectionReset
            | Kind::Interrupted
            | Kind::NetworkDown
            | Kind::NetworkUnreachable
            | Kind::HostUnreachable
            | Kind::PermissionDenied
    )
}
