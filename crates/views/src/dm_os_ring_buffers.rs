//! `sys.dm_os_ring_buffers`: only the buffer that monitoring tools read, CPU use per minute
//! (RING_BUFFER_SCHEDULER_MONITOR).

use types::Value;

use ::session::instance::Reading;
use metadata::column::{ADDRESS, BIGINT, Column, NVMAX, big, col, nv, rows, shape, text, unknown};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Record>] = &[
    unknown("ring_buffer_address", ADDRESS),
    col("ring_buffer_type", nv(60), |_| text("RING_BUFFER_SCHEDULER_MONITOR")),
    col("timestamp", BIGINT, |r| big(r.ms)),
    col("record", NVMAX, Record::xml),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_ring_buffers",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let minutes = scope.session.instance.history.minutes();
    let cpus = sos::sys::topology().cpus;
    let pairs = (1_u64..).zip(minutes.windows(2));
    rows(COLUMNS, pairs.filter_map(|(id, pair)| Record::between(id, pair, cpus)))
}

/// The record of one minute.
struct Record {
    id: u64,
    ms: u64,
    process_percent: u64,
    idle_percent: u64,
}

impl Record {
    /// Computes a minute from the readings at its ends; `None` where the kernel does not report the
    /// machine's CPU time.
    fn between(id: u64, pair: &[Reading], cpus: usize) -> Option<Self> {
        let [before, after] = pair else { return None };
        let (start, end) = (before.machine_cpu?, after.machine_cpu?);
        let total_ticks = end.total_ticks.checked_sub(start.total_ticks).filter(|t| *t > 0)?;
        let idle_ticks = end.idle_ticks.saturating_sub(start.idle_ticks).min(total_ticks);
        let capacity_ms = after.ms.checked_sub(before.ms)? * u64::try_from(cpus).ok()?;
        let process_ns = after.process_cpu_ns.saturating_sub(before.process_cpu_ns);
        let process_percent = (process_ns / 10_000).checked_div(capacity_ms)?;
        let idle_percent = idle_ticks * 100 / total_ticks;
        Some(Self { id, ms: after.ms, process_percent, idle_percent })
    }

    /// Returns the record as XML, in the form that tools parse.
    fn xml(&self) -> Value {
        let Self { id, ms, process_percent, idle_percent } = self;
        text(&format!(
            "<Record id=\"{id}\" type=\"RING_BUFFER_SCHEDULER_MONITOR\" time=\"{ms}\">\
             <SchedulerMonitorEvent><SystemHealth>\
             <ProcessUtilization>{process_percent}</ProcessUtilization>\
             <SystemIdle>{idle_percent}</SystemIdle>\
             </SystemHealth></SchedulerMonitorEvent></Record>"
        ))
    }
}

#[cfg(test)]
mod tests {
    use sos::ledger::Source;
    use sos::sys::MachineCpu;

    use super::*;

    fn moment(ms: u64, process_cpu_ns: u64, total_ticks: u64, idle_ticks: u64) -> Reading {
        Reading {
            at: types::date::Moment::from_unix(0, 0),
            ms,
            source: Source::WallOnly,
            process_cpu_ns,
            machine_cpu: Some(MachineCpu { total_ticks, idle_ticks }),
        }
    }

    #[test]
    fn shares_are_of_all_cpus() {
        let pair = [moment(1_000, 5, 100, 50), moment(61_000, 30_000_000_005, 12_100, 9_050)];
        let record = Record::between(7, &pair, 2).expect("the kernel tells");
        // 30 s of 2 CPUs times 60 s is 25 %; 9,000 of 12,000 ticks is 75 %.
        assert_eq!((record.process_percent, record.idle_percent, record.ms), (25, 75, 61_000));
        let text = record.xml().as_text(types::Collation::default()).expect("text");
        assert!(text.contains("<ProcessUtilization>25</ProcessUtilization><SystemIdle>75<"));
    }
}
