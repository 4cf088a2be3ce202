//! Stall detection: the monitor thread, which finds schedulers that do not yield, and the list of
//! the stalls it found.
//!
//! It watches progress counters from outside. It knows neither sessions nor statements, does not
//! interrupt what it finds, and does not find deadlocks: a waiting worker has handed its scheduler
//! over, so it does not stall it. Deadlocks are found by the lock manager in `storage`.

mod monitor;
mod stall;

pub(in crate::sched) use monitor::Monitor;
pub(in crate::sched) use stall::Stalls;
pub use stall::{Stall, StallKind};
