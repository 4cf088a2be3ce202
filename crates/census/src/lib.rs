//! The census of shared writes: which code, per request, fetches or invalidates a cache line that
//! another scheduler has.
//!
//! The compiler instruments every load and store of the server (ThreadSanitizer's pass), atomic or
//! not, in every crate; this crate replaces the sanitizer's runtime and keeps, for each line of the
//! address space, which caches have it. So reference counts, lock words, blocks freed by another
//! thread than their owner, and plain stores under a lock are all counted.
//!
//! ```text
//!   instrumented code ─► hooks ─► thread ─► table: the state of the line ─► own: nothing more
//!                                   │                                    └► shared: counted by call stack
//!                                   └── report ◄── symbols
//! ```
//!
//! Built only under `cfg(census)`, by `make census`; docs/census.md describes what it cannot see.

#[cfg(census)]
mod hooks;
#[cfg(census)]
pub mod report;
#[cfg(census)]
mod stack;
pub mod state;
#[cfg(census)]
mod table;
#[cfg(census)]
mod thread;

#[cfg(census)]
pub use report::{Counts, Report, Row, Symbols};
pub use state::Domain;
#[cfg(census)]
pub use thread::{enter, forget_counts, leave};
