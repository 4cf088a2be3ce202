//! `ServerActivity`: how much the server has done since its start, for `@@CPU_BUSY` and its kin, and
//! for `sp_monitor`.

use types::date::Moment;

use super::Instance;

/// Sums since the start of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerActivity {
    /// CPU time of the process over all CPUs, in ns.
    pub busy_ns: u64,
    /// CPU time that the schedulers have not used, in ns.
    pub idle_ns: u64,
    /// Time of reads and writes of files of data, in ns; 0 without a data folder.
    pub io_ns: u64,
    /// Reads from clients that returned data.
    pub received: u64,
    /// Writes of answers to clients.
    pub sent: u64,
    /// Reads of files of data.
    pub reads: u64,
    /// Writes of files of data.
    pub writes: u64,
    /// Reads and writes of files of data that failed.
    pub errors: u64,
    /// Number of logins that succeeded.
    pub connections: u64,
}

/// When `sp_monitor` ran, also in ms of the machine's monotonic clock, and what it read.
pub type Monitored = ((Moment, u64), ServerActivity);

impl Instance {
    /// Returns what the server has done so far.
    pub fn activity(&self) -> ServerActivity {
        let times = sos::sys::cpu_times();
        let busy_ns = times.user_ns + times.kernel_ns;
        let started_ns = self.started_ms.saturating_mul(1_000_000);
        let up_ns = sos::clock::monotonic_ns().saturating_sub(started_ns);
        let schedulers = u64::try_from(self.machine.scheduler_count()).unwrap_or(1);
        let sessions = self.sessions.totals();
        let disk = self.durable().map(|durable| durable.disk_counts().sum()).unwrap_or_default();
        ServerActivity {
            busy_ns,
            idle_ns: up_ns.saturating_mul(schedulers).saturating_sub(busy_ns),
            io_ns: disk.read_ns + disk.write_ns,
            received: sessions.reads,
            sent: sessions.writes,
            reads: disk.reads,
            writes: disk.writes,
            errors: disk.errors,
            connections: sessions.logins,
        }
    }

    /// Returns when `sp_monitor` ran last and what it read then, and keeps `now` for the next time.
    pub fn monitor(&self, at: (Moment, u64), now: ServerActivity) -> Option<Monitored> {
        self.monitored.lock().replace((at, now))
    }
}
