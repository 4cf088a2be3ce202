//! Tests of the log through its public interface.
#![cfg(not(any(loom, shuttle)))]
#![expect(clippy::unwrap_used, reason = "a failing test may panic anywhere")]

mod batches;
mod commits;
mod drive;
mod full_disk;
mod records;
mod replay;
mod segment_headers;
mod segments;
