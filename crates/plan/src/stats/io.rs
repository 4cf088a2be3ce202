//! `Io`: logical reads and writes, the unit that SQL Server counts in pages.
//!
//! A logical read is a row version that storage returns to a statement, or that a statement writes;
//! a logical write is one that it writes: docs/decisions/0395-logical-reads-are-row-versions.md.

use std::ops::{AddAssign, Sub};

/// Logical reads and writes. The reads include the writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Io {
    /// Row versions that were returned or written.
    pub reads: u64,
    /// Row versions that were written.
    pub writes: u64,
}

impl Io {
    /// Returns those of a statement that has been returned this many row versions.
    pub const fn read(rows: u64) -> Self {
        Self { reads: rows, writes: 0 }
    }

    /// Returns those of a statement that has written this many row versions.
    pub const fn written(rows: u64) -> Self {
        Self { reads: rows, writes: rows }
    }
}

impl AddAssign for Io {
    fn add_assign(&mut self, other: Self) {
        self.reads = self.reads.wrapping_add(other.reads);
        self.writes = self.writes.wrapping_add(other.writes);
    }
}

impl Sub for Io {
    type Output = Self;
    fn sub(self, earlier: Self) -> Self {
        Self {
            reads: self.reads.wrapping_sub(earlier.reads),
            writes: self.writes.wrapping_sub(earlier.writes),
        }
    }
}
