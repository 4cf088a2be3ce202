//! TRUNCATE TABLE: deletes every row that the transaction sees, one after the other.

use crate::access::ScanSpec;
use crate::spec::{Bounds, Order, Read, Result, WhenOwned};
use crate::store::Table;
use crate::transaction::{Claim, Transaction};

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
        while let Some(row) = scan.next()? {
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
