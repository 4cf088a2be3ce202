//! The tuple mover: a background task that compresses full delta stores into row groups.
//!
//! The task runs `move_tuples` every few seconds; ALTER INDEX .. REORGANIZE does the same at once.
//! An interrupted move is finished or undone by the next move of that table. Compression locks no
//! rows. Rows move in parts of a few hundred, so that a request that needs one waits for its part
//! at most: see `storage::columnstore`. Trace flag 634 disables the task. Temporary tables, which
//! only their session knows, need REORGANIZE.

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

/// The trace flag that disables the background task.
const FLAG_DISABLED: i32 = 634;
/// Rows between two checks of memory, quantum and cancellation.
const ROWS_PER_CHECK: usize = 4_096;
/// Milliseconds per minute, the unit of COMPRESSION_DELAY.
const MINUTE_MS: u64 = 60_000;
/// Pause between two attempts while another move is in progress.
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// Compresses the closed delta stores of all tables; called by a background task.
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
        // A failed move is repeated at the next pass. No client waits for it, so no error is sent.
        if is_due(table) {
            let _ = compress_closed(&instance.store, table, Trim::Moved, stopping);
        }
        if may_be_covered(table) {
            let _ = cover(&instance.store, table, CLOSED_ROWS, Trim::Moved, stopping);
        }
    }
}

/// Returns true if a table's delta store is full and has been so for COMPRESSION_DELAY.
fn is_due(table: &TableDef) -> bool {
    let (Some(index), Some(store)) = (&table.columnstore, table.rows.data.columnstore()) else {
        return false;
    };
    has_waited(store.note_full(is_closed(table), now_ms()), index.compression_delay)
        || table.rows.data.has_unsettled()
}

/// Returns true if a nonclustered columnstore index has rows for another group: rows that are in no
/// group or whose compressed copy is out of date.
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

/// Returns true if COMPRESSION_DELAY has passed.
fn has_waited(waited_ms: Option<u64>, delay_minutes: i32) -> bool {
    let delay_ms = u64::from(delay_minutes.unsigned_abs()) * MINUTE_MS;
    waited_ms.is_some_and(|waited| waited >= delay_ms)
}

fn now_ms() -> u64 {
    sos::clock::monotonic_ns() / 1_000_000
}

/// Returns true if a delta store has enough rows for a full row group.
pub fn is_closed(table: &TableDef) -> bool {
    usize::try_from(table.rows.data.delta_rows()).is_ok_and(|rows| rows >= GROUP_ROWS_MAX)
}

/// Compresses the closed part of a delta store now, for REORGANIZE; waits for the background task
/// if it is moving rows of this table.
///
/// # Errors
/// [`storage::Error::Cancelled`]; [`storage::Error::OutOfMemory`]; [`storage::Error::Closed`] if
/// the table was redefined since.
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

/// Compresses the full parts of a delta store; `false` if another move is in progress.
fn compress_closed(
    store: &std::sync::Arc<Store>,
    table: &TableDef,
    trim: Trim,
    cancel: &Cancel,
) -> storage::Result<bool> {
    let data = &table.rows.data;
    let Some(columns) = data.columnstore() else { return Ok(true) };
    let Some(_mover) = columns.try_move() else { return Ok(false) };
    // First finishes or undoes a move that was interrupted by a definition or cancellation.
    data.settle_moves(|| {
        sos::sched::yield_if_quantum_due();
        !cancel.is_set()
    })?;
    let mut builder = GroupBuilder::new(columns.columns());
    while is_closed(table) {
        let reader = store.begin(TransactionOptions::STATEMENT);
        let rows = reader.delta_rows(data, GROUP_ROWS_MAX)?;
        if rows.len() < GROUP_ROWS_MAX {
            // The others are not committed, or were deleted after they were counted.
            break;
        }
        let moved = compress(&mut builder, &rows, table, trim, cancel)?;
        if !moved.is_complete || moved.rows == 0 {
            break;
        }
    }
    Ok(true)
}

/// Compresses these rows into one row group.
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

/// Number of rows of a full row group.
pub const CLOSED_ROWS: usize = GROUP_ROWS_MAX;

/// Builds row groups of a nonclustered columnstore index, while at least `rows_min` rows are in
/// none.
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
            // A position without a row repeats the previous row: it compresses well and is never
            // read.
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
            // Another thread has added this group, and continues.
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
