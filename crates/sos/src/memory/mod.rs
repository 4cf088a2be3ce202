//! Memory: clerks, the process's allocator, the memory limit, extents, and the trimmer.
//!
//! The allocator belongs to the process, and so do its counters: one set of clerks and one limit,
//! even with several instances.
//!
//! ```text
//!   above 10 KB, Extent ─► pool ─► units ─────┐
//!                                             ├─► space: populated by one named call
//!   less than that ─► mimalloc ─► its arenas ─┘
//! ```

#[cfg(not(any(loom, shuttle)))]
mod allocator;
#[cfg(not(any(loom, shuttle)))]
mod bits;
#[cfg(not(any(loom, shuttle)))]
mod budget;
#[cfg(not(any(loom, shuttle)))]
mod class;
#[cfg(not(any(loom, shuttle)))]
mod clerk;
#[cfg(not(any(loom, shuttle)))]
mod collector;
mod depot;
#[cfg(not(any(loom, shuttle)))]
pub mod experiment;
#[cfg(not(any(loom, shuttle)))]
mod extent;
#[cfg(not(any(loom, shuttle)))]
mod heap;
#[cfg(not(any(loom, shuttle)))]
mod joined;
#[cfg(not(any(loom, shuttle)))]
mod patience;
#[cfg(not(any(loom, shuttle)))]
mod pool;
mod relief;
mod slices;
#[cfg(not(any(loom, shuttle)))]
mod space;
#[cfg(not(any(loom, shuttle)))]
mod stacks;
#[cfg(not(any(loom, shuttle)))]
mod tag;
#[cfg(not(any(loom, shuttle)))]
mod trimmer;
#[cfg(not(any(loom, shuttle)))]
mod unit;
#[cfg(test)]
#[cfg(not(any(loom, shuttle)))]
mod unit_tests;

pub use depot::{Depot, DepotOrders};
pub use relief::{Relief, ReliefOrders};
pub use slices::{Going, SliceOrders, Slices, Steps, WHOLE};

#[cfg(not(any(loom, shuttle)))]
pub use allocator::Allocator;
#[cfg(not(any(loom, shuttle)))]
pub use budget::{
    OverLimit, check, check_reserve, check_rows, limit_bytes, refusals, removal_bytes, reserve_for,
    room_for, set_limit_bytes, used_bytes, work_bytes,
};
#[cfg(not(any(loom, shuttle)))]
pub use clerk::{ClerkRow, MemoryClerk, clerks, flush, page_allocations, tidy, with_clerk};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use clerk::{close, retire};
#[cfg(not(any(loom, shuttle)))]
pub use collector::{
    Collector, NoRoom, Pass, collectors_key, is_relief_wanted, wait_for_reserve, wait_for_room,
};
#[cfg(not(any(loom, shuttle)))]
pub use extent::Extent;
#[cfg(not(any(loom, shuttle)))]
pub use joined::joined;
#[cfg(not(any(loom, shuttle)))]
pub use space::{MemoryModel, model, populated_bytes, set_model};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use stacks::StackPlace;
#[cfg(not(any(loom, shuttle)))]
pub use trimmer::released_bytes;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use trimmer::{LOOK_PERIOD, Trimmer};

/// How long (ns) a thread has been idle before it frees what it keeps ([`tidy`]).
#[cfg(not(any(loom, shuttle)))]
pub const TIDY_NS: u64 = 1_000_000_000;

/// A size as a signed difference.
#[cfg(not(any(loom, shuttle)))]
#[inline]
fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
