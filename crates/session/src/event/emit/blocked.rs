//! Blocked requests: blocked_process_report, for requests that have waited for a lock or a row longer
//! than 'blocked process threshold (s)' of sp_configure.
//!
//! A background thread looks once a second at the threads that wait, so requests pay nothing. While
//! the threshold is 0, or no event session collects the event, a look is two loads. Each wait is
//! reported once per threshold that has passed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use sos::clock;
use sos::sched::Activity;
use sos::xe::{self, Value};

use super::process::{Frames, Observed, Process};
use crate::awaited::{Awaited, Waits, first_index};
use crate::event::list::BLOCKED_PROCESS_REPORT;
use crate::instance::Instance;

/// How often [`BlockedProcesses::look`] must be called.
pub const BLOCKED_PERIOD: Duration = Duration::from_secs(1);

/// `LOCK` in the map `resource_owner_type`.
const OWNER_LOCK: u32 = 1;

/// The waits that were reported.
#[derive(Debug, Default)]
pub struct BlockedProcesses {
    /// How many thresholds a wait had lasted when it was reported last, by the session and the ticks
    /// at which the wait began. Waits that have ended are dropped at the next look.
    reported: HashMap<(u32, u64), u64>,
    /// `monitorLoop`: how many looks have found the monitor on.
    looks: u64,
}

/// A wait that is due for a report.
struct Due {
    session: u32,
    waited_ns: u64,
}

impl BlockedProcesses {
    /// Reports the waits whose time has come.
    pub fn look(&mut self, instance: &Instance) {
        let seconds = instance.catalog.load().settings.blocked_threshold.in_use;
        let threshold_ns = u64::try_from(seconds).unwrap_or(0) * 1_000_000_000;
        if threshold_ns == 0 || !xe::enabled(&BLOCKED_PROCESS_REPORT) {
            self.reported.clear();
            return;
        }
        self.looks += 1;
        let observed = Observed::now(instance);
        let waits = Waits::new(instance, &observed.catalog);
        for due in self.due(observed.activities(), threshold_ns) {
            report((&observed, &waits), &due, self.looks);
        }
    }

    /// Finds the waits that have lasted one threshold more than when they were reported last.
    fn due(&mut self, activities: &[Arc<Activity>], threshold_ns: u64) -> Vec<Due> {
        let now = clock::now_ticks();
        let mut waits = HashMap::new();
        let mut due = Vec::new();
        for activity in activities.iter().filter(|activity| activity.part() == 0) {
            let (Some(waiting), Some(session)) = (activity.waiting(), activity.work()) else {
                continue;
            };
            let waited_ns = clock::ticks_to_ns(now.saturating_sub(waiting.since));
            let passed = waited_ns / threshold_ns;
            if passed == 0 {
                continue;
            }
            let wait = (session, waiting.since);
            if self.reported.get(&wait).is_none_or(|before| *before < passed) {
                due.push(Due { session, waited_ns });
            }
            waits.insert(wait, passed);
        }
        self.reported = waits;
        due
    }
}

/// Fires the event for a session, if it waits for a lock or a row.
fn report((observed, waits): (&Observed<'_>, &Waits<'_>), due: &Due, looks: u64) {
    let Some(awaited) = waits.awaited(due.session) else { return };
    let Some(process) = observed.process(due.session) else { return };
    let mut xml = format!("<blocked-process-report monitorLoop=\"{looks}\"><blocked-process>");
    process.put_waiting(Some(&awaited), Frames::Bare, &mut xml);
    xml.push_str("</blocked-process><blocking-process>");
    let blocker = awaited.blockers.first().copied();
    match blocker.and_then(|session| Some((session, observed.process(session)?))) {
        Some((session, blocking)) => {
            blocking.put_blocking(waits.awaited(session).as_ref(), &mut xml);
        }
        // It has ended in the meantime.
        None => xml.push_str("<process/>"),
    }
    xml.push_str("</blocking-process></blocked-process-report>");
    fire(observed, (&process, &awaited), due, &xml);
}

fn fire(
    observed: &Observed<'_>,
    (process, awaited): (&Process<'_>, &Awaited),
    due: &Due,
    xml: &str,
) {
    let database = awaited.resource.database_id();
    let table = awaited.resource.table();
    let number = |id: i32| Value::UInt(u64::try_from(id).unwrap_or(0));
    let values = [
        Value::UInt(due.waited_ns / 1_000),
        number(database),
        Value::Int(table.map_or(0, |table| i64::from(table.id))),
        Value::Int(table.map_or(0, |table| i64::from(first_index(table)))),
        Value::Map(awaited.mode.key()),
        Value::Int(i64::try_from(process.transaction_id()).unwrap_or(i64::MAX)),
        Value::Map(OWNER_LOCK),
        Value::Text(xml),
        Value::Text(observed.database_name(database)),
    ];
    xe::fire(&BLOCKED_PROCESS_REPORT, &values);
}
