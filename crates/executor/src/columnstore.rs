//! Tables with a clustered columnstore index: reads their blocks, takes rows out for changes, and
//! loads them.
//!
//! A scan reads the delta store first, as any table, and then the row groups block by block. A
//! compressed row that is to be changed moves to the delta store
//! (`storage::Transaction::take_compressed`) and is an ordinary row from then on. A large insert is
//! compressed at once (`ColumnLoad`).

use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};
use storage::columnstore::{
    BLOCK_ROWS, ColumnView, Dictionary, GROUP_ROWS_MAX, GroupBuilder, Place, RowGroup, Segment,
    Trim, Zone, few_of, word_of,
};
use storage::{Read, RowImage, RowRef, Table, Transaction};
use types::batch::{Selection, Vector};
use types::row::RowBuffer;
use types::value::ColumnType;
use types::{Bytes, Error, Msg, Result, Value};

use crate::parallel::Share;
use crate::{Cx, fault, long};
use catalog::TableDef;
use plan::expr::{CompareOp, Expr, ExprKind};
use plan::query::Scan;
use plan::statement::{Purpose, table_of};
use session::event::emit;

/// Least number of rows that an insert compresses at once; fewer go to the delta store.
const BULK_ROWS_MIN: usize = 102_400;
/// Rows between two checks of the memory limit.
const ROWS_PER_CHECK: usize = 256;

/// A block: consecutive rows of a row group.
#[derive(Clone)]
pub struct Block<'t> {
    group: RowGroup<'t>,
    /// The ordinals of the group's columns, if it does not have all of the table's.
    columns: Option<&'t [u16]>,
    number: usize,
    rows: usize,
    /// The rows of the block that are not deleted.
    pub live: Selection,
}

impl<'t> Block<'t> {
    /// Returns the segment of a column, by its ordinal in the table.
    fn segment(&self, ordinal: usize) -> Segment<'t> {
        self.group.segment(place_of(ordinal, self.columns))
    }

    /// Returns the number of rows, deleted ones included.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Decodes a column of the block into `out`.
    pub fn read(&self, ordinal: usize, out: &mut Vector) {
        self.segment(ordinal).block(self.number, out);
    }

    /// Decodes the selected rows of a column into `out`; the values of the block's other rows are
    /// arbitrary.
    pub fn read_rows(&self, ordinal: usize, rows: &Selection, out: &mut Vector) {
        self.segment(ordinal).rows_of_block(self.number, rows, out);
    }

    /// Returns the dictionary of a column's strings; `None` if its segment has none.
    pub fn dictionary(&self, ordinal: usize) -> Option<Dictionary<'t>> {
        self.segment(ordinal).dictionary()
    }

    /// Replaces `out` by the dictionary codes of the selected rows; those of other rows are arbitrary.
    pub fn codes(&self, dictionary: &Dictionary<'_>, rows: &Selection, out: &mut Vec<u32>) {
        dictionary.codes(self.number, few_of(rows), out);
    }

    /// Returns the number of NULLs in a column of the block.
    pub fn nulls(&self, ordinal: usize) -> usize {
        self.segment(ordinal).block_nulls(self.number)
    }

    /// Returns the sum of a column of whole numbers, over its encoded values.
    pub fn sum(&self, ordinal: usize) -> i128 {
        let sum = self.segment(ordinal).block_sum(self.number);
        sum.expect("a column of whole numbers has words")
    }

    /// Returns the least and the greatest encoded value of a column; `None` if encoded values do
    /// not sort as the values do, or if all are NULL.
    pub fn zone(&self, ordinal: usize) -> Option<Zone> {
        self.segment(ordinal).block_zone(self.number)
    }

    /// Returns the address of a row: its group, and its number in the group.
    pub fn place(&self, row: usize) -> Place {
        place(&self.group, self.number, row)
    }
}

/// Returns the position of a table's column in a group; `columns` are the ordinals that it has,
/// `None` for all.
fn place_of(ordinal: usize, columns: Option<&[u16]>) -> usize {
    let place = columns.map(|has| has.iter().position(|column| usize::from(*column) == ordinal));
    place.map_or(ordinal, |place| place.expect("an index is read that has the column"))
}

fn place(group: &RowGroup<'_>, block: usize, row: usize) -> Place {
    let row = u32::try_from(block * BLOCK_ROWS + row).expect("a group has at most 2^20 rows");
    Place { group: group.id(), row }
}

/// A comparison of a column with a value. From the least and greatest encoded value of some rows it
/// follows whether the comparison can be true for any of them.
struct ZoneTest {
    ordinal: usize,
    op: CompareOp,
    word: i64,
}

impl ZoneTest {
    /// Finds the comparisons in a predicate that every selected row must satisfy.
    fn find(predicate: &Expr, scan: &Scan, cx: &Cx<'_>, found: &mut Vec<Self>) {
        match &predicate.kind {
            ExprKind::And(parts) => {
                parts.iter().for_each(|part| Self::find(part, scan, cx, found));
            }
            ExprKind::Compare(op, _, sides) => {
                let (left, right) = &**sides;
                found.extend(Self::of(*op, left, right, scan, cx));
                found.extend(Self::of(op.swapped(), right, left, scan, cx));
            }
            _ => {}
        }
    }

    fn of(op: CompareOp, left: &Expr, right: &Expr, scan: &Scan, cx: &Cx<'_>) -> Option<Self> {
        let ExprKind::Column(register) = left.kind else { return None };
        let value = match &right.kind {
            ExprKind::Constant(value) => value,
            ExprKind::Variable(slot) => cx.frame.variables.get(slot.0 as usize)?,
            _ => return None,
        };
        let (ordinal, _) = scan.columns.iter().find(|column| column.1 == register)?;
        let ordinal = usize::from(*ordinal);
        let ty = table_of(&scan.table).columns[ordinal].ty;
        let is_same = left.ty.data_type == ty.data_type && right.ty.data_type == ty.data_type;
        let word = word_of(&ty, value).filter(|_| is_same)?;
        Some(Self { ordinal, op, word })
    }

    /// Returns true if the comparison can be true for a value within the zone.
    fn admits(&self, zone: Zone) -> bool {
        match self.op {
            CompareOp::Equal => zone.least <= self.word && self.word <= zone.largest,
            CompareOp::NotEqual => zone.least != self.word || self.word != zone.largest,
            CompareOp::Less => zone.least < self.word,
            CompareOp::LessOrEqual => zone.least <= self.word,
            CompareOp::Greater => zone.largest > self.word,
            CompareOp::GreaterOrEqual => zone.largest >= self.word,
        }
    }
}

/// The blocks of a table that are visible to a statement.
pub struct Blocks<'t> {
    transaction: &'t Transaction,
    table: &'t Table,
    read: Read,
    groups: Vec<RowGroup<'t>>,
    /// A nonclustered columnstore index that is read instead of the table's own groups, and its
    /// columns.
    view: Option<(&'t ColumnView, &'t [u16])>,
    current: Option<RowGroup<'t>>,
    deleted: Vec<u32>,
    next: usize,
    tests: Vec<ZoneTest>,
    /// Hands out the parts, if several workers read the table.
    share: Option<Arc<Share>>,
    /// The number of the first block after the current part.
    end: usize,
    /// Position of the current group among all groups.
    place: Option<usize>,
}

/// Blocks per part, which a worker takes at once.
const PART_BLOCKS: usize = if cfg!(debug_assertions) { 1 } else { 32 };
/// Number of parts in a full group.
const GROUP_PARTS: usize = (GROUP_ROWS_MAX / BLOCK_ROWS).div_ceil(PART_BLOCKS);

impl<'t> Blocks<'t> {
    /// Opens the blocks of a table's row groups.
    ///
    /// # Errors
    /// The errors of any scan.
    pub fn open(
        transaction: &'t Transaction,
        table: &'t Table,
        read: Read,
    ) -> storage::Result<Self> {
        let groups = transaction.row_groups(table, read)?;
        Ok(Self::of(transaction, table, read, groups))
    }

    /// Opens the blocks of a nonclustered index, which has these columns of the table.
    pub fn of_index(
        transaction: &'t Transaction,
        table: &'t Table,
        view: &'t ColumnView,
        columns: &'t [u16],
    ) -> Self {
        let blocks = Self::of(transaction, table, Read::COMMITTED, view.groups().collect());
        Self { view: Some((view, columns)), ..blocks }
    }

    fn of(
        transaction: &'t Transaction,
        table: &'t Table,
        read: Read,
        groups: Vec<RowGroup<'t>>,
    ) -> Self {
        let (view, current, deleted, next) = (None, None, Vec::new(), 0);
        let (tests, share, end, place) = (Vec::new(), None, 0, None);
        Self {
            transaction,
            table,
            read,
            groups,
            view,
            current,
            deleted,
            next,
            tests,
            share,
            end,
            place,
        }
    }

    /// Restricts the reader to the parts that it takes from `share`.
    pub fn share(&mut self, share: Option<Arc<Share>>) {
        self.share = share;
    }

    /// Moves to the next part: a whole group, or with other workers some blocks of one. `false` at
    /// the end.
    fn next_part(&mut self) -> storage::Result<bool> {
        let (place, blocks) = match &self.share {
            None => (self.place.map_or(0, |place| place + 1), 0..usize::MAX),
            Some(share) => {
                let Some(part) = share.next_part() else { return Ok(false) };
                let first = part % GROUP_PARTS * PART_BLOCKS;
                (part / GROUP_PARTS, first..first + PART_BLOCKS)
            }
        };
        let Some(group) = self.groups.get(place).copied() else { return Ok(false) };
        (self.next, self.end) = (blocks.start, blocks.end);
        if self.place == Some(place) {
            return Ok(true);
        }
        self.place = Some(place);
        self.current = None;
        if self.passes(|test| group.segment(self.column_of(test)).zone()) {
            self.deleted = match self.view {
                Some((view, _)) => view.changed_rows(place),
                None => self.transaction.deleted_rows(self.table, group.id(), self.read)?,
            };
            self.current = Some(group);
        }
        Ok(true)
    }

    /// Makes the reader skip groups and blocks in which no row can satisfy the scan's predicate.
    pub fn skip(&mut self, scan: &Scan, cx: &Cx<'_>) {
        if let Some(predicate) = &scan.residual {
            ZoneTest::find(predicate, scan, cx, &mut self.tests);
        }
    }

    /// Returns the next block; `None` at the end.
    pub fn next_block(&mut self) -> storage::Result<Option<Block<'t>>> {
        loop {
            let rows = self.current.map_or(0, |group| group.rows());
            let first = self.next.saturating_mul(BLOCK_ROWS);
            let Some(group) = self.current.filter(|_| self.next < self.end && first < rows) else {
                if !self.next_part()? {
                    return Ok(None);
                }
                continue;
            };
            let (number, rows) = (self.next, (group.rows() - first).min(BLOCK_ROWS));
            self.next += 1;
            if !self.passes(|test| group.segment(self.column_of(test)).block_zone(number)) {
                continue;
            }
            let (live, columns) = (self.live(first, rows), self.columns());
            return Ok(Some(Block { group, columns, number, rows, live }));
        }
    }

    fn columns(&self) -> Option<&'t [u16]> {
        self.view.map(|(_, columns)| columns)
    }

    fn column_of(&self, test: &ZoneTest) -> usize {
        place_of(test.ordinal, self.columns())
    }

    /// Returns true if a row may satisfy all tests, as far as its zones are known.
    fn passes(&self, zone: impl Fn(&ZoneTest) -> Option<Zone>) -> bool {
        self.tests.iter().all(|test| zone(test).is_none_or(|zone| test.admits(zone)))
    }

    fn live(&self, first: usize, rows: usize) -> Selection {
        let number = |row: usize| u32::try_from(first + row).unwrap_or(u32::MAX);
        let from = self.deleted.partition_point(|row| *row < number(0));
        let to = self.deleted.partition_point(|row| *row < number(rows));
        let mut live = Selection::all(rows);
        if from < to {
            let deleted = &self.deleted[from..to];
            live.clear();
            (0..rows)
                .filter(|row| deleted.binary_search(&number(*row)).is_err())
                .for_each(|row| live.push(row));
        }
        live
    }
}

/// Moves compressed rows to the delta store, one at a time. Keeps the block that it decoded last.
#[derive(Default)]
pub struct Taker {
    block: Option<(u64, usize)>,
    columns: Vec<Vector>,
}

impl Taker {
    /// Moves a row to the delta store and returns it there.
    ///
    /// # Errors
    /// 41302 in an explicit transaction if another one has changed the row; in a statement's own
    /// transaction, the statement is restarted instead.
    pub fn take<'t>(
        &mut self,
        at: Place,
        table: &'t TableDef,
        transaction: &'t Transaction,
        cx: &mut Cx<'_>,
    ) -> Result<RowRef<'t>> {
        let (block, row) = (at.row as usize / BLOCK_ROWS, at.row as usize % BLOCK_ROWS);
        if self.block != Some((at.group, block)) {
            self.read(at.group, block, table, transaction).map_err(|e| fault::raise(cx, e))?;
        }
        let values: Vec<Value> = self.columns.iter().map(|column| column.get(row)).collect();
        let mut buffer = std::mem::take(&mut cx.scratch.row);
        table.layout.encode(&values, &mut buffer);
        let taken = transaction.take_compressed(&table.rows.data, at, RowImage::from(&buffer));
        cx.scratch.row = buffer;
        taken.map_err(|e| fault::raise(cx, e))
    }

    fn read(
        &mut self,
        id: u64,
        block: usize,
        table: &TableDef,
        transaction: &Transaction,
    ) -> storage::Result<()> {
        // The group exists: this statement has read a row of it.
        let groups = transaction.row_groups(&table.rows.data, Read::COMMITTED)?;
        let found = groups.into_iter().find(|group| group.id() == id);
        let Some(group) = found else { return Err(storage::Error::Closed(table.rows.data.id())) };
        let vector = |column: &catalog::ColumnDef| Vector::with_capacity_for(&column.ty);
        self.columns = table.columns.iter().map(vector).collect();
        for (ordinal, vector) in self.columns.iter_mut().enumerate() {
            group.segment(ordinal).block(block, vector);
        }
        self.block = Some((id, block));
        Ok(())
    }
}

/// The destination of finished row groups.
#[derive(Clone, Copy)]
pub enum To<'t> {
    /// The table itself, in a transaction.
    Table(&'t Transaction),
    /// The leader of a parallel load, which has the transaction.
    Shelf(&'t Shelf),
}

/// What the helpers of a parallel load have finished and the leader has yet to publish.
pub struct Shelf {
    /// The segments of finished row groups.
    sealed: SpinLock<Vec<(Vec<Bytes>, Trim)>>,
    /// Rows left over in helpers: too few for a group.
    rest: SpinLock<Vec<GroupBuilder>>,
}

impl Default for Shelf {
    fn default() -> Self {
        Self {
            sealed: SpinLock::new(SpinClass::ServerOther, Vec::new()),
            rest: SpinLock::new(SpinClass::ServerOther, Vec::new()),
        }
    }
}

impl Shelf {
    /// Adds the row groups that helpers have finished so far to the table.
    ///
    /// # Errors
    /// The errors of inserting a row.
    pub fn publish(
        &self,
        table: &TableDef,
        transaction: &Transaction,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        let sealed = std::mem::take(&mut *self.sealed.lock());
        for (segments, trim) in sealed {
            let added = transaction.add_row_group(&table.rows.data, &segments, trim);
            added.map_err(|e| fault::raise(cx, e))?;
        }
        Ok(())
    }

    /// Takes the helpers' left-over rows, as columns.
    pub fn rest(&self) -> Vec<GroupBuilder> {
        std::mem::take(&mut *self.rest.lock())
    }
}

/// Collects the rows that one statement inserts into a table with a columnstore, and compresses
/// them.
pub struct ColumnLoad {
    builder: GroupBuilder,
    /// Least number of rows that make a group at the end; fewer go to the delta store.
    rows_min: usize,
    trim: Trim,
}

impl ColumnLoad {
    /// Starts a load; `None` if the table has no clustered columnstore index.
    pub fn begin(table: &TableDef, purpose: Purpose) -> Option<Self> {
        table.columnstore.as_ref()?;
        let types: Vec<ColumnType> = table.columns.iter().map(|column| column.ty).collect();
        let (rows_min, trim) = match purpose {
            Purpose::Insert => (BULK_ROWS_MIN, Trim::BulkLoad),
            Purpose::Rebuild => (1, Trim::Rebuild),
        };
        Some(Self { builder: GroupBuilder::new(&types), rows_min, trim })
    }

    /// As [`Self::begin`], for a helper, whose left-over rows go to the leader.
    pub(crate) fn of_helper(table: &TableDef) -> Self {
        let types: Vec<ColumnType> = table.columns.iter().map(|column| column.ty).collect();
        let (rows_min, trim) = (BULK_ROWS_MIN, Trim::BulkLoad);
        Self { builder: GroupBuilder::new(&types), rows_min, trim }
    }

    /// Adds a row: one value per column of the table.
    ///
    /// # Errors
    /// 701 if there is not enough memory for it.
    pub fn add(
        &mut self,
        row: &[Value],
        table: &TableDef,
        to: To<'_>,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        self.builder.push(row);
        if self.builder.len().is_multiple_of(ROWS_PER_CHECK) {
            self.ask_for_memory(table, to, cx)?;
        }
        if self.builder.is_full() {
            self.publish(Trim::None, table, to, cx)?;
        }
        Ok(())
    }

    /// Adds the selected rows of a batch: one vector per column of the table.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(crate) fn add_batch(
        &mut self,
        columns: &[&Vector],
        rows: &Selection,
        table: &TableDef,
        to: To<'_>,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        self.ask_for_memory(table, to, cx)?;
        let room = GROUP_ROWS_MAX - self.builder.len();
        if rows.len() <= room {
            self.builder.append(columns.iter().copied(), rows);
        } else {
            let (mut first, mut rest) = (Selection::default(), Selection::default());
            first.clear();
            rest.clear();
            for (place, row) in rows.iter().enumerate() {
                if place < room { first.push(row) } else { rest.push(row) }
            }
            self.builder.append(columns.iter().copied(), &first);
            self.publish(Trim::None, table, to, cx)?;
            self.builder.append(columns.iter().copied(), &rest);
        }
        if self.builder.is_full() {
            self.publish(Trim::None, table, to, cx)?;
        }
        Ok(())
    }

    /// Stores the rows that are left over.
    ///
    /// # Errors
    /// 701, and the errors of inserting a row.
    pub fn finish(mut self, table: &TableDef, to: To<'_>, cx: &mut Cx<'_>) -> Result<()> {
        if self.builder.is_empty() {
            return Ok(());
        }
        if self.builder.len() >= self.rows_min {
            return self.publish(self.trim, table, to, cx);
        }
        let transaction = match to {
            To::Table(transaction) => transaction,
            To::Shelf(shelf) => {
                shelf.rest.lock().push(self.builder);
                return Ok(());
            }
        };
        let (columns, mut buffer) = (self.builder.columns(), RowBuffer::default());
        let mut values = Vec::with_capacity(columns.len());
        for row in 0..self.builder.len() {
            values.clear();
            values.extend(columns.iter().map(|column| column.get(row)));
            table.layout.encode(&values, &mut buffer);
            let stored = transaction.insert(&table.rows.data, RowImage::from(&buffer));
            stored.map_err(|e| fault::raise(cx, e))?;
        }
        Ok(())
    }

    /// Waits for the memory that the rows will need: as much again for growing vectors and for
    /// segments. If it is not available, the rows so far become a row group.
    fn ask_for_memory(&mut self, table: &TableDef, to: To<'_>, cx: &mut Cx<'_>) -> Result<()> {
        let asked = long::wait_for_room(2 * self.builder.memory(), cx);
        if asked.is_ok()
            || self.builder.len() < BULK_ROWS_MIN
            || cx.session.connection.cancel.is_set()
        {
            return asked;
        }
        self.publish(Trim::Memory, table, to, cx)?;
        self.builder.shrink();
        Ok(())
    }

    fn publish(&mut self, trim: Trim, table: &TableDef, to: To<'_>, cx: &mut Cx<'_>) -> Result<()> {
        fault::check_cancel(cx)?;
        let (watched, rows) = (emit::columnstore::begin(), self.builder.len());
        let segments = self.builder.finish().ok_or_else(|| Error::from(Msg::InternalError))?;
        match to {
            To::Table(transaction) => {
                let added = transaction.add_row_group(&table.rows.data, &segments, trim);
                added.map_err(|e| fault::raise(cx, e))?;
            }
            To::Shelf(shelf) => shelf.sealed.lock().push((segments, trim)),
        }
        emit::columnstore::end(cx.session, &watched, table, rows);
        Ok(())
    }
}
