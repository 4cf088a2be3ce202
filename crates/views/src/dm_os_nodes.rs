//! `sys.dm_os_nodes`: one node, to which all schedulers belong. Memory is not bound to NUMA nodes.

use sos::sched::SchedulerRow;

use metadata::column::{
    ADDRESS, BIGINT, BIT, Column, INT, SMALLINT, big, col, int, nv, opt, rows, shape, small, text,
    unknown,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Node>] = &[
    col("node_id", SMALLINT, |_| small(0)),
    col("node_state_desc", nv(256), |_| text("ONLINE")),
    unknown("memory_object_address", ADDRESS),
    unknown("memory_clerk_address", ADDRESS),
    unknown("io_completion_worker_address", ADDRESS),
    col("memory_node_id", SMALLINT, |_| small(0)),
    opt("cpu_affinity_mask", BIGINT, |r| big(mask(&r.cpus))),
    col("online_scheduler_count", SMALLINT, |r| small(r.schedulers.len())),
    col("idle_scheduler_count", SMALLINT, |r| small(r.count(|s| s.is_idle))),
    col("active_worker_count", INT, |r| int(r.active_workers())),
    col("avg_load_balance", INT, |r| int(r.average_load())),
    unknown("timer_task_affinity_mask", BIGINT),
    unknown("permanent_task_affinity_mask", BIGINT),
    unknown("resource_monitor_state", BIT),
    opt("online_scheduler_mask", BIGINT, |r| big(mask(&r.scheduler_ids()))),
    col("processor_group", SMALLINT, |_| small(0)),
    opt("cpu_count", INT, |r| int(r.cpus.len())),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_nodes",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Node {
    cpus: Vec<usize>,
    schedulers: Vec<SchedulerRow>,
}

impl Node {
    fn count(&self, is: impl Fn(&SchedulerRow) -> bool) -> usize {
        self.schedulers.iter().filter(|s| is(s)).count()
    }

    fn active_workers(&self) -> u64 {
        self.schedulers.iter().map(|s| s.workers.saturating_sub(s.idle_workers)).sum()
    }

    /// Returns the average number of connections per scheduler.
    fn average_load(&self) -> u64 {
        let count = u64::try_from(self.schedulers.len()).unwrap_or(1).max(1);
        self.schedulers.iter().map(|s| s.connections).sum::<u64>() / count
    }

    fn scheduler_ids(&self) -> Vec<usize> {
        self.schedulers.iter().filter_map(|s| usize::try_from(s.id).ok()).collect()
    }
}

fn read(scope: &Scope<'_>) -> Rows {
    let schedulers = scope.session.instance.machine.schedulers();
    rows(COLUMNS, [Node { cpus: sos::sys::allowed_cpus(), schedulers }])
}

/// Returns a bit mask of the numbers below 63; higher ones do not fit into a positive bigint.
pub(crate) fn mask(numbers: &[usize]) -> i64 {
    numbers.iter().filter(|n| **n < 63).fold(0, |mask, n| mask | 1 << n)
}
