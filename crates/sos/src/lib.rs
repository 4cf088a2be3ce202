//! The machine layer of Clearway: threads, schedulers, locks, waits, time, memory and system calls.
//!
//! It knows no SQL. This is the only crate with threads, clocks, atomics and locks. Under
//! `cfg(loom)` and `cfg(shuttle)` only the parts that a model checker runs are compiled.
//!
//! | looking for                                         | start here                             |
//! |-----------------------------------------------------|----------------------------------------|
//! | which thread runs a request; quantum; blocking      | `sched` (`sched/scheduler/quantum.rs`) |
//! | stalled schedulers                                  | `sched/stall_detection`                |
//! | wait types and their statistics                     | `wait/wait_type.rs`                    |
//! | waiting for memory to change, KILL and attentions   | `park` (`park/cancel.rs`)              |
//! | spinlocks and latches                               | `lock`                                 |
//! | where the time of each thread goes                  | `ledger`                               |
//! | the profiler, call stacks and their names           | `sampler`, `stack`, `symbols`          |
//! | the allocator, clerks, memory limit, the trimmer    | `memory`                               |
//! | freeing memory that readers may still use           | `epoch`                                |
//! | extended events                                     | `xe`                                   |
//! | system calls, sockets, files, signals               | `sys`                                  |
//! | the files that a database lives in                  | `sys/disk.rs`                          |
//! | ticks, UTC, transaction timestamps                  | `clock`                                |
//!
//! These modules import each other in a cycle, and must: a lock that spins books its time in the
//! ledger, the ledger makes system calls, system calls are booked in the ledger, memory is guarded
//! by locks, and any of them may fire an event, whose buffers are memory. Inside `sched`, each
//! folder uses only those above it in its table.

#[cfg(census)]
pub use census;

pub mod epoch;
pub mod lock;
pub mod sync;

#[cfg(not(any(loom, shuttle)))]
mod counter;
mod registry;

#[cfg(not(any(loom, shuttle)))]
pub mod clock;
#[cfg(not(any(loom, shuttle)))]
pub mod error_log;
#[cfg(all(debug_assertions, not(any(loom, shuttle))))]
pub mod faults;
#[cfg(not(any(loom, shuttle)))]
pub mod inject;
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
