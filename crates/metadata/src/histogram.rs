//! The histogram of a column, counted from all rows when a view asks: what `DBCC SHOW_STATISTICS`
//! shows. Plans use smaller samples (crate `optimizer`).

use std::collections::BTreeMap;
use std::sync::Arc;

use ::types::batch::Vector;
use ::types::key::encode_value;
use ::types::{Error, Msg, Value};
use sos::park::Cancel;
use storage::columnstore::BLOCK_ROWS;
use storage::{Bounds, Order, Read, ScanSpec, Store, TransactionOptions};

use ::catalog::IndexFilter;
use ::catalog::TableDef;
use ::catalog::table::key_part;
use ::session::stop::cancelled;

/// Rows that are read between two looks at memory, the quantum and cancellation.
const BATCH: usize = 1_024;
/// Most steps of a histogram after the first, which is the least value alone.
const STEPS_MAX: u64 = 199;

/// The values of a column and how many rows have each, in their order.
type Counted = BTreeMap<Vec<u8>, (Value, u64)>;

/// A step of a histogram: a value, and what is between it and the value of the step before.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// `range_high_key`: the value itself.
    pub key: Value,
    /// `equal_rows`: rows that have the value.
    pub equal_rows: u64,
    /// `range_rows`: rows in between.
    pub range_rows: u64,
    /// `distinct_range_rows`: different values in between.
    pub distinct_rows: u64,
}

/// The column whose values are counted.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The table whose rows are counted.
    pub table: &'a TableDef,
    /// Ordinal of the column whose values are counted.
    pub column: usize,
    /// The filter of a filtered index.
    pub filter: Option<&'a IndexFilter>,
}

/// Counts the committed rows of a table by the values of a column, and returns the steps.
///
/// # Errors
/// 701 if the values do not fit in memory; the error of a cancelled statement.
pub fn histogram(
    subject: &Subject<'_>,
    store: &Arc<Store>,
    cancel: &Cancel,
) -> ::types::Result<Vec<Step>> {
    let counted = count(subject, store, cancel)?;
    Ok(steps(counted.into_values().collect()))
}

fn count(subject: &Subject<'_>, store: &Arc<Store>, cancel: &Cancel) -> ::types::Result<Counted> {
    let Subject { table, column, filter } = *subject;
    let mut counted = Counted::new();
    let part = key_part(&table.columns[column], false);
    let mut key = Vec::new();
    let mut add = |value: Value| {
        key.clear();
        encode_value(&value, part, &mut key);
        match counted.get_mut(&key) {
            Some((_, rows)) => *rows += 1,
            None => drop(counted.insert(key.clone(), (value, 1))),
        }
    };
    let reader = store.begin(TransactionOptions::STATEMENT);
    let read = Read::COMMITTED;
    let spec = ScanSpec { index: None, bounds: Bounds::ALL, order: Order::Forward, read };
    let mut scan = reader.scan(&table.rows.data, spec).map_err(not_read)?;
    let mut images = Vec::with_capacity(BATCH);
    loop {
        check(cancel)?;
        images.clear();
        scan.next_images(&mut images, BATCH).map_err(not_read)?;
        if images.is_empty() {
            break;
        }
        for image in &images {
            let view = table.layout.view(image.bytes, image.blobs);
            if filter.is_none_or(|filter| filter.admits(&view)) {
                add(view.get(column));
            }
        }
    }
    for group in reader.row_groups(&table.rows.data, read).map_err(not_read)? {
        let deleted = reader.deleted_rows(&table.rows.data, group.id(), read);
        let mut deleted = deleted.map_err(not_read)?;
        deleted.sort_unstable();
        let segment = group.segment(column);
        let mut values = Vector::of_type(&table.columns[column].ty.data_type);
        for block in 0..segment.blocks() {
            check(cancel)?;
            values.clear();
            segment.block(block, &mut values);
            for at in 0..values.len() {
                let row = u32::try_from(block * BLOCK_ROWS + at).unwrap_or(u32::MAX);
                if deleted.binary_search(&row).is_err() {
                    add(values.get(at));
                }
            }
        }
    }
    Ok(counted)
}

/// Lets others run, and ends a request that is cancelled or has no memory left.
fn check(cancel: &Cancel) -> ::types::Result<()> {
    sos::sched::yield_if_quantum_due();
    if cancel.is_set() {
        return Err(cancelled());
    }
    sos::memory::check().map_err(|_| Msg::OutOfMemory.into())
}

/// Returns the error of a table that can't be read: lack of memory as such, another if it is being replaced.
pub(crate) fn not_read(error: storage::Error) -> Error {
    let other =
        |error: storage::Error| Error::custom(::session::stop::INTERNAL, 16, 1, error.to_string());
    error.into_message(0).unwrap_or_else(other)
}

/// Divides values into steps: one for each if they are few, else of equal numbers of rows.
fn steps(values: Vec<(Value, u64)>) -> Vec<Step> {
    let total: u64 = values.iter().map(|(_, rows)| rows).sum();
    let is_few = u64::try_from(values.len()).is_ok_and(|count| count <= STEPS_MAX);
    let mut steps: Vec<(u64, Step)> = Vec::new();
    let mut upto = 0;
    for (place, (key, rows)) in (0..).zip(values) {
        upto += rows;
        let number = match (is_few, place) {
            (true, place) => place,
            (false, 0) => 0,
            (false, _) => 1 + (upto - 1) * STEPS_MAX / total,
        };
        match steps.last_mut() {
            // The value that was the step's last one is in between now.
            Some((last, step)) if *last == number => {
                step.range_rows += step.equal_rows;
                step.distinct_rows += 1;
                (step.key, step.equal_rows) = (key, rows);
            }
            _ => {
                let step = Step { key, equal_rows: rows, range_rows: 0, distinct_rows: 0 };
                steps.push((number, step));
            }
        }
    }
    steps.into_iter().map(|(_, step)| step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(rows: &[u64]) -> Vec<(Value, u64)> {
        (0..).zip(rows).map(|(number, rows)| (Value::Int(number), *rows)).collect()
    }

    #[test]
    fn few_values_have_a_step_each() {
        let steps = steps(values(&[3, 1, 7]));
        let rows: Vec<_> = steps.iter().map(|s| (s.equal_rows, s.range_rows)).collect();
        assert_eq!(rows, [(3, 0), (1, 0), (7, 0)]);
    }

    #[test]
    fn many_values_share_at_most_two_hundred_steps_that_lose_no_row() {
        let rows: Vec<u64> = (0..5_000).map(|n| 1 + n % 7).collect();
        let found = steps(values(&rows));
        assert!(found.len() <= 200 && found.len() > 150, "{}", found.len());
        let all: u64 = found.iter().map(|s| s.equal_rows + s.range_rows).sum();
        assert_eq!(all, rows.iter().sum::<u64>());
        let distinct: u64 = found.iter().map(|s| 1 + s.distinct_rows).sum();
        assert_eq!(distinct, 5_000);
        assert_eq!((&found[0].key, found[0].range_rows), (&Value::Int(0), 0));
        assert_eq!(found.last().map(|s| &s.key), Some(&Value::Int(4_999)));
    }
}
