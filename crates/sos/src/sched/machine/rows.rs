//! `SchedulerRow`: what `sys.dm_os_schedulers` shows of one scheduler.

use super::Machine;
use crate::sched::activity::{Activity, Role};
use crate::sched::scheduler::{Scheduler, SchedulerCounts};
use crate::sync::{Arc, Ordering};
use crate::sys;

/// One scheduler, as `sys.dm_os_schedulers` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerRow {
    /// The scheduler's number, from 0.
    pub id: u32,
    /// The memory address of its data.
    pub address: usize,
    /// The CPU that its workers are pinned to; `None` without affinity.
    pub cpu: Option<usize>,
    /// Whether its worker sleeps, because there is nothing to do.
    pub is_idle: bool,
    /// The number of connections assigned to it.
    pub connections: u64,
    /// The number of its workers, idle ones included.
    pub workers: u64,
    /// The number of its idle workers.
    pub idle_workers: u64,
    /// The number of workers that are ready to run and wait for it.
    pub runnable: u64,
    /// Tasks that wait for a worker, because the limit of workers is reached and all of them wait.
    pub queued: u64,
    /// Clock ticks when each of those tasks was first seen to wait.
    pub queued_since: Vec<u64>,
    /// The limit of workers divided by the number of schedulers.
    pub workers_ideal: u64,
    /// Its counters since the start.
    pub counts: SchedulerCounts,
    /// The time its workers have spent on a CPU, in ns; `None` if the kernel does not report it.
    pub cpu_ns: Option<u64>,
    /// The time its workers have waited for a CPU, in ns; `None` if the kernel does not report it.
    pub delay_ns: Option<u64>,
}

impl Machine {
    /// The memory address of a scheduler's data; `None` if there is no scheduler of this number.
    #[must_use]
    pub fn scheduler_address(&self, id: u32) -> Option<usize> {
        let found = self.schedulers.iter().find(|scheduler| scheduler.id == id);
        found.map(|scheduler| Arc::as_ptr(scheduler).addr())
    }

    /// Clock ticks when each task that waits for a worker was first seen to wait.
    #[must_use]
    pub fn queued_since(&self) -> Vec<u64> {
        self.schedulers.iter().flat_map(|scheduler| scheduler.queued.lock().clone()).collect()
    }

    /// The schedulers as they are now. Asks the system for the times of each worker.
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
                counts: scheduler.counters.read(),
                cpu_ns,
                delay_ns,
            }
        };
        self.schedulers.iter().map(row).collect()
    }
}

/// The time (ns) that the workers of a scheduler, ended ones included, have spent on a CPU and
/// waiting for one.
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
