//! What the rest of the crate is built from: atomics and latches, deferred freeing, a place per
//! thread, the commit clock, the memory clerk.
//!
//! It knows no rows, tables or transactions. Most of it comes from `sos`; each file says what
//! replaces it under a model checker (loom, shuttle), which has no clocks, clerks or epochs.
//!
//! Start with `epoch.rs`: what is unlinked from a shared structure is freed only when no thread can
//! still reach it, and every read of a version happens under such a pin.

mod clerk;
mod clock;
mod directory;
mod epoch;
mod mutant;
mod park;
mod shards;
mod sync;
mod tally;

pub(crate) use clerk::booked;
pub(crate) use clock::{Clock, Timestamp, monotonic_ns};
pub(crate) use directory::Directory;
#[cfg(all(test, shuttle))]
pub(crate) use epoch::begin_run;
pub(crate) use epoch::{
    Guard, PinWait, Published, breathe, pin, retire_arc, retire_box, wait_for_pins,
};
#[cfg(all(test, shuttle))]
pub(crate) use mutant::MUTANT;
pub(crate) use mutant::{Mutant, is_mutant};
pub use park::Cancel;
pub(crate) use shards::{Shards, own_number};
pub(crate) use sync::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, CachePadded, Label, Ordering,
    SpinClass, SpinLock, check_quantum_soon, delay_release, label, labelled, let_others_run,
    measured, prefetch, yield_if_quantum_due,
};
pub(crate) use tally::Tally;
