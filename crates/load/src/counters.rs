//! `Counters`: a server's own counters before and after a load, read from views that SQL Server has
//! as well.

use std::collections::BTreeMap;

use types::Value;

use crate::Result;
use crate::ask::Asker;

/// The queries, run one by one: one that the server does not support, or that this login may not
/// run, is left out.
const QUERIES: [(&str, &str); 5] = [
    (
        "work",
        "select rtrim(counter_name), cntr_value from sys.dm_os_performance_counters \
         where counter_name in ('Batch Requests/sec', 'SQL Compilations/sec', 'Page Allocations/sec', 'Transactions/sec', \
         'Logins/sec', 'Number of Deadlocks/sec') and instance_name in ('', '_Total')",
    ),
    (
        "CPU, ms",
        "select 'in the kernel', process_kernel_time_ms from sys.dm_os_sys_info \
         union all select 'in user mode', process_user_time_ms from sys.dm_os_sys_info",
    ),
    (
        "waits, ms",
        "select wait_type, wait_time_ms from sys.dm_os_wait_stats where wait_time_ms > 0",
    ),
    ("spins", "select name, spins from sys.dm_os_spinlock_stats where spins > 0"),
    (
        "time, ms on CPU",
        "select category + N', ' + name, on_cpu_ns / 1000000 from sys.dm_os_time_ledger where on_cpu_ns > 0",
    ),
];

/// Wait types of idle threads, which are not counted.
const RESTS: [&str; 12] = [
    "SLEEP_TASK",
    "SOS_WORK_DISPATCHER",
    "LAZYWRITER_SLEEP",
    "LISTENER_ACCEPT",
    "SLEEP_SYSTEMTASK",
    "XE_DISPATCHER_WAIT",
    "XE_TIMER_EVENT",
    "REQUEST_FOR_DEADLOCK_SEARCH",
    "LOGMGR_QUEUE",
    "CHECKPOINT_QUEUE",
    "DIRTY_PAGE_POLL",
    "HADR_FILESTREAM_IOMGR_IOCOMPLETION",
];

/// Sums by group and counter name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    groups: BTreeMap<&'static str, BTreeMap<String, i64>>,
}

impl Counters {
    /// Reads all counters from the server.
    pub fn read(asker: &mut Asker) -> Self {
        let groups = QUERIES.iter().filter_map(|(group, query)| {
            let answer = asker.ask(query).ok()?;
            let rows = answer.rows().into_iter().filter_map(named).collect();
            Some((*group, rows))
        });
        Self { groups: groups.collect() }
    }

    /// Returns what was added since an earlier reading, without counters that did not change.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut changes = Self::default();
        for (group, rows) in &self.groups {
            for (name, value) in rows {
                let change = value - earlier.get(group, name);
                if change > 0 && !RESTS.contains(&name.as_str()) {
                    changes.groups.entry(group).or_default().insert(name.clone(), change);
                }
            }
        }
        changes
    }

    /// Adds the changes of another run.
    pub fn add(&mut self, changes: &Self) {
        for (group, rows) in &changes.groups {
            for (name, value) in rows {
                *self.groups.entry(group).or_default().entry(name.clone()).or_default() += value;
            }
        }
    }

    /// Returns one counter; 0 if it is not there.
    pub fn get(&self, group: &str, name: &str) -> i64 {
        self.groups.get(group).and_then(|rows| rows.get(name)).copied().unwrap_or(0)
    }

    /// Returns the sum of a group.
    pub fn total(&self, group: &str) -> i64 {
        self.groups.get(group).map_or(0, |rows| rows.values().sum())
    }

    /// Returns the server's CPU time in milliseconds; `None` if it was not read.
    pub fn cpu_ms(&self) -> Option<i64> {
        self.groups.contains_key("CPU, ms").then(|| self.total("CPU, ms"))
    }

    /// Returns the counters by group, at most `most` of each, the largest first.
    pub fn largest(&self, most: usize) -> Vec<(&'static str, Vec<(String, i64)>)> {
        let group = |(group, rows): (&&'static str, &BTreeMap<String, i64>)| {
            let mut rows: Vec<_> =
                rows.iter().map(|(name, value)| (name.clone(), *value)).collect();
            rows.sort_by_key(|(_, value)| std::cmp::Reverse(*value));
            rows.truncate(most);
            (*group, rows)
        };
        self.groups.iter().map(group).collect()
    }
}

/// Reads a row of a name and a number.
fn named(row: &[Value]) -> Option<(String, i64)> {
    let name = row.first()?.as_text(types::Collation::default())?;
    number(row.get(1)?).map(|number| (name, number))
}

/// Returns a whole number of any type.
pub fn number(value: &Value) -> Option<i64> {
    match value {
        Value::TinyInt(number) => Some((*number).into()),
        Value::SmallInt(number) => Some((*number).into()),
        Value::Int(number) => Some((*number).into()),
        Value::BigInt(number) => Some(*number),
        _ => None,
    }
}

/// Runs a query and returns its number.
///
/// # Errors
/// If the query has an error, or no number in its first row.
pub fn ask_number(asker: &mut Asker, query: &str) -> Result<i64> {
    let answer = asker.ask(query)?;
    let found = answer.rows().first().and_then(|row| row.first()).and_then(number);
    found.ok_or_else(|| format!("no number came of: {query}"))
}
