//! Schedulers and workers: which thread runs a request, and what happens when the request must
//! wait.
//!
//! A scheduler is the right to run on one CPU, and owns the poller of its connections. A worker is
//! a thread. One worker at a time holds a scheduler and runs its loop: poll, run each ready task to
//! completion, repeat. A task that must wait hands the scheduler to another worker, and takes it
//! back when its wait is over; so the usual request switches no thread.
//!
//! ```text
//!            grant                          must wait
//!  idle ────────────► holding the scheduler ─────────► waiting
//!    ▲                     │         ▲                    │ signalled
//!    └─────────────────────┘         └──── runnable ◄─────┘
//!       another one is runnable      grant
//! ```
//!
//! Each folder uses only those above it:
//!
//! | folder            | what it is                                                               |
//! |-------------------|--------------------------------------------------------------------------|
//! | `handover`        | protocols that pass a scheduler (baton) or a work item to a thread       |
//! | `activity`        | what each thread is doing now, published for views                       |
//! | `crew`            | parallel work of one request, lent to other schedulers                   |
//! | `scheduler`       | one scheduler: loop, connections, tasks, workers, quantum, counters      |
//! | `waiting`         | a task blocks: the scheduler is handed over and the wait is booked       |
//! | `stall_detection` | the monitor thread, which finds schedulers that do not yield             |
//! | `machine`         | all schedulers of an instance: start, listener, background threads, stop |
//!
//! Wait types are in [`crate::wait`]. Deadlocks between transactions are not found here but by the
//! lock manager of `storage`: to this module a deadlocked session is one more worker that waits.

#[cfg(not(any(loom, shuttle)))]
mod activity;
#[cfg(not(any(loom, shuttle)))]
mod crew;
mod handover;
#[cfg(not(any(loom, shuttle)))]
mod machine;
#[cfg(not(any(loom, shuttle)))]
mod scheduler;
#[cfg(not(any(loom, shuttle)))]
mod stall_detection;
#[cfg(not(any(loom, shuttle)))]
mod waiting;

#[cfg(not(loom))]
pub use handover::baton;
pub use handover::work_item;

#[cfg(not(any(loom, shuttle)))]
pub(crate) use activity::wait_at;
#[cfg(not(any(loom, shuttle)))]
pub use activity::{
    Activity, Blame, Blocker, Helping, Role, Standing, Waiting, blame, help_for, work_for,
    working_for,
};
#[cfg(not(any(loom, shuttle)))]
pub use crew::{Bell, Crew};
#[cfg(not(any(loom, shuttle)))]
pub use machine::{Affinity, Machine, MachineConfig, SchedulerRow, StopOutcome};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use scheduler::current_worker;
#[cfg(not(any(loom, shuttle)))]
pub use scheduler::{
    BytePace, Connection, Interrupt, Next, Pace, QUANTUM, Ready, RoundEnd, SchedulerCounts, Task,
    TaskWaker, check_quantum_soon, current_scheduler, put_off_to_round_end, send_at_round_end,
    take_unsent, yield_if_quantum_due,
};
#[cfg(not(any(loom, shuttle)))]
pub use stall_detection::{Stall, StallKind};
#[cfg(not(any(loom, shuttle)))]
pub use waiting::{Unblocked, blocking, wait_fd};
