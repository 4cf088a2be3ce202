//! Schedulers and workers: who runs where, and what happens when a request must wait.
//!
//! A scheduler is the right to run on one CPU, and owns the poller of its connections. A worker is a
//! thread. One worker at a time holds a scheduler and runs its loop: poll, run the tasks that are
//! ready to completion, next. A task that must wait hands the scheduler to another worker, and takes
//! it back when its wait is over; so the usual request switches no thread.
//!
//! ```text
//!            grant                          must wait
//!  idle ────────────► holding the scheduler ─────────► waiting
//!    ▲                     │         ▲                    │ signalled
//!    └─────────────────────┘         └──── runnable ◄─────┘
//!       another one is runnable      grant
//! ```

mod block;
mod machine;
mod task;

pub use block::{Unblocked, blocking, wait_fd, yield_if_quantum_due};
pub use machine::{Affinity, Machine, MachineConfig, SchedulerRow, StopOutcome};
pub use task::{Connection, Interrupt, Next, Ready, Task, TaskWaker};
