//! `Sample`: rows of a table from which its statistics are computed.
//!
//! Its size is bounded ([`SAMPLE_ROWS`]), so that it adds about a millisecond to a compilation. If
//! a range index begins with an integer column, runs of rows are read at places spread over its
//! keys, since the first rows of a table say little about the others; otherwise rows are read from
//! the start of the heap. If the first column has few values (a warehouse, a tenant), the places
//! are spread over the second column under each of them, and so on:
//!
//! ```text
//!   many values   |1..|    |60..|    |120..|    |180..|         a run at every step of the first
//!   column
//!   few values    (1, 3, 17..)  (1, 8, 90..)  (2, 1, 55..)      a run under a value of each of the
//!   first columns
//! ```

use std::ops::Bound;

use storage::columnstore::BLOCK_ROWS;
use storage::{Bounds, Order, Read, ScanSpec, Transaction};
use types::batch::Vector;
use types::key::{KeyPart, encode_value};
use types::{DataType, Value};

use catalog::{IndexKind, TableDef};

/// Maximum number of rows read.
const SAMPLE_ROWS: usize = 1_500;
/// Number of places at which rows are read.
const PLACES: u32 = 25;
/// Number of rows read at each place.
const RUN_ROWS: usize = SAMPLE_ROWS / PLACES as usize;
/// Steps by which places advance through the values of the columns after the first, in units of
/// 2^-32: the fractional parts of the golden ratio and of the roots of 2 and 3. Their multiples
/// fill an interval evenly for any number of steps (Weyl 1916), and independently of each other.
const STRIDES: [u64; 3] = [2_654_435_769, 1_779_033_703, 3_144_134_277];

/// Sampled rows of a table.
pub(crate) struct Sample {
    pub(crate) rows: Vec<Vec<Value>>,
    /// The runs in which they were read, if by an index.
    pub(crate) runs: Option<Runs>,
}

/// Runs of adjacent rows of an index.
pub(crate) struct Runs {
    /// Number of the index.
    pub(crate) index: usize,
    /// Position of each run's first row.
    pub(crate) starts: Vec<usize>,
}

impl Sample {
    /// Reads a sample of a table.
    pub(crate) fn of(table: &TableDef, transaction: &Transaction) -> Self {
        if let Some(sample) = Self::of_columns(table, transaction) {
            return sample;
        }
        let all = u64::try_from(SAMPLE_ROWS).is_ok_and(|most| table.rows.data.row_count() <= most);
        if !all && let Some(sample) = Self::spread(table, transaction) {
            return sample;
        }
        let mut sample = Self { rows: Vec::new(), runs: None };
        let spec = ScanSpec {
            index: None,
            bounds: Bounds::ALL,
            order: Order::Forward,
            read: Read::COMMITTED,
        };
        sample.read(table, transaction, spec, SAMPLE_ROWS);
        sample
    }

    /// Reads blocks spread over the row groups of a columnstore table.
    fn of_columns(table: &TableDef, transaction: &Transaction) -> Option<Self> {
        table.columnstore.as_ref()?;
        let (data, read) = (&table.rows.data, Read::COMMITTED);
        let groups = transaction.row_groups(data, read).ok()?;
        let mut sample = Self { rows: Vec::new(), runs: None };
        let of = |column: &catalog::ColumnDef| Vector::with_capacity_for(&column.ty);
        let mut vectors: Vec<Vector> = table.columns.iter().map(of).collect();
        let blocks = groups.iter().flat_map(|group| {
            (0..group.rows().div_ceil(BLOCK_ROWS)).map(move |block| (group, block))
        });
        let mut deleted = (None, Vec::new());
        for (group, block) in blocks {
            if deleted.0 != Some(group.id()) {
                // A sample that cannot be read is cut short: the plan is made without it.
                let Ok(rows) = transaction.deleted_rows(data, group.id(), read) else { break };
                deleted = (Some(group.id()), rows);
            }
            for (ordinal, vector) in vectors.iter_mut().enumerate() {
                group.segment(ordinal).block(block, vector);
            }
            let first = block * BLOCK_ROWS;
            let is_live = |row: &usize| {
                u32::try_from(first + row).is_ok_and(|row| deleted.1.binary_search(&row).is_err())
            };
            for row in (0..(group.rows() - first).min(BLOCK_ROWS)).filter(is_live) {
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

    /// Reads runs at places spread over the keys of a range index that begins with an integer
    /// column.
    fn spread(table: &TableDef, transaction: &Transaction) -> Option<Self> {
        let place = table.indexes.iter().position(|i| {
            i.kind == IndexKind::Range
                && i.filter.is_none()
                && i.keys.first().is_some_and(|k| is_whole(table, k.0))
        })?;
        let along = Along::new(table, transaction, place);
        let mut sample = Self { rows: Vec::new(), runs: None };
        let (mut starts, mut last) = (Vec::new(), Vec::new());
        for key in along.places()? {
            // These rows were read already, at the end of the previous run.
            if !starts.is_empty() && key <= last {
                continue;
            }
            let start = sample.rows.len();
            let bounds = Bounds { lower: Bound::Included(&key[..]), upper: Bound::Unbounded };
            sample.read(table, transaction, along.spec(bounds, Order::Forward), RUN_ROWS);
            if let Some(row) = sample.rows[start..].last() {
                starts.push(start);
                last.clear();
                for (ordinal, part) in &along.keys {
                    encode_value(&row[usize::from(*ordinal)], *part, &mut last);
                }
            }
        }
        sample.runs = Some(Runs { index: place, starts });
        Some(sample)
    }

    fn read(
        &mut self,
        table: &TableDef,
        transaction: &Transaction,
        spec: ScanSpec<'_>,
        rows_max: usize,
    ) {
        // A sample that cannot be read is cut short: the plan is made without it.
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
}

/// Access to the keys of a range index.
struct Along<'t> {
    table: &'t TableDef,
    transaction: &'t Transaction,
    index: storage::IndexId,
    /// Ordinals and encodings of its columns.
    keys: Vec<(u16, KeyPart)>,
}

impl<'t> Along<'t> {
    fn new(table: &'t TableDef, transaction: &'t Transaction, place: usize) -> Self {
        let definition = &table.indexes[place];
        let ordinals = definition.keys.iter().map(|k| k.0);
        let keys = ordinals.zip(table.key_parts(place)).collect();
        Self { table, transaction, index: definition.storage_id(), keys }
    }

    fn spec<'k>(&self, bounds: Bounds<'k>, order: Order) -> ScanSpec<'k> {
        ScanSpec { index: Some(self.index), bounds, order, read: Read::COMMITTED }
    }

    /// Returns the keys at which runs begin, in order; `None` if the index does not begin with a
    /// number.
    fn places(&self) -> Option<Vec<Vec<u8>>> {
        let whole = self.ends(0, &[])?;
        let mut places: Vec<Vec<u8>> = if whole.values() < u64::from(PLACES) {
            (0..PLACES).map(|i| self.place_under(i, whole)).collect()
        } else {
            let step = i64::try_from((whole.values() - 1) / u64::from(PLACES)).ok()?.max(1);
            let at = |i: u32| whole.low.saturating_add(step.saturating_mul(i64::from(i)));
            (0..PLACES).map(|i| self.key_at(at(i))).collect::<Option<_>>()?
        };
        places.sort_unstable();
        places.dedup();
        Some(places)
    }

    /// Returns the key of a value of the first column; `None` if the column cannot hold it.
    fn key_at(&self, value: i64) -> Option<Vec<u8>> {
        let mut key = Vec::new();
        self.push(0, value, &mut key)?;
        Some(key)
    }

    /// Returns the key of one of the places: a value for each column up to one with many values.
    fn place_under(&self, i: u32, first: Ends) -> Vec<u8> {
        let (mut key, mut ends) = (Vec::new(), first);
        for column in 0..self.keys.len() {
            let share = match column {
                0 => (u64::from(i) << 32) / u64::from(PLACES),
                _ => {
                    let stride = STRIDES[(column - 1).min(STRIDES.len() - 1)];
                    u64::from(i).wrapping_add(1).wrapping_mul(stride) & u64::from(u32::MAX)
                }
            };
            let is_last = ends.values() >= u64::from(PLACES);
            if self.push(column, ends.at(share), &mut key).is_none() || is_last {
                break;
            }
            let Some(under) = self.ends(column + 1, &key) else { break };
            ends = under;
        }
        key
    }

    /// Appends a value of a column to a key.
    fn push(&self, column: usize, value: i64, key: &mut Vec<u8>) -> Option<()> {
        let (ordinal, part) = *self.keys.get(column)?;
        let value = match self.table.columns[usize::from(ordinal)].ty.data_type {
            DataType::Int => Value::Int(i32::try_from(value).ok()?),
            DataType::BigInt => Value::BigInt(value),
            _ => return None,
        };
        encode_value(&value, part, key);
        Some(())
    }

    /// Returns the minimum and maximum of a column under a key of the columns before it; `None` if
    /// there is no value, or one that is not an integer.
    fn ends(&self, column: usize, under: &[u8]) -> Option<Ends> {
        let (ordinal, _) = *self.keys.get(column)?;
        if !is_whole(self.table, ordinal) {
            return None;
        }
        let end = |order: Order| {
            let bounds = if under.is_empty() { Bounds::ALL } else { Bounds::prefix(under) };
            let mut one = Sample { rows: Vec::new(), runs: None };
            one.read(self.table, self.transaction, self.spec(bounds, order), 1);
            one.rows.first().and_then(|row| whole_of(&row[usize::from(ordinal)]))
        };
        let (a, b) = (end(Order::Forward)?, end(Order::Backward)?);
        Some(Ends { low: a.min(b), high: a.max(b) })
    }
}

/// The minimum and maximum of a column.
#[derive(Clone, Copy)]
struct Ends {
    low: i64,
    high: i64,
}

impl Ends {
    /// Returns the number of values from one to the other, both included.
    fn values(self) -> u64 {
        self.high.abs_diff(self.low).saturating_add(1)
    }

    /// Returns the value at this fraction, in units of 2^-32, above the minimum.
    fn at(self, share: u64) -> i64 {
        let above = (u128::from(self.values()) * u128::from(share)) >> 32;
        self.low.saturating_add(i64::try_from(above).unwrap_or(i64::MAX)).min(self.high)
    }
}

fn is_whole(table: &TableDef, ordinal: u16) -> bool {
    let data_type = table.columns[usize::from(ordinal)].ty.data_type;
    matches!(data_type, DataType::Int | DataType::BigInt)
}

fn whole_of(value: &Value) -> Option<i64> {
    match value {
        Value::Int(n) => Some(i64::from(*n)),
        Value::BigInt(n) => Some(*n),
        _ => None,
    }
}
