//! What the rest of the crate is built from: atomics and latches, deferred freeing, a place per
//! thread, the commit clock, the memory clerk.
//!
//! It knows no rows, tables or transactions. Most of it comes from `sos`; each file says what
//! replaces it under a model checker (loom, shuttle), which has no clocks, clerks or epochs.
//!
//! Start with `epoch.rs`: what is unlinked from a shared structure is freed only when no thread can
//! still reach it, and every read of a version happens under such a pin.

pub(crate) mod clerk;
pub(crate) mod clock;
pub(crate) mod directory;
pub(crate) mod epoch;
pub(crate) mod mutant;
pub(crate) mod park;
pub(crate) mod shards;
pub(crate) mod sync;
