//! From a commit to its group: buffers per scheduler, epochs, and what is durable.
//!
//! `CommitBuffers` is shared by the schedulers, each with a `Committer`, and by one log thread.

mod buffers;
#[cfg(not(any(loom, shuttle)))]
mod log_thread;

pub use buffers::{Commit, CommitBuffers, Committer, Durability, Wake};
#[cfg(not(any(loom, shuttle)))]
pub use log_thread::{Flush, LogThread};
