//! Files that pyarrow and DuckDB wrote, whole and damaged. `data/make.py` made them, and the rows
//! that DuckDB reads from them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod damaged;
mod files;
