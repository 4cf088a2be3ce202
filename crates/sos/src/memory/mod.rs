//! Memory: who has it (clerks), the process's allocator, the limit, and extents.
//!
//! The allocator is the process's, and so are its books: one set of clerks and one limit, whatever
//! the number of instances.

mod allocator;
mod budget;
mod clerk;
mod extent;

pub use allocator::{Allocator, keep_freed_memory};
pub use budget::{OverLimit, check, limit_bytes, set_limit_bytes, used_bytes};
pub use clerk::{ClerkRow, MemoryClerk, clerks, flush, with_clerk};
pub use extent::Extent;
