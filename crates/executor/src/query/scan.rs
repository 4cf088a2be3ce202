//! Table scans and seeks: over all rows, by hash key, by range.

use std::ops::Bound;

use sos::ledger::{self, Label};
use storage::columnstore::ColumnView;
use storage::{
    Bounds, Claim, Hold, Isolation, Opening, Order, Read, RowImage, RowLock, RowRef, ScanSpec,
    Table, WhenOwned,
};
use types::batch::Vector;
use types::key::{KeyPart, encode_start, encode_value};
use types::{Msg, Result, Value};

use super::sample::Sampling;
use super::{Current, Flow, Receive, Rows};
use crate::columnstore::Blocks;
use crate::eval::{eval, in_place, truth};
use crate::{Cx, fault};
use catalog::{ColumnIndexDef, TableDef};
use plan::expr::{Expr, Register};
use plan::query::{Access, Point, Scan, ScanHints, TableSource, Versions, Whole};
use plan::statement::table_of;
use session::IsolationLevel;

/// Rows between two updates of the counts of reads.
const ROWS_PER_NOTE: u32 = 256;

pub(super) fn run<'p>(
    scan: &'p Scan,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let _label = ledger::labelled(Label::Scan);
    let definition = table_of(&scan.table);
    let read = read_mode(definition, scan.hints, cx)?;
    let late = late_lock(scan, read, cx);
    let read = Read { lock: late.map_or(read.lock, |(first, _)| first), ..read };
    hold_whole(scan, cx, rows)?;
    let table = data_of(scan, rows);
    if let Access::Points { index, .. } = &scan.access {
        let index = Some(definition.indexes[usize::from(*index)].storage_id());
        for key in encode_points(scan, definition, cx)? {
            let bounds = Bounds::prefix(&key);
            let spec = ScanSpec { index, bounds, order: Order::Forward, read };
            if walk(scan, definition, table, spec, cx, rows, receive)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        return Ok(Flow::More);
    }
    let mut lower = std::mem::take(&mut cx.scratch.key);
    let mut upper = Vec::new();
    let found = encode_access(scan, definition, cx, &mut lower, &mut upper);
    let flow = match found {
        Ok(Some(path)) => {
            let spec = path.spec(&lower, &upper, read);
            match &scan.access {
                Access::Seek { index, .. } if definition.indexes[usize::from(*index)].unique => {
                    one(scan, definition, table, spec, &lower, cx, rows, receive)
                }
                Access::Seek { .. }
                | Access::Range { .. }
                | Access::Points { .. }
                | Access::Full => walk(scan, definition, table, spec, cx, rows, receive),
            }
        }
        Ok(None) => Ok(Flow::More),
        Err(error) => Err(error),
    };
    cx.scratch.key = lower;
    flow
}

/// Returns the stored rows that a scan reads.
pub fn data_of<'p>(scan: &'p Scan, rows: &Rows<'p>) -> &'p Table {
    match &scan.table {
        TableSource::Variable(slot, _) => &rows.tables[*slot as usize].data,
        TableSource::Table(table) | TableSource::Trigger(_, table) => &table.rows.data,
    }
}

/// Opens storage's cursor over the rows of a scan; `None` if no row can match.
///
/// # Errors
/// The errors of the key's expressions, 41368, and the errors of storage.
pub fn open<'p>(scan: &'p Scan, cx: &mut Cx<'_>, rows: &Rows<'p>) -> Result<Option<Cursor<'p>>> {
    let definition = table_of(&scan.table);
    let read = read_mode(definition, scan.hints, cx)?;
    hold_whole(scan, cx, rows)?;
    let (transaction, data) = (rows.transaction, data_of(scan, rows));
    if let Access::Points { index, .. } = &scan.access {
        let index = definition.indexes[usize::from(*index)].storage_id();
        let keys = encode_points(scan, definition, cx)?.into_iter();
        return Ok(Some(Cursor {
            current: None,
            keys,
            index: Some(index),
            transaction,
            opening: opening_of(scan, definition),
            data,
            read,
        }));
    }
    let mut lower = std::mem::take(&mut cx.scratch.key);
    let mut upper = Vec::new();
    let path = encode_access(scan, definition, cx, &mut lower, &mut upper);
    let cursor = path.and_then(|path| {
        let Some(path) = path else { return Ok(None) };
        let spec = path.spec(&lower, &upper, read);
        let current = transaction.scan(data, spec).map_err(|e| fault::raise(cx, e))?;
        let keys = Vec::new().into_iter();
        let opening = opening_of(scan, definition);
        let current = Some(current.counted(opening));
        Ok(Some(Cursor { current, keys, index: None, transaction, opening, data, read }))
    });
    cx.scratch.key = lower;
    cursor
}

/// The rows of a scan: storage's cursor, or one after the other for several seeks.
pub struct Cursor<'p> {
    current: Option<storage::Scan<'p>>,
    /// Keys that are still to be sought.
    keys: std::vec::IntoIter<Vec<u8>>,
    index: Option<storage::IndexId>,
    transaction: &'p storage::Transaction,
    opening: Opening,
    data: &'p Table,
    read: Read,
}

impl<'p> Cursor<'p> {
    /// Returns storage's cursor over all rows; `None` for several seeks.
    pub fn whole(&mut self) -> Option<&mut storage::Scan<'p>> {
        if self.index.is_some() { None } else { self.current.as_mut() }
    }

    /// Appends the next rows to `images` until it has `images_max` of them; appends nothing only at
    /// the end.
    ///
    /// # Errors
    /// The errors of storage; the rows before the failing one are in `images`.
    pub fn next_images(
        &mut self,
        images: &mut Vec<RowImage<'p>>,
        images_max: usize,
    ) -> storage::Result<()> {
        loop {
            if let Some(current) = &mut self.current {
                current.next_images(images, images_max)?;
            }
            if images.len() >= images_max {
                return Ok(());
            }
            let Some(key) = self.keys.next() else { return Ok(()) };
            let bounds = Bounds::prefix(&key);
            let spec =
                ScanSpec { index: self.index, bounds, order: Order::Forward, read: self.read };
            self.current = Some(self.transaction.scan(self.data, spec)?.counted(self.opening));
        }
    }
}

/// Returns as what a seek or scan counts: a look-up if it has a value for each column of the key.
fn opening_of(scan: &Scan, definition: &TableDef) -> Opening {
    match &scan.access {
        Access::Seek { .. } => Opening::Key,
        Access::Points { index, prefix, .. }
            if prefix.len() + 1 == definition.key_parts(usize::from(*index)).count() =>
        {
            Opening::Key
        }
        Access::Points { .. } | Access::Range { .. } | Access::Full => Opening::Range,
    }
}

/// Encodes the keys of several seeks, each once and in key order.
fn encode_points(scan: &Scan, definition: &TableDef, cx: &mut Cx<'_>) -> Result<Vec<Vec<u8>>> {
    let Access::Points { index, prefix, points } = &scan.access else { return Ok(Vec::new()) };
    let place = usize::from(*index);
    let mut before = Vec::new();
    if !encode_seek_key(definition, place, prefix, cx, &mut before)? {
        return Ok(Vec::new());
    }
    let part = definition.key_parts(place).nth(prefix.len());
    let part = part.ok_or_else(|| types::Error::from(Msg::InternalError))?;
    let mut keys = Vec::with_capacity(points.len());
    for point in points {
        let value = point.expr().map(|expr| eval(expr, cx)).transpose()?;
        let mut key = before.clone();
        match (point, value) {
            (Point::Null, _) => encode_value(&Value::Null, part, &mut key),
            (_, None | Some(Value::Null)) => continue,
            (Point::Equal(_), Some(value)) => encode_value(&value, part, &mut key),
            (Point::Starts(_), Some(value)) => encode_start(&value, part, &mut key),
        }
        keys.push(key);
    }
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

/// Returns true if a scan only reads: it locks no rows, has no TABLESAMPLE, and its reads are not
/// validated later.
///
/// # Errors
/// 41368, as for the scan itself.
pub fn only_looks(scan: &Scan, cx: &Cx<'_>) -> Result<bool> {
    let read = read_mode(table_of(&scan.table), scan.hints, cx)?;
    let is_whole = scan.hints.sample.is_none();
    let looks = matches!(read.lock, RowLock::None | RowLock::Dirty);
    Ok(is_whole && looks && read.isolation <= Isolation::Snapshot)
}

/// Reads the one row with a complete unique key.
#[expect(clippy::too_many_arguments, reason = "a look-up and all it touches")]
fn one<'p>(
    scan: &'p Scan,
    definition: &'p TableDef,
    table: &'p Table,
    spec: ScanSpec<'_>,
    key: &[u8],
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let Some(index) = spec.index else { return Ok(Flow::More) };
    let found = rows.transaction.get(table, index, key, spec.read);
    let Some(row) = found.map_err(|e| fault::raise(cx, e))? else { return Ok(Flow::More) };
    if Sampling::of(scan, table, cx).is_some_and(|sample| !sample.takes(row.id())) {
        return Ok(Flow::More);
    }
    note_reads(scan, 1, cx);
    load(&scan.columns, definition, row.image(), &mut cx.registers);
    if let Some(residual) = &scan.residual
        && !truth(residual, cx)?.is_true()
    {
        return Ok(Flow::More);
    }
    let Some(row) = take_late(scan, definition, row, cx, rows)? else { return Ok(Flow::More) };
    rows.set(scan.row, Some(Current::Row(row)));
    receive(cx, rows)
}

/// Returns how a scan with a lock hint first reads its rows, if it locks only those that satisfy
/// its predicate: a reader of a queue must not lock the messages that other sessions process. SQL
/// Server does the same below SERIALIZABLE.
fn late_lock(scan: &Scan, read: Read, cx: &Cx<'_>) -> Option<(RowLock, WhenOwned)> {
    // XLOCK conflicts with readers too: it is taken on every row that is read.
    let RowLock::Update(when_owned) = read.lock else { return None };
    let whole = scan.residual.is_none() && !is_picked(scan, cx);
    if whole || read.isolation > Isolation::Snapshot {
        return None;
    }
    let first = if when_owned == WhenOwned::Skip { RowLock::Past } else { RowLock::None };
    Some((first, when_owned))
}

/// Returns whether the rows are claimed for the statement alone, since it picks among them.
fn is_picked(scan: &Scan, cx: &Cx<'_>) -> bool {
    scan.hints.picked && !scan.hints.exclusive && !cx.picking.reads()
}

/// Locks a row that satisfies the predicate; `None` if it was deleted, or no longer satisfies it.
fn take_late<'p>(
    scan: &'p Scan,
    definition: &TableDef,
    row: RowRef<'p>,
    cx: &mut Cx<'_>,
    rows: &Rows<'p>,
) -> Result<Option<RowRef<'p>>> {
    if !scan.hints.exclusive && !is_picked(scan, cx) {
        return Ok(Some(row));
    }
    let read = read_mode(definition, scan.hints, cx)?;
    let Some((_, when_owned)) = late_lock(scan, read, cx) else { return Ok(Some(row)) };
    if scan.hints.exclusive && when_owned != WhenOwned::Skip {
        rows.transaction.keep_locks();
    }
    let claimed = rows.transaction.claim(row, when_owned).map_err(|e| fault::raise(cx, e))?;
    match claimed {
        Claim::Current(row) => Ok(Some(row)),
        Claim::Changed(row) => {
            load(&scan.columns, definition, row.image(), &mut cx.registers);
            let predicate = scan.predicate.as_ref().or(scan.residual.as_ref());
            let still = predicate.map_or(Ok(true), |p| truth(p, cx).map(|t| t.is_true()))?;
            Ok(still.then_some(row))
        }
        Claim::Gone | Claim::Skipped => Ok(None),
    }
}

/// Reads the rows of an access path; those that were read before an error count, too.
#[expect(clippy::too_many_arguments, reason = "a scan and all it touches")]
fn walk<'p>(
    scan: &'p Scan,
    definition: &'p TableDef,
    table: &'p Table,
    spec: ScanSpec<'_>,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let (read, mut unnoted) = (spec.read, 0);
    let walked = walk_rows(scan, definition, table, spec, (cx, &mut unnoted), rows, receive);
    note_reads(scan, unnoted, cx);
    let flow = walked?;
    if flow == Flow::More && definition.columnstore.is_some() {
        return walk_blocks(scan, definition, table, read, cx, rows, receive);
    }
    Ok(flow)
}

#[expect(clippy::too_many_arguments, reason = "the inner loop of a scan and all it touches")]
fn walk_rows<'p>(
    scan: &'p Scan,
    definition: &'p TableDef,
    table: &'p Table,
    spec: ScanSpec<'_>,
    (cx, unnoted): (&mut Cx<'_>, &mut u32),
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let cursor = rows.transaction.scan(table, spec).map_err(|e| fault::raise(cx, e))?;
    let mut cursor = cursor.counted(opening_of(scan, definition));
    let sample = Sampling::of(scan, table, cx);
    while let Some(row) = cursor.next().map_err(|e| fault::raise(cx, e))? {
        fault::row_passed(cx)?;
        if sample.is_some_and(|sample| !sample.takes(row.id())) {
            continue;
        }
        *unnoted += 1;
        if *unnoted == ROWS_PER_NOTE {
            *unnoted = 0;
            note_reads(scan, ROWS_PER_NOTE, cx);
        }
        load(&scan.columns, definition, row.image(), &mut cx.registers);
        if let Some(residual) = &scan.residual
            && !truth(residual, cx)?.is_true()
        {
            continue;
        }
        let Some(row) = take_late(scan, definition, row, cx, rows)? else { continue };
        rows.set(scan.row, Some(Current::Row(row)));
        if receive(cx, rows)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}

/// Reads the compressed rows of a table, after those of its delta store.
#[expect(clippy::too_many_arguments, reason = "the inner loop of a scan and all it touches")]
fn walk_blocks<'p>(
    scan: &'p Scan,
    definition: &'p TableDef,
    table: &'p Table,
    read: Read,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let opened = Blocks::open(rows.transaction, table, read);
    let mut blocks = opened.map_err(|e| fault::raise(cx, e))?;
    blocks.skip(scan, cx);
    let sample = Sampling::of(scan, table, cx);
    let of = |ordinal: u16| Vector::with_capacity_for(&definition.columns[usize::from(ordinal)].ty);
    let mut vectors: Vec<Vector> = scan.columns.iter().map(|column| of(column.0)).collect();
    while let Some(block) = blocks.next_block().map_err(|e| fault::raise(cx, e))? {
        for ((ordinal, _), vector) in scan.columns.iter().zip(&mut vectors) {
            block.read(usize::from(*ordinal), vector);
        }
        note_reads(scan, u32::try_from(block.live.len()).unwrap_or(u32::MAX), cx);
        for row in block.live.iter() {
            fault::row_passed(cx)?;
            if sample.is_some_and(|sample| !sample.takes_compressed(block.place(row))) {
                continue;
            }
            for ((_, register), vector) in scan.columns.iter().zip(&vectors) {
                cx.registers[register.index()] = vector.get(row);
            }
            if let Some(residual) = &scan.residual
                && !truth(residual, cx)?.is_true()
            {
                continue;
            }
            rows.set(scan.row, Some(Current::Compressed(block.place(row))));
            if receive(cx, rows)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
    }
    Ok(Flow::More)
}

/// Returns the nonclustered columnstore index's data for a scan that only reads; `None` if the scan
/// reads a column that the index lacks, or the index has no data for this statement.
///
/// # Errors
/// As [`open`].
pub fn column_view<'p>(
    scan: &'p Scan,
    cx: &Cx<'_>,
    rows: &Rows<'p>,
) -> Result<Option<&'p ColumnView>> {
    let (Some(index), TableSource::Table(table)) = (column_index(scan), &scan.table) else {
        return Ok(None);
    };
    let read = read_mode(table, scan.hints, cx)?;
    let (data, index) = (&*table.rows.data, index.storage_id);
    Ok(rows.transaction.column_view(data, index, read.isolation))
}

/// Returns the nonclustered columnstore index that has all columns of a full scan.
pub fn column_index(scan: &Scan) -> Option<&ColumnIndexDef> {
    let TableSource::Table(table) = &scan.table else { return None };
    let index = table.column_index.as_ref()?;
    let is_whole = matches!(scan.access, Access::Full) && scan.hints.sample.is_none();
    (is_whole && index.covers(scan.columns.iter().map(|column| column.0))).then_some(index)
}

/// Opens the row groups of a nonclustered columnstore index, for rows that the scan's cursor skips.
pub fn index_blocks<'p>(
    scan: &'p Scan,
    view: &'p ColumnView,
    cx: &Cx<'_>,
    rows: &Rows<'p>,
) -> Option<Blocks<'p>> {
    let columns = &column_index(scan)?.columns;
    let mut blocks = Blocks::of_index(rows.transaction, data_of(scan, rows), view, columns);
    blocks.skip(scan, cx);
    Some(blocks)
}

/// Opens the compressed rows of a scan's table; `None` if it has no clustered columnstore index.
///
/// # Errors
/// As [`open`].
pub fn blocks<'p>(scan: &'p Scan, cx: &mut Cx<'_>, rows: &Rows<'p>) -> Result<Option<Blocks<'p>>> {
    let definition = table_of(&scan.table);
    if definition.columnstore.is_none() {
        return Ok(None);
    }
    let read = read_mode(definition, scan.hints, cx)?;
    let opened = Blocks::open(rows.transaction, data_of(scan, rows), read);
    let mut blocks = opened.map_err(|e| fault::raise(cx, e))?;
    blocks.skip(scan, cx);
    Ok(Some(blocks))
}

/// Counts the rows that storage returned: every [`ROWS_PER_NOTE`] rows and at the end of the scan, so
/// that a single row costs nothing.
fn note_reads(scan: &Scan, rows: u32, cx: &mut Cx<'_>) {
    cx.count_reads(scan, u64::from(rows));
}

/// Decodes the columns that a scan needs into their registers.
pub fn load(
    columns: &[(u16, Register)],
    definition: &TableDef,
    image: RowImage<'_>,
    registers: &mut [Value],
) {
    let view = definition.layout.view(image.bytes, image.blobs);
    for (ordinal, register) in columns {
        registers[register.index()] = view.get(usize::from(*ordinal));
    }
}

/// The encoded access path of a scan; the bounds are in two key buffers.
struct Path {
    index: Option<storage::IndexId>,
    lower: End,
    upper: End,
    order: Order,
}

/// One end of a key range.
#[derive(Clone, Copy)]
enum End {
    Open,
    Included,
    Excluded,
    /// The upper end is this many bytes of the lower buffer: a prefix.
    Prefix(usize),
}

impl Path {
    fn spec<'k>(&self, lower: &'k [u8], upper: &'k [u8], read: Read) -> ScanSpec<'k> {
        let bound = |end: End, key: &'k [u8]| match end {
            End::Open => Bound::Unbounded,
            End::Included => Bound::Included(key),
            End::Excluded => Bound::Excluded(key),
            End::Prefix(length) => Bound::Included(&lower[..length]),
        };
        let bounds = Bounds { lower: bound(self.lower, lower), upper: bound(self.upper, upper) };
        ScanSpec { index: self.index, bounds, order: self.order, read }
    }
}

/// Encodes the keys of an access path; `None` if no row can match.
fn encode_access(
    scan: &Scan,
    definition: &TableDef,
    cx: &mut Cx<'_>,
    lower: &mut Vec<u8>,
    upper: &mut Vec<u8>,
) -> Result<Option<Path>> {
    let all = Path { index: None, lower: End::Open, upper: End::Open, order: Order::Forward };
    match &scan.access {
        // Several keys: see `encode_points`.
        Access::Points { .. } => Err(Msg::InternalError.into()),
        Access::Full => Ok(Some(all)),
        Access::Seek { index, key } => {
            let place = usize::from(*index);
            if !encode_seek_key(definition, place, key, cx, lower)? {
                return Ok(None);
            }
            let index = Some(definition.indexes[place].storage_id());
            let upper = End::Prefix(lower.len());
            Ok(Some(Path { index, lower: End::Included, upper, order: Order::Forward }))
        }
        Access::Range { index, prefix, lower: low, upper: high, backward } => {
            let place = usize::from(*index);
            let order = if *backward { Order::Backward } else { Order::Forward };
            let index = Some(definition.indexes[place].storage_id());
            if !encode_seek_key(definition, place, prefix, cx, lower)? {
                return Ok(None);
            }
            let path = Path { index, order, ..all };
            let part = definition.key_parts(place).nth(prefix.len());
            let bounds = [low.as_ref(), high.as_ref()];
            encode_bounds(bounds, part, path, cx, lower, upper)
        }
    }
}

/// Encodes the bounds that follow the prefix in `lower`.
fn encode_bounds(
    [low, high]: [Option<&(Expr, bool)>; 2],
    part: Option<KeyPart>,
    mut path: Path,
    cx: &mut Cx<'_>,
    lower: &mut Vec<u8>,
    upper: &mut Vec<u8>,
) -> Result<Option<Path>> {
    let prefix = lower.len();
    if prefix > 0 {
        path.lower = End::Included;
        path.upper = End::Prefix(prefix);
    }
    let Some(part) = part.filter(|_| low.is_some() || high.is_some()) else {
        return Ok(Some(path));
    };
    upper.extend_from_slice(lower);
    let ascending = part.direction == types::key::Direction::Ascending;
    for (bound, key, end) in [(low, &mut *lower, &mut path.lower), (high, upper, &mut path.upper)] {
        let Some((expr, inclusive)) = bound else { continue };
        let value = eval(expr, cx)?;
        if value.is_null() {
            return Ok(None);
        }
        encode_value(&value, part, key);
        *end = if *inclusive { End::Included } else { End::Excluded };
    }
    // A comparison with NULL is never true; NULL sorts at the low end of an ascending column.
    if low.is_none() && ascending {
        encode_value(&Value::Null, part, lower);
        path.lower = End::Excluded;
    }
    if high.is_none() && !ascending {
        encode_value(&Value::Null, part, upper);
        path.upper = End::Excluded;
    }
    Ok(Some(path))
}

/// Encodes the leading key columns of an index into `out`; `false` if one is NULL.
pub(crate) fn encode_seek_key(
    definition: &TableDef,
    index: usize,
    key: &[Expr],
    cx: &mut Cx<'_>,
    out: &mut Vec<u8>,
) -> Result<bool> {
    out.clear();
    for (expr, part) in key.iter().zip(definition.key_parts(index)) {
        let computed;
        let value = match in_place(expr, cx) {
            Some(value) => value,
            None => {
                computed = eval(expr, cx)?;
                &computed
            }
        };
        if value.is_null() {
            return Ok(false);
        }
        encode_value(value, part, out);
    }
    Ok(true)
}

/// Returns isolation and row lock of an access, from the table, its hints and the session.
///
/// # Errors
/// 41368 for a memory-optimized table read under READ COMMITTED in an explicit transaction, unless
/// the database elevates it; 3952 for SNAPSHOT if the database does not allow it; 40517 for what a
/// table with a columnstore index does not support.
pub fn read_mode(table: &TableDef, hints: ScanHints, cx: &Cx<'_>) -> Result<Read> {
    if table.memory_optimized || hints.database == Versions::Private {
        return versioned_mode(table, hints, cx);
    }
    let level = level_of(hints, cx);
    let isolation = match level {
        IsolationLevel::ReadUncommitted | IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
        IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
        IsolationLevel::Serializable => Isolation::Serializable,
        IsolationLevel::Snapshot if !hints.database.serve_snapshot() => {
            let name = &database_of(table, cx).map_or("", |database| database.name.as_str());
            return Err(Msg::SnapshotNotAllowed(name).into());
        }
        // An autocommit statement sees the database as of its start under READ COMMITTED too.
        IsolationLevel::Snapshot if cx.session.transaction.count == 0 => Isolation::ReadCommitted,
        IsolationLevel::Snapshot => Isolation::Snapshot,
    };
    let is_locking = isolation >= Isolation::RepeatableRead;
    let when = when_owned(hints);
    let waits = hints.committed_lock
        || hints.whole != Whole::No
        || level == IsolationLevel::ReadCommitted && !hints.database.serve_read_committed();
    let lock = match hints {
        ScanHints { exclusive: true, alone: true, .. } => RowLock::Exclusive(when),
        ScanHints { exclusive: true, .. } => RowLock::Update(when),
        ScanHints { target: true, .. } if is_locking => RowLock::Update(when),
        // As SQL Server does: what is picked stays the statement's until it is changed.
        ScanHints { picked: true, .. }
            if isolation != Isolation::Snapshot
                && table.columnstore.is_none()
                && !cx.picking.reads() =>
        {
            RowLock::Update(when)
        }
        ScanHints { read_past: true, .. } if table.columnstore.is_none() => RowLock::Past,
        // The target of a change: the statement waits for each row when it claims it.
        ScanHints { target: true, .. } => RowLock::None,
        _ if waits => RowLock::Committed(when),
        _ if level == IsolationLevel::ReadUncommitted && table.columnstore.is_none() => {
            RowLock::Dirty
        }
        _ => RowLock::None,
    };
    let is_plain = matches!(lock, RowLock::None | RowLock::Dirty) && !is_locking;
    if table.columnstore.is_some() && !is_plain {
        let what = "locks, REPEATABLE READ and SERIALIZABLE on a table with a columnstore index";
        return Err(Msg::NotSupported(what).into());
    }
    Ok(Read { isolation, lock })
}

/// Returns the isolation level of an access: the hint's, or the session's.
pub(crate) fn level_of(hints: ScanHints, cx: &Cx<'_>) -> IsolationLevel {
    match hints {
        ScanHints { serializable: true, .. } => IsolationLevel::Serializable,
        ScanHints { repeatable_read: true, .. } => IsolationLevel::RepeatableRead,
        ScanHints { snapshot: true, .. } => IsolationLevel::Snapshot,
        ScanHints { read_uncommitted: true, .. } => IsolationLevel::ReadUncommitted,
        ScanHints { committed_lock: true, .. } | ScanHints { read_committed: true, .. } => {
            IsolationLevel::ReadCommitted
        }
        _ => cx.session.isolation,
    }
}

/// As [`read_mode`], for tables without locks: memory-optimized tables, and those of one session.
fn versioned_mode(table: &TableDef, hints: ScanHints, cx: &Cx<'_>) -> Result<Read> {
    let explicit = cx.session.transaction.count > 0;
    if !table.memory_optimized {
        let takes = hints.exclusive && (explicit || hints.read_past);
        let lock = if takes { RowLock::Update(when_owned(hints)) } else { RowLock::None };
        return Ok(Read { isolation: Isolation::ReadCommitted, lock });
    }
    let isolation = if hints.serializable {
        Isolation::Serializable
    } else if hints.repeatable_read {
        Isolation::RepeatableRead
    } else if hints.snapshot {
        Isolation::Snapshot
    } else if !explicit || hints.read_uncommitted {
        Isolation::ReadCommitted
    } else {
        match cx.session.isolation {
            IsolationLevel::ReadUncommitted | IsolationLevel::ReadCommitted
                if !elevates(table, cx) =>
            {
                return Err(Msg::ReadCommittedExplicit.into());
            }
            IsolationLevel::ReadUncommitted
            | IsolationLevel::ReadCommitted
            | IsolationLevel::Snapshot => Isolation::Snapshot,
            IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
            IsolationLevel::Serializable => Isolation::Serializable,
        }
    };
    let lock = match hints {
        // An autocommit statement would release the lock at once; READPAST needs it to skip locked
        // rows.
        ScanHints { exclusive: true, read_past, .. } if explicit || read_past => {
            RowLock::Update(when_owned(hints))
        }
        ScanHints { read_past: true, .. } => RowLock::Past,
        _ => RowLock::None,
    };
    Ok(Read { isolation, lock })
}

/// Takes the table lock that the hints ask for.
///
/// # Errors
/// 1205 and 1222, as for any lock.
fn hold_whole(scan: &Scan, cx: &mut Cx<'_>, rows: &Rows<'_>) -> Result<()> {
    let ScanHints { whole, exclusive, target, .. } = scan.hints;
    let table = table_of(&scan.table);
    if whole == Whole::No
        || table.memory_optimized
        || scan.hints.database == Versions::Private
        || table.columnstore.is_some()
    {
        return Ok(());
    }
    let hold = match whole {
        Whole::Shared if !exclusive && !target => {
            // Below REPEATABLE READ the statement waits for each changed row and needs no table
            // lock; above, the lock is held as long as the rows that were read.
            match level_of(scan.hints, cx) {
                IsolationLevel::RepeatableRead | IsolationLevel::Serializable => Hold::Shared,
                IsolationLevel::ReadUncommitted
                | IsolationLevel::ReadCommitted
                | IsolationLevel::Snapshot => return Ok(()),
            }
        }
        Whole::Shared | Whole::Exclusive | Whole::No => Hold::Exclusive,
    };
    let held = rows.transaction.hold_table(&table.rows.data, hold, when_owned(scan.hints));
    held.map_err(|e| fault::raise(cx, e))
}

fn database_of<'c>(table: &TableDef, cx: &'c Cx<'_>) -> Option<&'c catalog::Database> {
    cx.session.catalog.database_by_id(table.database_id).map(|database| &**database)
}

/// Returns what a writer does at a row that another transaction has locked.
pub(crate) fn when_owned(hints: ScanHints) -> WhenOwned {
    if hints.read_past {
        WhenOwned::Skip
    } else if hints.no_wait {
        WhenOwned::Fail
    } else {
        WhenOwned::Wait
    }
}

/// Returns MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT of the table's database.
fn elevates(table: &TableDef, cx: &Cx<'_>) -> bool {
    let database = cx.session.catalog.database_by_id(table.database_id);
    database.is_some_and(|d| d.options.elevate_to_snapshot)
}
