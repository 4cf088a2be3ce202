//! The probes: one function for each event, called where it occurs. The values of an event are
//! computed only if an event session collects it.

pub mod blocked;
mod call_text;
pub mod checkpoint;
pub mod columnstore;
pub mod deadlock;
pub mod error;
pub mod grant;
mod graph_text;
pub mod lock;
mod process;
pub mod request;
pub mod session;
pub mod statement;
pub mod transaction;

use plan::stats::Io;
use sos::xe::Value;

/// Converts ticks of the cycle counter to microseconds.
fn us(ticks: u64) -> u64 {
    sos::clock::ticks_to_ns(ticks) / 1_000
}

/// Returns logical reads and writes as fields of events have them.
fn io_values(io: Io) -> [Value<'static>; 2] {
    [Value::UInt(io.reads), Value::UInt(io.writes)]
}

/// Elapsed and CPU time at which something began.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    ticks: u64,
    worker: u64,
}

impl Begun {
    /// Reads the clock now.
    pub fn now() -> Self {
        let (spent, ticks) = plan::stats::spent_now();
        Self { ticks, worker: spent.worker() }
    }

    /// Takes the time of the thread's last ledger edge.
    pub fn at_edge() -> Self {
        let (spent, ticks) = plan::stats::spent_at_edge();
        Self { ticks, worker: spent.worker() }
    }

    /// Returns the elapsed and the CPU time since then, in microseconds.
    fn spent_us(self) -> (u64, u64) {
        let now = Self::now();
        let (elapsed, worker) =
            (now.ticks.saturating_sub(self.ticks), now.worker.saturating_sub(self.worker));
        (us(elapsed), us(worker))
    }
}
