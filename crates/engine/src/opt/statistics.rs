//! What is known of the values of a table's columns: from a sample, taken when a plan first asks and
//! again when the table has grown or shrunk by a factor of [`STALE`].
//!
//! The sample is bounded ([`SAMPLE_ROWS`]), so that it costs a compilation about a millisecond. Where a
//! range index begins with a whole number, rows are read at places spread evenly over its keys, since
//! the first rows of a table tell little of the others; else from the start of the heap.

use std::ops::Bound;
use std::sync::Arc;

use hashbrown::HashMap;
use sos::lock::{SpinClass, SpinLock};
use storage::{Bounds, Order, Read, ScanSpec, Transaction, TransactionOptions};
use types::Value;
use types::batch::Vector;
use types::compare::group_key;
use types::date::Moment;
use types::key::encode_value;

use super::estimate::count;
use crate::catalog::{IndexKind, TableDef};
use crate::exec::columnstore::Blocks;
use crate::plan::expr::CompareOp;

/// Rows read at most.
const SAMPLE_ROWS: usize = 1_500;
/// Places at which they are read.
const PLACES: usize = 25;
/// Tables with fewer rows have no statistics.
const ROWS_MIN: u64 = 100;
/// Growth by which a sample is out of date.
const STALE: u64 = 3;
/// Steps of a histogram at most.
const STEPS_MAX: usize = 64;

/// The statistics of one table, if they were taken.
pub struct StatisticsCell(SpinLock<Option<Arc<TableStatistics>>>);

impl Default for StatisticsCell {
    fn default() -> Self {
        Self(SpinLock::new(SpinClass::ServerOther, None))
    }
}

impl StatisticsCell {
    /// Tells when the sample was taken, if one was.
    pub(crate) fn sampled(&self) -> Option<Sampled> {
        self.get().map(|known| known.sampled)
    }

    /// Returns what is known.
    pub(super) fn get(&self) -> Option<Arc<TableStatistics>> {
        self.0.lock().clone()
    }
}

/// A sample of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampled {
    /// When it was taken.
    pub(crate) when: Moment,
    /// Rows of the table then.
    pub(crate) rows: u64,
    /// Rows that were read.
    pub(crate) read: u64,
}

/// What a sample tells of a table.
pub(super) struct TableStatistics {
    /// Which sample.
    sampled: Sampled,
    /// By ordinal; none of large values, which are not read.
    columns: Vec<Option<ColumnStatistics>>,
}

impl TableStatistics {
    /// Returns what is known of a column.
    pub(super) fn column(&self, ordinal: u16) -> Option<&ColumnStatistics> {
        self.columns.get(usize::from(ordinal))?.as_ref()
    }
}

/// What a sample tells of a column.
pub(super) struct ColumnStatistics {
    /// Expected number of distinct values, NULL left out.
    pub distinct: f64,
    /// Share of NULLs.
    pub nulls: f64,
    /// Values at equal distances in their order, as numbers; empty for what is no number or date.
    steps: Vec<f64>,
}

impl ColumnStatistics {
    /// Returns the share of the rows for which `column op value` is true; `None` if nothing is known.
    pub(super) fn share(&self, op: CompareOp, value: &Value) -> Option<f64> {
        let number = number_of(value)?;
        if self.steps.len() < 2 {
            return None;
        }
        let below = self.steps.partition_point(|s| *s < number);
        let share = count(below) / count(self.steps.len());
        // A sample never shows that there is nothing.
        let share = match op {
            CompareOp::Less | CompareOp::LessOrEqual => share,
            CompareOp::Greater | CompareOp::GreaterOrEqual => 1.0 - share,
            CompareOp::Equal | CompareOp::NotEqual => return None,
        };
        Some(share.clamp(0.5 / count(self.steps.len()), 1.0) * (1.0 - self.nulls))
    }
}

/// Takes statistics of a table, if there are none that are good.
pub(super) fn learn(table: &TableDef, store: &Arc<storage::Store>) {
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
    *table.rows.statistics.0.lock() = Some(Arc::new(statistics));
}

/// Rows of a table.
struct Sample {
    rows: Vec<Vec<Value>>,
    /// The column by which runs of neighbours are in order.
    leading: Option<u16>,
}

impl Sample {
    fn of(table: &TableDef, transaction: &Transaction) -> Self {
        if let Some(sample) = Self::of_columns(table, transaction) {
            return sample;
        }
        let all = u64::try_from(SAMPLE_ROWS).is_ok_and(|most| table.rows.data.row_count() <= most);
        if !all && let Some(sample) = Self::spread(table, transaction) {
            return sample;
        }
        let mut sample = Self { rows: Vec::new(), leading: None };
        let spec = ScanSpec {
            index: None,
            bounds: Bounds::ALL,
            order: Order::Forward,
            read: Read::COMMITTED,
        };
        sample.read(table, transaction, spec, SAMPLE_ROWS);
        sample
    }

    /// Reads blocks spread over the row groups of a table that has some.
    fn of_columns(table: &TableDef, transaction: &Transaction) -> Option<Self> {
        table.columnstore.as_ref()?;
        let mut blocks = Blocks::open(transaction, &table.rows.data, Read::COMMITTED).ok()?;
        let mut sample = Self { rows: Vec::new(), leading: None };
        let of = |column: &crate::catalog::ColumnDef| Vector::with_capacity_for(&column.ty);
        let mut vectors: Vec<Vector> = table.columns.iter().map(of).collect();
        // A sample that cannot be read is a small one: plans are made without it.
        while let Ok(Some(block)) = blocks.next() {
            for (ordinal, vector) in vectors.iter_mut().enumerate() {
                block.read(ordinal, vector);
            }
            for row in block.live.iter() {
                let is_small = |i: usize| !table.columns[i].ty.data_type.is_large();
                let value = |i: usize| if is_small(i) { vectors[i].get(row) } else { Value::Null };
                sample.rows.push((0..table.columns.len()).map(value).collect());
            }
            if sample.rows.len() >= SAMPLE_ROWS {
                break;
            }
        }
        (!sample.rows.is_empty()).then_some(sample)
    }

    /// Reads at places spread over the keys of a range index that begins with a whole number.
    fn spread(table: &TableDef, transaction: &Transaction) -> Option<Self> {
        let is_whole = |ordinal: u16| {
            let data_type = table.columns[usize::from(ordinal)].ty.data_type;
            matches!(data_type, types::DataType::Int | types::DataType::BigInt)
        };
        let place = table.indexes.iter().position(|i| {
            i.kind == IndexKind::Range
                && i.filter.is_none()
                && i.keys.first().is_some_and(|k| is_whole(k.0))
        })?;
        let index = &table.indexes[place];
        let (ordinal, _) = *index.keys.first()?;
        let part = table.key_parts(place).next()?;
        let end = |order: Order| {
            let mut one = Self { rows: Vec::new(), leading: None };
            let index = Some(index.storage_id());
            let spec = ScanSpec { index, bounds: Bounds::ALL, order, read: Read::COMMITTED };
            one.read(table, transaction, spec, 1);
            one.rows.first().and_then(|row| whole_of(&row[usize::from(ordinal)]))
        };
        let (a, b) = (end(Order::Forward)?, end(Order::Backward)?);
        let (low, high) = (a.min(b), a.max(b));
        let mut sample = Self { rows: Vec::new(), leading: Some(ordinal) };
        let step = (high.saturating_sub(low) / i64::try_from(PLACES).ok()?).max(1);
        let mut key = Vec::new();
        for i in 0..PLACES {
            let at = low.saturating_add(step.saturating_mul(i64::try_from(i).ok()?));
            let last = sample.rows.last().and_then(|row| whole_of(&row[usize::from(ordinal)]));
            if last.is_some_and(|last| at <= last) {
                // The rows here were read as the end of those before.
                continue;
            }
            let value = match table.columns[usize::from(ordinal)].ty.data_type {
                types::DataType::Int => Value::Int(i32::try_from(at).ok()?),
                _ => Value::BigInt(at),
            };
            key.clear();
            encode_value(&value, part, &mut key);
            let bounds = Bounds { lower: Bound::Included(&key[..]), upper: Bound::Unbounded };
            let index = Some(index.storage_id());
            let spec = ScanSpec { index, bounds, order: Order::Forward, read: Read::COMMITTED };
            sample.read(table, transaction, spec, SAMPLE_ROWS / PLACES);
        }
        Some(sample)
    }

    fn read(
        &mut self,
        table: &TableDef,
        transaction: &Transaction,
        spec: ScanSpec<'_>,
        rows_max: usize,
    ) {
        // A sample that cannot be read is a small one: plans are made without it.
        let Ok(mut cursor) = transaction.scan(&table.rows.data, spec) else { return };
        for _ in 0..rows_max {
            let Ok(Some(row)) = cursor.next() else { return };
            let image = row.image();
            let view = table.layout.view(image.bytes, image.blobs);
            let is_small = |i: usize| !table.columns[i].ty.data_type.is_large();
            let value = |i: usize| if is_small(i) { view.get(i) } else { Value::Null };
            self.rows.push((0..table.columns.len()).map(value).collect());
        }
    }

    fn statistics(&self, table: &TableDef, rows: u64) -> TableStatistics {
        let columns = table.columns.iter().enumerate().map(|(i, column)| {
            (!column.ty.data_type.is_large()).then(|| self.column(table, i, rows))
        });
        let columns = columns.collect();
        let read = u64::try_from(self.rows.len()).unwrap_or(u64::MAX);
        let sampled = Sampled { when: crate::exec::clock(), rows, read };
        TableStatistics { sampled, columns }
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
        let total = u32::try_from(rows).map_or(f64::from(u32::MAX), f64::from);
        let sampled = count(self.rows.len()).max(1.0);
        let values = count(self.rows.len() - nulls).max(1.0);
        let different = count(seen.len());
        let once = count(seen.values().filter(|n| **n == 1).count());
        let whole = total * values / sampled;
        let leads = self.leading.is_some_and(|l| usize::from(l) == ordinal);
        let distinct = if leads {
            // Neighbours have the same value: the runs go on as they do in the sample.
            whole * different / values
        } else {
            // Duj1, Haas and others 1995: what was met once may be one of many.
            different / (1.0 - (1.0 - (values / whole).min(1.0)) * once / values).max(1e-9)
        };
        steps.sort_by(f64::total_cmp);
        let stride = steps.len().div_ceil(STEPS_MAX).max(1);
        ColumnStatistics {
            distinct: distinct.clamp(1.0, whole.max(1.0)),
            nulls: count(nulls) / sampled,
            steps: steps.into_iter().step_by(stride).collect(),
        }
    }
}

fn whole_of(value: &Value) -> Option<i64> {
    match value {
        Value::Int(n) => Some(i64::from(*n)),
        Value::BigInt(n) => Some(*n),
        _ => None,
    }
}

/// Returns the place of a number or a date on its axis.
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
