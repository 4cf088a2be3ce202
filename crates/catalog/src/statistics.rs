//! What is known of the values of a table's columns, as the table keeps it. The optimizer takes the sample that
//! it is made from, and asks it for shares of rows.

use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};
use types::date::Moment;

/// The statistics of one table, if they were taken.
pub struct StatisticsCell(SpinLock<Option<Arc<TableStatistics>>>);

impl Default for StatisticsCell {
    fn default() -> Self {
        Self(SpinLock::new(SpinClass::ServerOther, None))
    }
}

impl StatisticsCell {
    /// Tells when the sample was taken, if one was.
    pub fn sampled(&self) -> Option<Sampled> {
        self.get().map(|known| known.sampled)
    }

    /// Returns what is known.
    pub fn get(&self) -> Option<Arc<TableStatistics>> {
        self.0.lock().clone()
    }

    /// Puts what is known now in the place of what was.
    pub fn set(&self, statistics: TableStatistics) {
        let before = self.0.lock().replace(Arc::new(statistics));
        drop(before);
    }
}

/// A sample of a table.
#[derive(Clone, Copy, Debug)]
pub struct Sampled {
    /// When it was taken.
    pub when: Moment,
    /// Rows of the table then.
    pub rows: u64,
    /// Rows that were read.
    pub read: u64,
}

/// What a sample tells of a table.
pub struct TableStatistics {
    /// Which sample.
    pub sampled: Sampled,
    /// By ordinal; none of large values, which are not read.
    pub columns: Vec<Option<ColumnStatistics>>,
    /// By index and number of leading columns less one: expected number of keys that these have.
    pub prefixes: Vec<Vec<f64>>,
}

impl TableStatistics {
    /// Returns what is known of a column.
    pub fn column(&self, ordinal: u16) -> Option<&ColumnStatistics> {
        self.columns.get(usize::from(ordinal))?.as_ref()
    }

    /// Returns how many keys the first columns of an index have; `None` if nothing is known of them together.
    pub fn prefix(&self, index: usize, columns: usize) -> Option<f64> {
        self.prefixes.get(index)?.get(columns.checked_sub(1)?).copied()
    }
}

/// What a sample tells of a column.
pub struct ColumnStatistics {
    /// Expected number of distinct values, NULL left out.
    pub distinct: f64,
    /// Share of NULLs.
    pub nulls: f64,
    /// Values at equal distances in their order, as numbers; empty for what is no number or date.
    pub steps: Vec<f64>,
}
