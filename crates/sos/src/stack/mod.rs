//! Call stacks: walked by frame pointers, within the thread's own stack, and kept once each.
//!
//! Every function of the binary keeps its frame pointer (`.cargo/config.toml`), so a stack is a
//! chain of pairs, and walking it is a load per frame: no table of unwinding is read, no lock is
//! taken and nothing is allocated. So it may be done in a signal's handler and inside the
//! allocator.
//!
//! ```text
//!   registers ─► fp ─► ┌ the caller's fp ┐ ─► ┌ its caller's fp ┐ ─► ..  up to the thread's first
//!                      └ return address  ┘    └ return address  ┘
//! ```
//!
//! Each address of a stack is one behind the instruction that it stands for: of a call, its return
//! address. Who looks a name up takes one off.

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

/// The number of a stack, the same for the same stack as long as the process lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackId(u32);

impl StackId {
    /// No stack: the thread is not one of ours.
    pub const NONE: Self = Self(0);
    /// A stack of which nothing was kept, because the table is full.
    pub const TABLE_FULL: Self = Self(1);

    /// The number that views show.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The stack of a number; whether there is one is for [`frames`] to say.
    #[must_use]
    pub const fn of_number(number: u32) -> Self {
        Self(number)
    }
}
