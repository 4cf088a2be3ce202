//! The machine of Clearway: clock, schedulers and workers, locks, waits, the ledger, system calls
//! and memory.
//!
//! No SQL. This is the only crate with threads, clocks, atomics and locks. Under `cfg(loom)` and
//! `cfg(shuttle)` only the parts that a model checker runs are compiled.

#[cfg(census)]
pub use census;

pub mod epoch;
pub mod lock;
pub mod sync;

mod registry;

#[cfg(not(any(loom, shuttle)))]
pub mod clock;
#[cfg(all(debug_assertions, not(any(loom, shuttle))))]
pub mod faults;
#[cfg(not(any(loom, shuttle)))]
pub mod ledger;
pub mod memory;
pub mod park;
pub mod sampler;
pub mod sched;
pub mod stack;
#[cfg(not(any(loom, shuttle)))]
pub mod symbols;
#[cfg(not(any(loom, shuttle)))]
pub mod sys;
#[cfg(not(any(loom, shuttle)))]
pub mod thread;
#[cfg(not(any(loom, shuttle)))]
pub mod wait;
#[cfg(not(any(loom, shuttle)))]
pub mod xe;
