//! The tuple mover: delta stores that are full become row groups, behind the requests' backs.
//!
//! A background task looks every few seconds (`move_tuples`); ALTER INDEX .. REORGANIZE does the same
//! at once. A move that ends half-way is settled by whoever has the right to move next. Compressing owns no row, and rows move in parts of some hundred, so that a request that wants one
//! waits for its part at most: `storage::columnstore` says how. Trace flag 634 keeps the background task from it.
//! Temporary tables, which only their session knows, wait for REORGANIZE.

use std::time::Duration;

use sos::memory;
use sos::park::{self, Cancel};
use sos::wait::WaitType;
use storage::columnstore::{GROUP_ROWS_MAX, GroupBuilder, Moved, Trim};
use storage::{RowRef, Store, TransactionOptions};
use types::Value;

use catalog::{Object, TableDef};
use session::event::emit;
use session::instance::Instance;

/// The trace flag that keeps the background task from compressing.
const FLAG_DISABLED: i32 = 634;
/// Rows between two looks at memory and at whether to go on.
const ROWS_PER_CHECK: usize = 4_096;
/// Milliseconds of a minute of COMPRESSION_DELAY.
const MINUTE_MS: u64 = 60_000;
/// Time between two looks at whether another has done moving.
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// Compresses the closed delta stores of all databases' tables; for a background task.
pub fn move_tuples(instance: &Instance, stopping: &Cancel) {
    let catalog = instance.catalog.load();
    if catalog.trace_flags.contains(&FLAG_DISABLED) {
        return;
    }
    let objects = catalog.databases.values().flat_map(|database| database.objects.values());
    for object in objects {
        let Object::Table(table) = object else { continue };
        if stopping.is_set() {
            return;
        }
        // A move that fails is tried again at the next pass. No client waits for it, so no error is sent.
        if is_due(table) {
            let _ = compress_closed(&instance.store, table, Trim::Moved, stopping);
        }
        if may_be_covered(table) {
            let _ = cover(&instance.store, table, CLOSED_ROWS, Trim::Moved, stopping);
        }
    }
}

/// Tells whether a table's delta store is full, and has been so for as long as its index demands.
fn is_due(table: &TableDef) -> bool {
    let (Some(index), Some(store)) = (&table.columnstore, table.rows.data.columnstore()) else {
        return false;
    };
    has_waited(store.note_full(is_closed(table), now_ms()), index.compression_delay)
        || table.rows.data.has_unsettled()
}

/// Tells whether rows may be enough for another group of a nonclustered columnstore index: more than those that its
/// groups have places for, or places that are worn.
fn may_be_covered(table: &TableDef) -> bool {
    let Some(index) = &table.column_index else { return false };
    let data = &table.rows.data;
    let groups = match data.has_column_index(index.storage_id) {
        true => data.column_groups().unwrap_or_default(),
        false => Vec::new(),
    };
    let clean: usize = groups.iter().map(|group| group.clean).sum();
    let rows = usize::try_from(data.row_count()).unwrap_or(usize::MAX);
    let are_enough = rows.saturating_sub(clean) >= CLOSED_ROWS;
    has_waited(data.note_loose(are_enough, now_ms()), index.compression_delay)
}

/// Tells whether as much time has passed as COMPRESSION_DELAY demands.
fn has_waited(waited_ms: Option<u64>, delay_minutes: i32) -> bool {
    let delay_ms = u64::from(delay_minutes.unsigned_abs()) * MINUTE_MS;
    waited_ms.is_some_and(|waited| waited >= delay_ms)
}

fn now_ms() -> u64 {
    sos::clock::monotonic_ns() / 1_000_000
}

/// Tells whether there are enough rows in a delta store for a row group.
pub fn is_closed(table: &TableDef) -> bool {
    usize::try_from(table.rows.data.delta_rows()).is_ok_and(|rows| rows >= GROUP_ROWS_MAX)
}

/// Compresses what is closed of a delta store now, for REORGANIZE; waits for the background task if that is at it.
///
/// # Errors
/// [`storage::Error::Cancelled`]; [`storage::Error::OutOfMemory`]; [`storage::Error::Closed`] where the table is
/// redefined meanwhile.
pub fn reorganize(
    store: &std::sync::Arc<Store>,
    table: &TableDef,
    cancel: &Cancel,
) -> storage::Result<()> {
    while is_closed(table) || table.rows.data.has_unsettled() {
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
    // What was given up half-way, when the table was redefined or somebody cancelled, is put in order first.
    data.settle_moves(|| {
        sos::sched::yield_if_quantum_due();
        !cancel.is_set()
    })?;
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
        check_row(number, cancel)?;
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

/// Rows from which a row group is full.
pub const CLOSED_ROWS: usize = GROUP_ROWS_MAX;

/// Makes row groups of a nonclustered columnstore index, as long as so many rows are in none.
///
/// # Errors
/// As [`reorganize`].
pub fn cover(
    store: &std::sync::Arc<Store>,
    table: &TableDef,
    rows_min: usize,
    trim: Trim,
    cancel: &Cancel,
) -> storage::Result<()> {
    let Some(index) = &table.column_index else { return Ok(()) };
    let data = &table.rows.data;
    if !data.has_column_index(index.storage_id) {
        data.add_column_index(index.storage_id);
    }
    data.shed_column_groups();
    let of = |ordinal: &u16| table.columns[usize::from(*ordinal)].ty;
    let types: Vec<_> = index.columns.iter().map(of).collect();
    let mut builder = GroupBuilder::new(&types);
    loop {
        let reader = store.begin(TransactionOptions::STATEMENT);
        let Some(loose) = reader.loose_rows(data, index.storage_id, rows_min)? else {
            return Ok(());
        };
        builder.clear();
        let mut values = vec![Value::Null; index.columns.len()];
        for (number, image) in loose.images().enumerate() {
            check_row(number, cancel)?;
            // Where there is no row, the one before serves: it is as short as any, and nobody reads it.
            if let Some(image) = image {
                let view = table.layout.view(image.bytes, image.blobs);
                let ordinals = index.columns.iter().map(|ordinal| usize::from(*ordinal));
                values.clear();
                values.extend(ordinals.map(|ordinal| view.get(ordinal)));
            }
            builder.push(&values);
        }
        let segments =
            builder.finish().expect("an index's columns are of types that segments hold");
        if !data.add_column_group(&loose, segments, trim)? {
            // Another has been faster, and goes on.
            return Ok(());
        }
    }
}

fn check_row(number: usize, cancel: &Cancel) -> storage::Result<()> {
    if !number.is_multiple_of(ROWS_PER_CHECK) {
        return Ok(());
    }
    memory::check().map_err(|_| storage::Error::OutOfMemory)?;
    sos::sched::yield_if_quantum_due();
    if cancel.is_set() { Err(storage::Error::Cancelled) } else { Ok(()) }
}
