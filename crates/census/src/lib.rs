//! The census of shared writes: which code, per request, fetches or takes away a cache line that
//! another scheduler has.
//!
//! Every load and store of the server is instrumented by the compiler (the pass of ThreadSanitizer),
//! whether it is atomic or not, in whatever crate; this crate stands in for the sanitizer's runtime
//! and keeps, for each line of the address space, who has it. So reference counts, lock words,
//! blocks freed by another thread than their owner, and plain stores under a lock are all seen.
//!
//! ```text
//!   instrumented code ─► hooks ─► thread ─► table: the state of the line ─► own: nothing more
//!                                   │                                    └► shared: counted by call stack
//!                                   └── report ◄── symbols
//! ```
//!
//! Built only under `cfg(census)`, by `make census`; docs/census.md says what is not seen.

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
