//! Table scans: row images from storage's cursor, their columns decoded into vectors.
//!
//! A column is decoded when something first reads it, and only for the rows that are left by then: the
//! predicate is taken apart, and what it says of numbers and dates is looked at before what it says of
//! strings, where no part of it can fail. A join above may know which rows can match (`restrict.rs`):
//! these are tested between the two. The first batches are small, so that whoever wants only a few rows
//! (TOP, EXISTS) does not pay for a thousand.

use std::rc::Rc;
use std::sync::Arc;

use sos::ledger::{self, Label};
use storage::RowImage;
use types::batch::{BATCH_ROWS, Batch, Selection, Vector};
use types::row::Images;
use types::{Bytes, Result, Value};

use super::kernel::{Kernel, cannot_fail};
use super::pushdown::SharedPushdown;
use super::restrict::{KeyFilter, Restriction};
use super::{Flow, Operator, Receive, Rows, Stage, stream};
use catalog::TableDef;
use executor::columnstore::{Block, Blocks};
use executor::{Cx, fault, query};
use plan::expr::{Expr, ExprKind, Register};
use plan::query::Scan;
use plan::statement::table_of;
use plan::walk::{self, Registers};

/// Rows of the first batch.
const FIRST_ROWS: usize = if cfg!(debug_assertions) { 3 } else { 64 };

/// A scan of a table.
pub(super) struct TableScan<'p> {
    scan: &'p Scan,
    layout: Vec<Register>,
    decode: Decode<'p>,
    pushdown: Option<SharedPushdown>,
}

impl<'p> TableScan<'p> {
    pub(super) fn new(scan: &'p Scan, needed: &Registers) -> Self {
        let tested = scan.residual.as_ref().map(walk::reads).unwrap_or_default();
        let read = scan.columns.iter().copied();
        let read = read.filter(|c| tested.contains(c.1) || needed.contains(c.1));
        let (ordinals, layout): (Vec<u16>, Vec<Register>) = read.unzip();
        let checks = scan.residual.as_ref().map_or_else(Vec::new, |e| checks_of(e, &layout));
        let decode = Decode::new(table_of(&scan.table), &ordinals, checks);
        Self { scan, layout, decode, pushdown: None }
    }
}

impl<'p> Operator<'p> for TableScan<'p> {
    fn layout(&self) -> &[Register] {
        &self.layout
    }

    fn restrict(&mut self, restriction: &Restriction) {
        let place = self.layout.iter().position(|register| *register == restriction.register);
        if let Some(place) = place {
            self.decode.add_test(restriction, place);
        }
    }

    fn summarize(&mut self, pushdown: &SharedPushdown) {
        self.pushdown = Some(Rc::clone(pushdown));
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let label = ledger::labelled(Label::Scan);
        let Some(mut cursor) = query::open(self.scan, cx, rows)? else { return Ok(Flow::More) };
        let share = cx.parallel.share_of(self.scan);
        // The leader has decided for all which rows are read from columns.
        let view = query::column_view(self.scan, cx, rows)?;
        if let Some(share) = &share {
            cursor.share(share.parts());
        }
        if let Some(view) = view {
            cursor.pass_over(view);
        }
        let mut batch = Batch::default();
        let mut rows_max = FIRST_ROWS;
        drop(label);
        loop {
            let read = {
                let _label = ledger::labelled(Label::Scan);
                self.decode.images.0.clear();
                cursor.next_images(&mut self.decode.images.0, rows_max)
            };
            // The rows before the one that failed arrive.
            let count = self.decode.images.0.len();
            if let Some(profile) = &mut cx.profile {
                profile.count_reads(self.scan, count as u64);
            }
            if count > 0 {
                fault::check_cancel(cx)?;
                self.decode.start(&mut batch);
                if stream(&mut self.decode, &mut batch, cx, rows, receive)? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
            }
            read.map_err(|e| fault::raise(cx, e))?;
            if count == 0 || share.as_ref().is_some_and(|share| share.is_stopped()) {
                break;
            }
            rows_max = (rows_max * 2).min(BATCH_ROWS);
        }
        let blocks = match view {
            Some(view) => query::index_blocks(self.scan, view, cx, rows),
            None => query::blocks(self.scan, cx, rows)?,
        };
        let Some(mut blocks) = blocks else { return Ok(Flow::More) };
        blocks.share(share);
        self.run_blocks(blocks, &mut batch, cx, rows, receive)
    }
}

impl<'p> TableScan<'p> {
    /// Gives the compressed rows, behind those of the delta store.
    fn run_blocks(
        &mut self,
        mut blocks: Blocks<'p>,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        while let Some(block) = blocks.next_block().map_err(|e| fault::raise(cx, e))? {
            fault::check_cancel(cx)?;
            if let Some(profile) = &mut cx.profile {
                profile.count_reads(self.scan, block.live.len() as u64);
            }
            if let Some(pushdown) = &self.pushdown {
                let _label = ledger::labelled(Label::Scan);
                if pushdown.borrow_mut().take(&block) {
                    continue;
                }
            }
            self.decode.block = Some(block);
            self.decode.start(batch);
            if stream(&mut self.decode, batch, cx, rows, receive)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }
}

/// Makes batches of row images.
pub(super) struct Decode<'p> {
    definition: &'p TableDef,
    images: ImageRows<'p>,
    /// The compressed rows in their place, once there are no more images.
    block: Option<Block<'p>>,
    columns: Vec<Column>,
    /// What is left of the predicate, in the order in which it is looked at.
    checks: Vec<Check<'p>>,
    /// What joins above know of the rows that can match.
    tests: Vec<Test>,
    kept: Selection,
    /// The batch of rows that are only sifted.
    sifted: Batch,
}

/// A part of a predicate.
pub(super) struct Check<'p> {
    condition: Kernel<'p>,
    /// Places of the columns that it reads.
    places: Vec<usize>,
    work: Work,
}

impl<'p> Check<'p> {
    fn new(condition: &'p Expr, layout: &[Register], work: Work) -> Self {
        let read = walk::reads(condition);
        let places = layout.iter().enumerate().filter(|(_, register)| read.contains(**register));
        let places = places.map(|(place, _)| place).collect();
        Self { condition: Kernel::new(condition, layout), places, work }
    }
}

/// How much work a condition is for one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    /// Numbers and moments are compared.
    Little,
    /// Strings are, or there are several ways to be true.
    Some,
    /// A pattern is looked for.
    Much,
}

/// Takes a predicate apart, the least work first; if part of it can fail, it stays as a whole.
fn checks_of<'p>(predicate: &'p Expr, layout: &[Register]) -> Vec<Check<'p>> {
    match &predicate.kind {
        // Nothing is tested before it.
        _ if !cannot_fail(predicate) => vec![Check::new(predicate, layout, Work::Little)],
        ExprKind::And(list) => by_work(list.iter(), layout),
        _ => by_work(std::iter::once(predicate), layout),
    }
}

/// Makes checks of conditions that cannot fail, the least work first.
pub(super) fn by_work<'p>(
    conditions: impl Iterator<Item = &'p Expr>,
    layout: &[Register],
) -> Vec<Check<'p>> {
    let check = |condition| Check::new(condition, layout, work_of(condition));
    let mut checks: Vec<Check<'p>> = conditions.map(check).collect();
    checks.sort_by_key(|check| check.work);
    checks
}

fn work_of(condition: &Expr) -> Work {
    let mut work = Work::Little;
    walk::visit(condition, &mut |expr| {
        let own = match &expr.kind {
            ExprKind::Like(..) => Work::Much,
            ExprKind::Or(_) => Work::Some,
            _ if expr.ty.data_type.is_string() => Work::Some,
            _ => Work::Little,
        };
        work = work.max(own);
    });
    work
}

/// A restriction, and what has come of it.
struct Test {
    keys: Arc<KeyFilter>,
    /// The column's place in the batch.
    place: usize,
    seen: usize,
    kept: usize,
}

/// Rows after which a test is dropped that keeps most of them.
const TRIAL_ROWS: usize = 4 * BATCH_ROWS;

impl Test {
    fn is_worthwhile(&self) -> bool {
        self.seen < TRIAL_ROWS || self.kept * 4 < self.seen * 3
    }
}

/// A column of the table.
struct Column {
    ordinal: usize,
    /// Its rows while they are not shown; what is in their place in the batch while they are.
    vector: Vector,
    /// Whether the batch has the column's rows: else it has NULLs in their place, which nobody reads.
    is_shown: bool,
}

/// What rows are read from: images, or a block in their place.
type Source<'a> = (&'a TableDef, &'a ImageRows<'a>, Option<&'a Block<'a>>);

impl Column {
    /// Reads the column of the selected rows into a batch, if that has not been done.
    fn show(&mut self, (definition, images, block): Source<'_>, batch: &mut Batch, place: usize) {
        if std::mem::replace(&mut self.is_shown, true) {
            return;
        }
        match block {
            Some(block) => block.read(self.ordinal, &mut self.vector),
            None => {
                let (layout, rows) = (&definition.layout, &batch.selection);
                layout.decode_column(self.ordinal, images, rows, &mut self.vector);
            }
        }
        std::mem::swap(&mut self.vector, &mut batch.columns[place]);
    }

    /// Takes the column out of a batch, so that its memory serves the next one.
    fn hide(&mut self, shown: &mut Vector) {
        if std::mem::take(&mut self.is_shown) {
            std::mem::swap(&mut self.vector, shown);
        }
    }
}

impl<'p> Decode<'p> {
    /// Makes one that reads these columns and leaves the rows that pass the checks.
    pub(super) fn new(definition: &'p TableDef, ordinals: &[u16], checks: Vec<Check<'p>>) -> Self {
        let column = |ordinal: &u16| {
            let ordinal = usize::from(*ordinal);
            let vector = Vector::with_capacity_for(&definition.layout.columns()[ordinal]);
            Column { ordinal, vector, is_shown: false }
        };
        Self {
            definition,
            images: ImageRows(Vec::new()),
            block: None,
            columns: ordinals.iter().map(column).collect(),
            checks,
            tests: Vec::new(),
            kept: Selection::default(),
            sifted: Batch::default(),
        }
    }

    /// Adds what a join above knows of the column at a place.
    pub(super) fn add_test(&mut self, restriction: &Restriction, place: usize) {
        self.tests.push(Test { keys: restriction.keys.clone(), place, seen: 0, kept: 0 });
    }

    /// Returns which of some rows are left by the predicate and the tests; `None` if all are.
    ///
    /// # Errors
    /// Those of the predicate.
    pub(super) fn sift(
        &mut self,
        images: &mut ImageRows<'p>,
        cx: &mut Cx<'_>,
    ) -> Result<Option<Selection>> {
        if self.checks.is_empty() && self.tests.is_empty() {
            return Ok(None);
        }
        std::mem::swap(&mut self.images, images);
        let mut batch = std::mem::take(&mut self.sifted);
        self.start(&mut batch);
        let done = self.prepare(&mut batch, cx);
        let left = std::mem::take(&mut batch.selection);
        self.sifted = batch;
        std::mem::swap(&mut self.images, images);
        done?;
        Ok((left.len() < images.count()).then_some(left))
    }

    /// Makes a batch without columns of its own.
    fn start(&mut self, batch: &mut Batch) {
        let count = self.block.as_ref().map_or(self.images.count(), Block::rows);
        batch.columns.resize_with(self.columns.len(), Vector::empty);
        self.hide(batch);
        batch.columns.iter_mut().for_each(|shown| shown.set_constant(Value::Null, count));
        batch.set_rows(count);
        if let Some(block) = &self.block {
            batch.selection.copy_from(&block.live);
        }
    }

    /// Takes the columns out of a batch.
    fn hide(&mut self, batch: &mut Batch) {
        let columns = self.columns.iter_mut().zip(&mut batch.columns);
        columns.for_each(|(column, shown)| column.hide(shown));
    }

    /// Drops the rows for which the checks of some amounts of work are not all true.
    fn check(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        is_due: impl Fn(Work) -> bool,
    ) -> Result<()> {
        let Self { definition, images, block, columns, checks, kept, .. } = self;
        for check in checks.iter_mut().filter(|check| is_due(check.work)) {
            if batch.selection.is_empty() {
                break;
            }
            let label = ledger::labelled(Label::Scan);
            for place in &check.places {
                columns[*place].show((definition, images, block.as_ref()), batch, *place);
            }
            drop(label);
            check.condition.select(batch, &batch.selection, cx, kept)?;
            std::mem::swap(&mut batch.selection, kept);
        }
        Ok(())
    }

    /// Drops the rows that no join above has a match for.
    fn test(&mut self, batch: &mut Batch) {
        let _label = ledger::labelled(Label::Scan);
        let Self { definition, images, block, columns, tests, kept, .. } = self;
        for test in &mut *tests {
            if batch.selection.is_empty() {
                break;
            }
            columns[test.place].show((definition, images, block.as_ref()), batch, test.place);
            test.seen += batch.selection.len();
            test.keys.select(&batch.columns[test.place], &batch.selection, kept);
            std::mem::swap(&mut batch.selection, kept);
            test.kept += batch.selection.len();
        }
        tests.retain(Test::is_worthwhile);
    }
}

impl<'p> Stage<'p> for Decode<'p> {
    fn prepare(&mut self, batch: &mut Batch, cx: &mut Cx<'_>) -> Result<()> {
        // After a failure it is asked row by row: what was read for one is not there for the next.
        self.hide(batch);
        // What can fail is all there is, and comes first: if it does, nothing is dropped yet.
        self.check(batch, cx, |work| work == Work::Little)?;
        self.test(batch);
        self.check(batch, cx, |work| work > Work::Little)
    }

    fn give(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        if batch.selection.is_empty() {
            return Ok(Flow::More);
        }
        let label = ledger::labelled(Label::Scan);
        let Self { definition, images, block, columns, .. } = self;
        for (place, column) in columns.iter_mut().enumerate() {
            column.show((definition, images, block.as_ref()), batch, place);
        }
        drop(label);
        receive(cx, rows, batch)
    }
}

/// Rows as storage holds them.
pub(super) struct ImageRows<'t>(pub(super) Vec<RowImage<'t>>);

impl ImageRows<'_> {
    /// Keeps the rows of a selection.
    pub(super) fn retain(&mut self, rows: &Selection) {
        for (to, from) in rows.iter().enumerate() {
            self.0[to] = self.0[from];
        }
        self.0.truncate(rows.len());
    }
}

impl Images for ImageRows<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn bytes(&self, row: usize) -> &[u8] {
        self.0[row].bytes
    }

    #[inline]
    fn blobs(&self, row: usize) -> &[Bytes] {
        self.0[row].blobs
    }
}
