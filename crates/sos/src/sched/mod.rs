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

#[cfg(not(shuttle))]
mod activity;
#[cfg(not(shuttle))]
mod block;
#[cfg(not(shuttle))]
mod books;
#[cfg(not(shuttle))]
mod core;
#[cfg(not(shuttle))]
mod crew;
#[cfg(not(shuttle))]
mod machine;
#[cfg(not(shuttle))]
mod monitor;
#[cfg(not(shuttle))]
mod roster;
#[cfg(not(shuttle))]
mod scheduler;
#[cfg(not(shuttle))]
mod stall;
#[cfg(not(shuttle))]
mod task;
#[cfg(not(shuttle))]
mod worker;

pub mod baton;

#[cfg(not(shuttle))]
pub(crate) use activity::wait_at;
#[cfg(not(shuttle))]
pub use activity::{
    Activity, Blame, Blocker, Helping, Role, Standing, Waiting, blame, help_for, work_for,
    working_for,
};
#[cfg(not(shuttle))]
pub use block::{Unblocked, blocking, wait_fd, yield_if_quantum_due};
#[cfg(not(shuttle))]
pub use books::SchedulerCounts;
#[cfg(not(shuttle))]
pub use crew::{Bell, Crew};
#[cfg(not(shuttle))]
pub use machine::{Affinity, Machine, MachineConfig, QUANTUM, SchedulerRow, StopOutcome};
#[cfg(not(shuttle))]
pub use stall::{Stall, StallKind};
#[cfg(not(shuttle))]
pub use task::{Connection, Interrupt, Next, Ready, Task, TaskWaker};
#[cfg(not(shuttle))]
pub(crate) use worker::current_worker;
