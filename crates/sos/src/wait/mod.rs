//! Wait types, and what each thread counts of them.
//!
//! A wait has a resource part (until another thread signals it) and a signal part (from then until
//! the thread holds a scheduler again). Each thread writes its own cells; readers add them up
//! ([`crate::ledger`]). How a thread waits is in [`crate::sched`] and [`crate::park`], not here.

mod cell;
mod wait_type;

pub use cell::{WaitCell, WaitRow};
pub use wait_type::WaitType;
