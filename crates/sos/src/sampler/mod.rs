//! The sampler: a profiler that is always on. It samples where the threads of a machine run, wait
//! and allocate, by call stack.
//!
//! ```text
//!   CPU time   each thread's own timer, 97 times per CPU second ─► signal ─► ring of the thread ─┐
//!   waits      1 ms and longer: all; shorter: in proportion to their length ► ring of the thread ─┤
//!   allocation one per 512 KiB on average ──────────────────────────────────► ring of the thread ─┤
//!                                            4 times a second, and when a view asks: Sampler ◄────┘
//! ```
//!
//! Each record has the stack's id, the ledger's state and label, and the statement. A request
//! writes only its own thread's memory here and takes no lock. The time of the signal handler is
//! booked as observation, not on the code that it interrupted.
//!
//! All three estimates are unbiased: each record has a weight, the amount that it represents.

#[cfg(not(any(loom, shuttle)))]
mod allocation;
#[cfg(not(any(loom, shuttle)))]
mod collect;
#[cfg(not(any(loom, shuttle)))]
mod recorder;
mod ring;
#[cfg(not(any(loom, shuttle)))]
mod rows;
#[cfg(not(any(loom, shuttle)))]
mod sums;

#[cfg(not(any(loom, shuttle)))]
pub use allocation::MEAN_BYTES;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use allocation::count_allocated;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use collect::{COLLECT_PERIOD, on_tick, waited};
#[cfg(not(any(loom, shuttle)))]
pub use collect::{RATE_HZ, RATE_HZ_MAX, Sampler};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use recorder::Recorder;
pub use ring::{Record, Ring, RingOrders};
#[cfg(not(any(loom, shuttle)))]
pub use rows::{AllocationSample, CpuSample, SamplerHealth, WaitSample};
