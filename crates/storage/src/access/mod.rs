//! The ways to find rows: scans, lookups by key, and autocommit statements on one row.
//!
//! A scan or a lookup finds heads, in a heap or through an index, and asks the transaction for the
//! visible version. This folder decides in which order and how many at a time; it does not know
//! which version is visible (`version/visibility.rs`) or what a lock hint means
//! (`transaction/read_row.rs`).
//!
//! Start with `scan/mod.rs`. `point.rs` is the fast path of one-row statements: it commits on the
//! row itself, without a transaction.

mod key_walk;
mod lookup;
mod point;
mod reader;
mod scan;
mod truncate;

pub use key_walk::KeyWalk;
pub use lookup::KeyList;
pub use reader::Reader;
pub use scan::{Opening, Parts, Scan, ScanPosition, ScanSpec};
