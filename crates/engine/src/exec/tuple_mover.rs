//! The tuple mover: delta stores that are full become row groups, behind the requests' backs.
//!
//! A background task looks every few seconds (`Instance::move_tuples`); ALTER INDEX .. REORGANIZE does the same
//! at once. Compressing owns no row, and rows move in parts of some hundred, so that a request that wants one
//! waits for its part at most: `storage::columnstore` says how. Trace flag 634 keeps the background task from it.
//! Temporary tables, which only their session knows, wait for REORGANIZE.

use std::time::Duration;

use sos::memory;
use sos::park::{self, Cancel};
use sos::wait::WaitType;
use storage::columnstore::{GROUP_ROWS_MAX, GroupBuilder, Moved, Trim};
use storage::{RowRef, Store, TransactionOptions};
use types::Value;

use crate::catalog::{Object, TableDef};
use crate::event::emit;
use crate::instance::Instance;

/// The trace flag that keeps the background task from compressing.
const FLAG_DISABLED: i32 = 634;
/// Rows between two looks at memory and at whether to go on.
const ROWS_PER_CHECK: usize = 4_096;
/// Milliseconds of a minute of COMPRESSION_DELAY.
const MINUTE_MS: u64 = 60_000;
/// Time between two looks at whether another has done moving.
const BUSY_PAUSE: Duration = Duration::from_millis(10);

impl Instance {
    /// Compresses the closed delta stores of all databases' tables; for a background task.
    pub fn move_tuples(&self, stopping: &Cancel) {
        let catalog = self.catalog.load();
        if catalog.trace_flags.contains(&FLAG_DISABLED) {
            return;
        }
        let objects = catalog.databases.values().flat_map(|database| database.objects.values());
        for object in objects {
            let Object::Table(table) = object else { continue };
            if is_due(table) && !stopping.is_set() {
                // What keeps it from moving is looked at again the next time: there is nobody to tell.
                let _ = compress_closed(&self.store, table, Trim::Moved, stopping);
            }
        }
    }
}

/// Tells whether a table's delta store is full, and has been so for as long as its index demands.
fn is_due(table: &TableDef) -> bool {
    let (Some(index), Some(store)) = (&table.columnstore, table.rows.data.columnstore()) else {
        return false;
    };
    let now_ms = sos::clock::monotonic_ns() / 1_000_000;
    let waited_ms = store.note_full(is_closed(table), now_ms);
    let delay_ms = u64::from(index.compression_delay.unsigned_abs()) * MINUTE_MS;
    waited_ms.is_some_and(|waited| waited >= delay_ms)
}

/// Tells whether there are enough rows in a delta store for a row group.
pub(crate) fn is_closed(table: &TableDef) -> bool {
    usize::try_from(table.rows.data.delta_rows()).is_ok_and(|rows| rows >= GROUP_ROWS_MAX)
}

/// Compresses what is closed of a delta store now, for REORGANIZE; waits for the background task if that is at it.
///
/// # Errors
/// [`storage::Error::Cancelled`]; [`storage::Error::OutOfMemory`]; [`storage::Error::Closed`] where the table is
/// redefined meanwhile.
pub(crate) fn reorganize(
    store: &std::sync::Arc<Store>,
    table: &TableDef,
    cancel: &Cancel,
) -> storage::Result<()> {
    while is_closed(table) {
        if compress_closed(store, table, Trim::Reorganize, cancel)? {
            return Ok(());
        }
        park::sleep(BUSY_PAUSE, WaitType::SleepTask, Some(cancel));
        if cancel.is_set() {
            return Err(storage::Error::Cancelled);
        }
    }
    Ok(())
}

/// Makes row groups of full parts of a delta store; `false` if another is at it.
fn compress_closed(
    store: &std::sync::Arc<Store>,
    table: &TableDef,
    trim: Trim,
    cancel: &Cancel,
) -> storage::Result<bool> {
    let data = &table.rows.data;
    let Some(columns) = data.columnstore() else { return Ok(true) };
    let Some(_mover) = columns.try_move() else { return Ok(false) };
    let mut builder = GroupBuilder::new(columns.columns());
    while is_closed(table) {
        let reader = store.begin(TransactionOptions::STATEMENT);
        let rows = reader.delta_rows(data, GROUP_ROWS_MAX)?;
        if rows.len() < GROUP_ROWS_MAX {
            // The others are not committed, or have been deleted since they were counted.
            break;
        }
        let moved = compress(&mut builder, &rows, table, trim, cancel)?;
        if !moved.is_complete || moved.rows == 0 {
            break;
        }
    }
    Ok(true)
}

/// Makes one row group of these rows.
fn compress(
    builder: &mut GroupBuilder,
    rows: &[RowRef<'_>],
    table: &TableDef,
    trim: Trim,
    cancel: &Cancel,
) -> storage::Result<Moved> {
    let watched = emit::columnstore::moving_begins(table, rows.len());
    builder.clear();
    let mut values = Vec::with_capacity(table.columns.len());
    for (number, row) in rows.iter().enumerate() {
        if number.is_multiple_of(ROWS_PER_CHECK) {
            memory::check().map_err(|_| storage::Error::OutOfMemory)?;
            sos::sched::yield_if_quantum_due();
            if cancel.is_set() {
                return Err(storage::Error::Cancelled);
            }
        }
        let image = row.image();
        let view = table.layout.view(image.bytes, image.blobs);
        values.clear();
        values.extend((0..table.columns.len()).map(|ordinal| view.get(ordinal)));
        builder.push(&values as &[Value]);
    }
    let segments = builder.finish().expect("a table's columns are of types that segments hold");
    let moved = table.rows.data.move_rows(rows, &segments, trim, || {
        sos::sched::yield_if_quantum_due();
        !cancel.is_set()
    })?;
    let bytes = segments.iter().map(|segment| segment.len()).sum();
    emit::columnstore::moving_ends(&watched, table, &moved, bytes);
    Ok(moved)
}
