//! Tables whose rows are compressed by column: reading their blocks, taking rows out of them, filling them.
//!
//! A scan reads the delta store first, as it reads any table, and then the row groups, a block at a time. A row
//! that is to be changed moves to the delta store (`storage::Transaction::take_compressed`): from there on it is
//! a row like others. What a statement inserts is compressed at once if it is much (`ColumnLoad`).

use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};
use storage::columnstore::{
    BLOCK_ROWS, ColumnView, GROUP_ROWS_MAX, GroupBuilder, Place, RowGroup, Segment, Trim, Zone,
    word_of,
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

/// Rows from which an insert is compressed at once: fewer go to the delta store.
const BULK_ROWS_MIN: usize = 102_400;
/// Rows between two looks at the limit of memory.
const ROWS_PER_CHECK: usize = 256;

/// Rows of a group that lie together.
#[derive(Clone)]
pub struct Block<'t> {
    group: RowGroup<'t>,
    /// The table's columns that the group has, where it does not have all.
    columns: Option<&'t [u16]>,
    number: usize,
    rows: usize,
    /// The rows that are not deleted.
    pub live: Selection,
}

impl<'t> Block<'t> {
    /// Returns the segment of a column of the table.
    fn segment(&self, ordinal: usize) -> Segment<'t> {
        self.group.segment(place_of(ordinal, self.columns))
    }

    /// Returns the number of rows, deleted ones included.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Reads a column.
    pub fn read(&self, ordinal: usize, out: &mut Vector) {
        self.segment(ordinal).block(self.number, out);
    }

    /// Returns the number of NULLs of a column.
    pub fn nulls(&self, ordinal: usize) -> usize {
        self.segment(ordinal).block_nulls(self.number)
    }

    /// Returns the sum of a column of whole numbers, as words.
    pub fn sum(&self, ordinal: usize) -> i128 {
        let sum = self.segment(ordinal).block_sum(self.number);
        sum.expect("a column of whole numbers has words")
    }

    /// Returns the least and the largest word of a column whose words order as its values do; none if all are
    /// NULL.
    pub fn zone(&self, ordinal: usize) -> Option<Zone> {
        self.segment(ordinal).block_zone(self.number)
    }

    /// Returns where a row is.
    pub fn place(&self, row: usize) -> Place {
        place(&self.group, self.number, row)
    }
}

/// Returns the place of a column of the table in a group that has some of them, or all.
fn place_of(ordinal: usize, columns: Option<&[u16]>) -> usize {
    let place = columns.map(|has| has.iter().position(|column| usize::from(*column) == ordinal));
    place.map_or(ordinal, |place| place.expect("an index is read that has the column"))
}

fn place(group: &RowGroup<'_>, block: usize, row: usize) -> Place {
    let row = u32::try_from(block * BLOCK_ROWS + row).expect("a group has at most 2^20 rows");
    Place { group: group.id(), row }
}

/// A comparison of a column with a value, of which the least and the largest number of some rows tell whether
/// it can hold for any of them.
struct ZoneTest {
    ordinal: usize,
    op: CompareOp,
    word: i64,
}

impl ZoneTest {
    /// Finds those that all rows must pass.
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

    /// Tells whether it may hold for a row between these.
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

/// The blocks of a table that a statement sees.
pub struct Blocks<'t> {
    transaction: &'t Transaction,
    table: &'t Table,
    read: Read,
    groups: Vec<RowGroup<'t>>,
    /// A nonclustered index in the place of the table's own groups, and its columns.
    view: Option<(&'t ColumnView, &'t [u16])>,
    current: Option<RowGroup<'t>>,
    deleted: Vec<u32>,
    next: usize,
    tests: Vec<ZoneTest>,
    /// Where its parts come from, if others read the table too.
    share: Option<Arc<Share>>,
    /// The block behind those of the part.
    end: usize,
    /// The part's group, by its place among all.
    place: Option<usize>,
}

/// Blocks of a part: what a worker takes at once.
const PART_BLOCKS: usize = if cfg!(debug_assertions) { 1 } else { 32 };
/// Parts of a group that is full.
const GROUP_PARTS: usize = (GROUP_ROWS_MAX / BLOCK_ROWS).div_ceil(PART_BLOCKS);

impl<'t> Blocks<'t> {
    /// Opens them.
    ///
    /// # Errors
    /// As for any scan.
    pub fn open(
        transaction: &'t Transaction,
        table: &'t Table,
        read: Read,
    ) -> storage::Result<Self> {
        let groups = transaction.row_groups(table, read)?;
        Ok(Self::of(transaction, table, read, groups))
    }

    /// Opens those of a nonclustered index, which has these columns of the table.
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

    /// Gives only those parts of the groups that it gets.
    pub fn share(&mut self, share: Option<Arc<Share>>) {
        self.share = share;
    }

    /// Moves to the next part: a group, or some blocks of one where others read too. `false` at the end.
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

    /// Leaves out groups and blocks in which no row can satisfy the predicate of a scan.
    pub fn skip(&mut self, scan: &Scan, cx: &Cx<'_>) {
        if let Some(predicate) = &scan.residual {
            ZoneTest::find(predicate, scan, cx, &mut self.tests);
        }
    }

    /// Moves to the next block.
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

    /// Tells whether some row may pass all tests, by the zones that are known.
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

/// Takes compressed rows for a change, one after the other; keeps the block that it read last.
#[derive(Default)]
pub struct Taker {
    block: Option<(u64, usize)>,
    columns: Vec<Vector>,
}

impl Taker {
    /// Moves a row to the delta store.
    ///
    /// # Errors
    /// 41302 in an explicit transaction if another one has changed it; the statement runs again in one of its own.
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
        // The group is one that this statement has read a row of.
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

/// Where row groups go.
#[derive(Clone, Copy)]
pub enum To<'t> {
    /// Into the table, in a transaction.
    Table(&'t Transaction),
    /// To whoever leads the load, who has the transaction.
    Shelf(&'t Shelf),
}

/// What helpers of a load have made, for who leads it.
pub struct Shelf {
    /// Segments of row groups.
    sealed: SpinLock<Vec<(Vec<Bytes>, Trim)>>,
    /// Rows too few for a group.
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
    /// Publishes the row groups that helpers have made so far.
    ///
    /// # Errors
    /// As for any row.
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

    /// Takes the rows that were too few for a group, as columns.
    pub fn rest(&self) -> Vec<GroupBuilder> {
        std::mem::take(&mut *self.rest.lock())
    }
}

/// The rows that one statement inserts into a table with columns.
pub struct ColumnLoad {
    builder: GroupBuilder,
    /// Fewer rows than this that are left at the end go to the delta store.
    rows_min: usize,
    trim: Trim,
}

impl ColumnLoad {
    /// Begins one, if the table is of that kind.
    pub fn begin(table: &TableDef, purpose: Purpose) -> Option<Self> {
        table.columnstore.as_ref()?;
        let types: Vec<ColumnType> = table.columns.iter().map(|column| column.ty).collect();
        let (rows_min, trim) = match purpose {
            Purpose::Insert => (BULK_ROWS_MIN, Trim::BulkLoad),
            Purpose::Rebuild => (1, Trim::Rebuild),
        };
        Some(Self { builder: GroupBuilder::new(&types), rows_min, trim })
    }

    /// As [`Self::begin`], for a helper: what is too little for a group by itself is the leader's.
    pub(crate) fn of_helper(table: &TableDef) -> Self {
        let types: Vec<ColumnType> = table.columns.iter().map(|column| column.ty).collect();
        let (rows_min, trim) = (BULK_ROWS_MIN, Trim::BulkLoad);
        Self { builder: GroupBuilder::new(&types), rows_min, trim }
    }

    /// Adds a row: a value for each column.
    ///
    /// # Errors
    /// 701 if there is no memory for it.
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

    /// Adds the selected rows of vectors, one per column.
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

    /// Stores the rows that are left.
    ///
    /// # Errors
    /// 701, and what storing a row fails with.
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

    /// Asks for what the rows take once more: as vectors that grow, and as segments. Where that is too much, the rows that
    /// are there become a group.
    fn ask_for_memory(&mut self, table: &TableDef, to: To<'_>, cx: &mut Cx<'_>) -> Result<()> {
        let asked = long::wait_for_room(2 * self.builder.memory(), cx);
        if asked.is_ok() || self.builder.len() < BULK_ROWS_MIN || cx.session.cancel.is_set() {
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
