//! TRUNCATE TABLE: deletes every row that the transaction sees, one after the other.
//!
//! Between two rows it pauses for other requests. They see what they see of any transaction that has not
//! ended: by row versions all rows as they were, else they wait for the rows that are deleted so far. A
//! row that is added in between stays, as if it had been added behind the end. A cancellation takes back
//! what was deleted. The log gets all changes at the commit.

use crate::access::ScanSpec;
use crate::spec::{Bounds, Order, Read, Result, WhenOwned};
use crate::store::Table;
use crate::transaction::{Claim, Transaction};

/// Rows between two checks whether another request shall run.
const ROWS_PER_PAUSE: usize = if cfg!(test) { 2 } else { 64 };

impl Transaction {
    /// Deletes all rows that the transaction sees and returns how many (TRUNCATE TABLE). In a table
    /// with a clustered columnstore each row group counts as one.
    pub fn truncate(&self, table: &Table) -> Result<u64> {
        table.parts().map(|part| self.truncate_part(part)).sum()
    }

    fn truncate_part(&self, table: &Table) -> Result<u64> {
        let spec = ScanSpec {
            index: None,
            bounds: Bounds::ALL,
            order: Order::Forward,
            read: Read::COMMITTED,
        };
        let mut scan = self.scan(table, spec)?;
        let mut count = 0;
        let mut seen = 0_usize;
        while let Some(row) = scan.next()? {
            seen += 1;
            if seen.is_multiple_of(ROWS_PER_PAUSE) {
                self.pause()?;
            }
            match self.claim(row, WhenOwned::Wait)? {
                Claim::Current(row) | Claim::Changed(row) => {
                    self.delete(row)?;
                    count += 1;
                }
                Claim::Gone | Claim::Skipped => {}
            }
        }
        Ok(count)
    }
}
