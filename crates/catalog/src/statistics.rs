//! Statistics of a table's column values, stored with the table. The optimizer takes the sample
//! they are computed from and uses them for selectivity estimates.

use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};
use types::date::Moment;

/// The statistics of one table, once they have been computed.
pub struct StatisticsCell(SpinLock<Option<Arc<TableStatistics>>>);

impl Default for StatisticsCell {
    fn default() -> Self {
        Self(SpinLock::new(SpinClass::ServerOther, None))
    }
}

impl StatisticsCell {
    /// Returns when and how the sample was taken, if one was.
    pub fn sampled(&self) -> Option<Sampled> {
        self.get().map(|known| known.sampled)
    }

    /// Returns the current statistics, if any.
    pub fn get(&self) -> Option<Arc<TableStatistics>> {
        self.0.lock().clone()
    }

    /// Replaces the statistics with newer ones.
    pub fn set(&self, statistics: TableStatistics) {
        let before = self.0.lock().replace(Arc::new(statistics));
        drop(before);
    }
}

/// How a table's sample was taken.
#[derive(Clone, Copy, Debug)]
pub struct Sampled {
    /// Time of the sample, UTC.
    pub when: Moment,
    /// Rows in the table at that time.
    pub rows: u64,
    /// Number of rows that were read.
    pub read: u64,
}

/// The statistics computed from a sample of a table.
pub struct TableStatistics {
    /// Time and size of the sample.
    pub sampled: Sampled,
    /// Statistics by column ordinal; `None` for large values, which are not read.
    pub columns: Vec<Option<ColumnStatistics>>,
    /// Expected number of distinct keys, by index and by the number of leading columns minus one.
    pub prefixes: Vec<Vec<f64>>,
}

impl TableStatistics {
    /// Returns the statistics of a column, if any.
    pub fn column(&self, ordinal: u16) -> Option<&ColumnStatistics> {
        self.columns.get(usize::from(ordinal))?.as_ref()
    }

    /// Returns the number of distinct keys of an index's first columns; `None` if it is not known.
    pub fn prefix(&self, index: usize, columns: usize) -> Option<f64> {
        self.prefixes.get(index)?.get(columns.checked_sub(1)?).copied()
    }
}

/// The statistics of one column.
pub struct ColumnStatistics {
    /// Expected number of distinct values, NULL excluded.
    pub distinct: f64,
    /// Fraction of NULLs, 0 to 1.
    pub nulls: f64,
    /// Quantiles at equal distances, as numbers; empty for a type that is neither number nor date.
    pub steps: Vec<f64>,
}
