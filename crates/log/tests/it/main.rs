//! Tests of the log through its public interface.

mod batches;
mod drive;
mod records;
mod segment_headers;
mod segments;
