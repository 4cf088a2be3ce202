//! The plan cache: compiled programs by the text or the procedure that they are of, kept at two levels.
//!
//! - `session.rs` is the small cache of a session, which the hot path reads without a lock;
//! - `shared.rs` is the cache of the instance behind it, with eviction (S3-FIFO);
//! - `template.rs` and `shared_template.rs` are the same two levels for texts that differ in constants only (simple
//!   parameterization).
//!
//! Programs are made by the crate `compile`. Start at `shared.rs` for eviction.

mod session;
mod shared;
mod shared_template;
mod template;

pub use session::{Caches, Entry, ProgramCache, ProgramKey, free_programs};
pub use shared::SharedPrograms;
pub use shared_template::SharedTemplates;
pub use template::{Back, Call, Chosen, Kept, Kind, Known, TemplateCache, put, take};
