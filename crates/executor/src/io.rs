//! Counts logical reads and writes: for the session and its statement, and for a profile if there is one.
//!
//! Scans count whole batches, changes count row by row. The counters are the session's own, so no
//! cache line that others write is written: docs/decisions/0395-logical-reads-are-row-versions.md.

use crate::Cx;
use catalog::TableDef;
use plan::query::Scan;

impl Cx<'_> {
    /// Counts row versions that storage has returned to a scan.
    #[inline]
    pub fn count_reads(&mut self, scan: &Scan, rows: u64) {
        self.session.accounting.meter.read(rows);
        if let Some(profile) = &mut self.profile {
            profile.count_reads(scan, rows);
        }
    }

    /// Counts row versions of a table that storage has returned without a scan: foreign keys.
    #[inline]
    pub fn count_found(&mut self, table: &TableDef, rows: u64) {
        self.session.accounting.meter.read(rows);
        if let Some(profile) = &mut self.profile {
            profile.count_of_table(table.id, &table.name, rows);
        }
    }

    /// Counts row versions of a table that were written.
    #[inline]
    pub fn count_written(&mut self, table: &TableDef, rows: u64) {
        self.session.accounting.meter.wrote(rows);
        if let Some(profile) = &mut self.profile {
            profile.count_of_table(table.id, &table.name, rows);
        }
    }
}
