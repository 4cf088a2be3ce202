//! Call stacks: walked by frame pointers, within the thread's own stack, and stored once each.
//!
//! Every function of the binary keeps its frame pointer (`.cargo/config.toml`), so a stack is a
//! chain of pairs, and walking it costs a load per frame: no unwind table is read, no lock is taken
//! and nothing is allocated. So it works in a signal handler and inside the allocator.
//!
//! ```text
//!   registers ─► fp ─► ┌ the caller's fp ┐ ─► ┌ its caller's fp ┐ ─► ..  up to the thread's first
//!                      └ return address  ┘    └ return address  ┘
//! ```
//!
//! Each address of a stack is past the instruction that it means: for a call, the return address.
//! To look up a name, subtract one.

#[cfg(not(any(loom, shuttle)))]
mod bounds;
#[cfg(not(any(loom, shuttle)))]
mod caller;
#[cfg(not(any(loom, shuttle)))]
mod here;
#[cfg(not(any(loom, shuttle)))]
mod meter;
mod table;
#[cfg(not(any(loom, shuttle)))]
mod walk;

#[cfg(not(any(loom, shuttle)))]
pub(crate) use bounds::register;
#[cfg(not(any(loom, shuttle)))]
pub use here::here;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use here::{Registers, above, interrupted, own_frame};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use meter::{give_back, started};
#[cfg(not(any(loom, shuttle)))]
pub use meter::{has_room, has_room_for, reserve_used};
#[cfg(all(test, not(any(loom, shuttle))))]
pub(crate) use table::keep;
pub use table::{Fill, StackTable, TableSteps};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use table::{caller, table_bytes};
#[cfg(not(any(loom, shuttle)))]
pub use table::{fill, frames};
#[cfg(not(any(loom, shuttle)))]
pub use walk::FRAMES_MAX;

/// The number of a stack: equal stacks have equal numbers as long as the process lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackId(u32);

impl StackId {
    /// No stack, because the machine did not start the thread.
    pub const NONE: Self = Self(0);
    /// A stack that was not stored, because the table is full.
    pub const TABLE_FULL: Self = Self(1);

    /// The number as views show it.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The stack with a number. [`frames`] returns nothing if there is none.
    #[must_use]
    pub const fn of_number(number: u32) -> Self {
        Self(number)
    }
}
