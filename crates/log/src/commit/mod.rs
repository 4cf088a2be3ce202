//! From a commit to its group: buffers per scheduler, epochs, and what is durable.
//!
//! `CommitBuffers` is shared by the schedulers, each with a `Committer`, and by one log thread.

mod buffers;
#[cfg(not(any(loom, shuttle)))]
mod log_thread;
mod stats;

pub use buffers::{
    BUFFER_BYTES_MAX, Commit, CommitBuffers, Committer, Durability, LogState, Refusal, Wake,
};
#[cfg(all(test, loom))]
pub(crate) use buffers::{Sleep, Taken};
#[cfg(not(any(loom, shuttle)))]
pub use log_thread::{Flush, LogThread};
pub use stats::{HISTOGRAM_CLASSES, Histogram, LogStats};
