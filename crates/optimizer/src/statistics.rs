//! Statistics of a table's columns, computed from a sample that is taken when a plan first needs
//! it, and again when the table has grown or shrunk by a factor of [`STALE`].
//!
//! `sample.rs` chooses the rows. For the index by which they are read, the sample also gives the
//! number of distinct keys of its first columns together, which estimates a seek by several
//! columns.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use storage::TransactionOptions;
use types::Value;
use types::compare::group_key;

use super::estimate::count;
use super::sample::{Runs, Sample};
use catalog::{ColumnStatistics, IndexKind, Sampled, TableDef, TableStatistics};
use plan::expr::CompareOp;

/// Tables with fewer rows have no statistics.
const ROWS_MIN: u64 = 100;
/// Factor of growth at which a sample is outdated.
const STALE: u64 = 3;
/// Maximum number of steps of a histogram.
const STEPS_MAX: usize = 64;

/// Returns the fraction of rows for which `column op value` is true; `None` without statistics.
pub(crate) fn share(column: &ColumnStatistics, op: CompareOp, value: &Value) -> Option<f64> {
    let number = number_of(value)?;
    if column.steps.len() < 2 {
        return None;
    }
    let below = column.steps.partition_point(|s| *s < number);
    let share = count(below) / count(column.steps.len());
    // A sample never proves that there is no such row.
    let share = match op {
        CompareOp::Less | CompareOp::LessOrEqual => share,
        CompareOp::Greater | CompareOp::GreaterOrEqual => 1.0 - share,
        CompareOp::Equal | CompareOp::NotEqual => return None,
    };
    Some(share.clamp(0.5 / count(column.steps.len()), 1.0) * (1.0 - column.nulls))
}

/// Computes the statistics of a table, unless there are current ones.
pub(crate) fn learn(table: &TableDef, store: &Arc<storage::Store>) {
    let rows = table.rows.data.row_count();
    if rows < ROWS_MIN {
        return;
    }
    if let Some(known) = table.rows.statistics.get()
        && rows / STALE <= known.sampled.rows
        && known.sampled.rows / STALE <= rows
    {
        return;
    }
    let transaction = store.begin(TransactionOptions::STATEMENT);
    let sample = Sample::of(table, &transaction);
    transaction.rollback();
    let statistics = sample.statistics(table, rows);
    table.rows.statistics.set(statistics);
}

impl Sample {
    fn statistics(&self, table: &TableDef, rows: u64) -> TableStatistics {
        let columns = table.columns.iter().enumerate().map(|(i, column)| {
            (!column.ty.data_type.is_large()).then(|| self.column(table, i, rows))
        });
        let columns = columns.collect();
        let prefixes = (0..table.indexes.len()).map(|i| self.prefixes(table, i, rows)).collect();
        let read = u64::try_from(self.rows.len()).unwrap_or(u64::MAX);
        let sampled = Sampled { when: catalog::clock::clock(), rows, read };
        TableStatistics { sampled, columns, prefixes }
    }

    fn column(&self, table: &TableDef, ordinal: usize, rows: u64) -> ColumnStatistics {
        let ty = &table.columns[ordinal].ty;
        let collation = super::seek::key_collation(ty);
        let mut seen: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut steps = Vec::new();
        let mut nulls = 0_usize;
        for row in &self.rows {
            let value = &row[ordinal];
            if value.is_null() {
                nulls += 1;
                continue;
            }
            steps.extend(number_of(value));
            let mut key = Vec::new();
            group_key(value, collation, &mut key);
            *seen.entry(key).or_default() += 1;
        }
        let total = as_count(rows);
        let sampled = count(self.rows.len()).max(1.0);
        let values = count(self.rows.len() - nulls).max(1.0);
        let different = count(seen.len());
        let once = count(seen.values().filter(|n| **n == 1).count());
        let whole = total * values / sampled;
        let leading = self.runs.as_ref().filter(|runs| {
            table.indexes[runs.index].keys.first().is_some_and(|k| usize::from(k.0) == ordinal)
        });
        let distinct = match leading {
            Some(runs) => self.along(table, runs, 1, total),
            // Duj1, Haas and others 1995: a value seen once may be one of many.
            None => different / (1.0 - (1.0 - (values / whole).min(1.0)) * once / values).max(1e-9),
        };
        steps.sort_by(f64::total_cmp);
        let stride = steps.len().div_ceil(STEPS_MAX).max(1);
        ColumnStatistics {
            distinct: distinct.clamp(1.0, whole.max(1.0)),
            nulls: count(nulls) / sampled,
            steps: steps.into_iter().step_by(stride).collect(),
        }
    }

    /// Returns the number of distinct keys of an index's first columns, by the number of columns;
    /// empty if the sample does not show it.
    fn prefixes(&self, table: &TableDef, index: usize, rows: u64) -> Vec<f64> {
        let definition = &table.indexes[index];
        if definition.kind != IndexKind::Range || definition.filter.is_some() {
            return Vec::new();
        }
        let counts = 1..=definition.keys.len();
        if u64::try_from(self.rows.len()).is_ok_and(|read| read >= rows) {
            let different = |columns| count(self.different(table, index, columns)).max(1.0);
            return counts.map(different).collect();
        }
        match self.runs.as_ref().filter(|runs| runs.index == index) {
            Some(runs) => {
                counts.map(|columns| self.along(table, runs, columns, as_count(rows))).collect()
            }
            None => Vec::new(),
        }
    }

    /// Returns the number of distinct keys of the first columns of the sampled index: as often as
    /// adjacent rows differ, and at least as many as were seen.
    fn along(&self, table: &TableDef, runs: &Runs, columns: usize, total: f64) -> f64 {
        let ends = runs.starts.iter().skip(1).copied().chain([self.rows.len()]);
        let (mut pairs, mut changes) = (0, 0);
        let (mut key, mut before) = (Vec::new(), Vec::new());
        for (start, end) in runs.starts.iter().zip(ends) {
            for (place, row) in self.rows[*start..end].iter().enumerate() {
                std::mem::swap(&mut key, &mut before);
                prefix_key(table, runs.index, columns, row, &mut key);
                if place > 0 {
                    pairs += 1;
                    changes += usize::from(key != before);
                }
            }
        }
        let steps = 1.0 + total * count(changes) / count(pairs).max(1.0);
        steps.max(count(self.different(table, runs.index, columns))).clamp(1.0, total.max(1.0))
    }

    /// Returns the number of distinct keys of an index's first columns in the sample.
    fn different(&self, table: &TableDef, index: usize, columns: usize) -> usize {
        let mut seen: HashSet<Vec<u8>> = HashSet::new();
        for row in &self.rows {
            let mut key = Vec::new();
            prefix_key(table, index, columns, row, &mut key);
            seen.insert(key);
        }
        seen.len()
    }
}

/// Writes a key that is equal for rows with equal values in an index's first columns.
fn prefix_key(table: &TableDef, index: usize, columns: usize, row: &[Value], key: &mut Vec<u8>) {
    key.clear();
    for (ordinal, _) in table.indexes[index].keys.iter().take(columns) {
        let ordinal = usize::from(*ordinal);
        group_key(&row[ordinal], super::seek::key_collation(&table.columns[ordinal].ty), key);
    }
}

fn as_count(rows: u64) -> f64 {
    u32::try_from(rows).map_or(f64::from(u32::MAX), f64::from)
}

/// Returns a number or a date as a position on an axis.
fn number_of(value: &Value) -> Option<f64> {
    Some(match value {
        Value::TinyInt(n) => f64::from(*n),
        Value::SmallInt(n) => f64::from(*n),
        Value::Int(n) | Value::Date(n) => f64::from(*n),
        Value::BigInt(n) | Value::Money(n) => super::estimate::float(*n),
        Value::Decimal(n) => n.to_f64(),
        Value::Real(n) => f64::from(*n),
        Value::Float(n) => *n,
        Value::DateTime { days, ticks } => f64::from(*days) + f64::from(*ticks) / 25_920_000.0,
        Value::SmallDateTime { days, minutes } => f64::from(*days) + f64::from(*minutes) / 1_440.0,
        Value::DateTime2 { days, ticks } => {
            f64::from(*days) + super::estimate::float(*ticks) / 864_000_000_000.0
        }
        _ => return None,
    })
}
