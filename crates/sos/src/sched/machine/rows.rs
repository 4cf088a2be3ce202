//! `SchedulerRow`: what `sys.dm_os_schedulers` shows of one scheduler.

use super::Machine;
use crate::sched::activity::{Activity, Role};
use crate::sched::scheduler::{Scheduler, SchedulerCounts};
use crate::sync::{Arc, Ordering};
use crate::sys;

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

impl Machine {
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
                counts: scheduler.counters.read(),
                cpu_ns,
                delay_ns,
            }
        };
        self.schedulers.iter().map(row).collect()
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
