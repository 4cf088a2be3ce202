//! What each thread of a machine is doing now, published for `sys.dm_os_workers`,
//! `sys.dm_os_waiting_tasks` and the stall monitor.
//!
//! `record.rs` is the record of one thread, `current.rs` how a thread writes its own, `roster.rs`
//! the list of all. This folder only publishes: it neither schedules, waits nor counts time (the
//! ledger does), and it knows sessions as a number that its callers choose.

mod current;
mod record;
mod roster;

pub(crate) use current::wait_at;
pub use current::{Blame, Helping, blame, help_for, work_for, working_for};
pub(in crate::sched) use current::{begin_wait, end_wait, noted_address, signalled};
pub use record::{Activity, Blocker, Role, Standing, Waiting};
pub(in crate::sched) use roster::Roster;
