//! The probes: one function for each thing that happens, called where it happens. What an event carries is
//! gathered only when a session wants it.

mod call_text;
pub mod checkpoint;
pub mod columnstore;
pub mod error;
pub mod grant;
pub mod lock;
pub mod request;
pub mod session;
pub mod statement;
pub mod transaction;

/// Microseconds between two readings of the cycle counter.
fn us(ticks: u64) -> u64 {
    sos::clock::ticks_to_ns(ticks) / 1_000
}

/// The time and the CPU time at which something began.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    ticks: u64,
    worker: u64,
}

impl Begun {
    /// Notes that something begins.
    pub fn now() -> Self {
        let (spent, ticks) = plan::stats::spent_now();
        Self { ticks, worker: spent.worker() }
    }

    /// Notes that something has begun at the thread's last edge.
    pub fn at_edge() -> Self {
        let (spent, ticks) = plan::stats::spent_at_edge();
        Self { ticks, worker: spent.worker() }
    }

    /// Microseconds since then, and microseconds of CPU time.
    fn spent_us(self) -> (u64, u64) {
        let now = Self::now();
        let (elapsed, worker) =
            (now.ticks.saturating_sub(self.ticks), now.worker.saturating_sub(self.worker));
        (us(elapsed), us(worker))
    }
}
