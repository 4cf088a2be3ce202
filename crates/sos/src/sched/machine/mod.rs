//! The machine of one instance: its schedulers, background threads and listener, from start to
//! stop.
//!
//! This file starts it. `config.rs` has its settings, `listener.rs` the thread that accepts
//! connections, `background.rs` threads with other work, `crew.rs` parallel work on idle
//! schedulers, `rows.rs` what views show, `shutdown.rs` the stop. It does not know what a
//! connection's task does.

mod background;
mod config;
mod crew;
mod listener;
mod rows;
mod shutdown;

use std::fmt;
use std::io;
use std::time::Duration;

use super::activity::Activity;
use super::scheduler::{QUANTUM, Scheduler, Shared, Worker};
use super::stall_detection::{Monitor, Stall, Stalls};
use crate::clock;
use crate::epoch;
use crate::ledger::{self, Accounts, State};
use crate::memory;
use crate::sampler;
use crate::symbols;
use crate::sync::Arc;
use crate::sys;

pub use config::{Affinity, MachineConfig};
pub use rows::SchedulerRow;
pub use shutdown::StopOutcome;

/// How often the clock is calibrated further and retired memory is freed.
const HOUSEKEEPING_PERIOD: Duration = Duration::from_secs(1);
/// Threads that a machine starts with, besides a worker for each scheduler.
const BACKGROUND_THREADS: usize = 4;
/// How long the listener pauses when the system is out of descriptors or memory; also the least
/// time that a stop gives the threads to end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Schedulers, workers and background threads of one instance. A handle: clones are the same
/// machine. It runs until [`Machine::stop`].
#[derive(Clone)]
pub struct Machine {
    shared: Arc<Shared>,
    schedulers: Arc<[Arc<Scheduler>]>,
    stalls: Arc<Stalls>,
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
        let count = if config.schedulers == 0 { sys::granted_cpus() } else { config.schedulers };
        let workers_max =
            if config.workers_max == 0 { (16 * count).max(512) } else { config.workers_max };
        let quantum_ticks = clock::duration_to_ticks(QUANTUM);
        let accounts = Arc::new(Accounts::new(config.ledger));
        let shared = Arc::new(Shared::new(accounts, workers_max.max(count), quantum_ticks)?);
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
        let machine =
            Self { shared, schedulers: schedulers.into(), stalls: Arc::new(Stalls::new()) };
        for scheduler in machine.schedulers.iter() {
            if !Worker::hire(scheduler) {
                machine.stop(Duration::ZERO);
                return Err(io::Error::other("the system refuses to start a worker thread"));
            }
        }
        let monitor = Monitor::new(&machine.shared, &machine.schedulers, &machine.stalls);
        machine.spawn("monitor", move || monitor.run())?;
        let accounts = Arc::clone(&machine.shared.accounts);
        machine.spawn_background("housekeeper", HOUSEKEEPING_PERIOD, move || {
            clock::refine();
            accounts.tick();
            epoch::collect();
            symbols::free_unused();
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

    /// Waits until `count` threads are in the roster, so that views show them from the start.
    fn wait_for_threads(&self, count: usize) {
        while self.shared.roster.read().len() < count {
            sys::nap();
        }
    }

    /// Returns how many schedulers there are.
    #[must_use]
    pub fn scheduler_count(&self) -> usize {
        self.schedulers.len()
    }

    /// The ledger accounts of its threads.
    #[must_use]
    pub fn accounts(&self) -> &Arc<Accounts> {
        &self.shared.accounts
    }

    /// The greatest number of workers, over all schedulers.
    #[must_use]
    pub fn workers_max(&self) -> usize {
        self.shared.workers_max
    }

    /// Releases the answers that are held for `number` or a lower one ([`super::Next::Hold`]). Numbers
    /// must rise from call to call; one thread at a time may call this.
    pub fn release(&self, number: u64) {
        self.shared.release(number);
        self.schedulers.iter().for_each(|scheduler| scheduler.released());
    }

    /// Sets what [`super::put_off_to_round_end`] puts off, once.
    ///
    /// # Panics
    /// If it was set before.
    pub fn at_round_end(&self, call: super::RoundEnd) {
        self.shared.set_round_end(call);
    }

    /// What each of its threads does now.
    #[must_use]
    pub fn activities(&self) -> Vec<Arc<Activity>> {
        self.shared.roster.read()
    }

    /// The latest stalls, oldest first.
    #[must_use]
    pub fn stalls(&self) -> Vec<Stall> {
        self.stalls.read()
    }
}
