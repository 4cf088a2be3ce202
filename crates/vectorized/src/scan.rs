//! Table scans: reads row images from storage's cursor and decodes their columns into vectors.
//!
//! A column is decoded when it is first read, and only for rows that are left by then. If no part
//! of the predicate can fail, its conditions on numbers and dates are evaluated before those on
//! strings. A join above may have passed the keys that can match (`restrict.rs`); they are tested
//! between the two. A condition on one string column is evaluated once for each entry of its
//! dictionary (`coded.rs`). A sort with a limit above passes its bound (`bound.rs`), which is tested
//! before patterns are searched. The first batches are small, so that TOP and EXISTS do not pay for a thousand
//! rows.

use std::rc::Rc;
use std::sync::Arc;

use sos::ledger::{self, Label};
use storage::RowImage;
use types::batch::{BATCH_ROWS, Batch, Selection, Vector};
use types::row::Images;
use types::{Bytes, Result, Value};

use super::bound::Bound;
use super::coded::Answers;
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

/// Number of rows of the first batch.
const FIRST_ROWS: usize = if cfg!(debug_assertions) { 3 } else { 64 };

/// A scan of a table: its delta store or rows, then its compressed blocks.
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
        let mut decode = Decode::new(table_of(&scan.table), &ordinals, checks);
        decode.answer_by_code();
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

    fn bound(&mut self, bound: &Bound) {
        let place = self.layout.iter().position(|register| *register == bound.register);
        // A row that is dropped must not suppress an error of the predicate.
        let is_safe = self.scan.residual.as_ref().is_none_or(cannot_fail);
        if let Some(place) = place.filter(|_| is_safe) {
            self.decode.bound = Some((place, bound.clone()));
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
        // The leader has decided for all workers which rows are read from the columnstore index.
        let view = query::column_view(self.scan, cx, rows)?;
        if let Some(cursor) = cursor.whole() {
            if let Some(share) = &share {
                cursor.share(share.parts());
            }
            if let Some(view) = view {
                cursor.pass_over(view);
            }
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
            // Rows before the failing one are passed on.
            let count = self.decode.images.0.len();
            cx.count_reads(self.scan, count as u64);
            if count > 0 {
                fault::batch_passed(cx)?;
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
    /// Reads the compressed rows, after those of the delta store.
    fn run_blocks(
        &mut self,
        mut blocks: Blocks<'p>,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        while let Some(block) = blocks.next_block().map_err(|e| fault::raise(cx, e))? {
            fault::batch_passed(cx)?;
            if !self.decode.needs(&block) {
                continue;
            }
            cx.count_reads(self.scan, block.live.len() as u64);
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

/// Decodes row images into batches.
pub(super) struct Decode<'p> {
    definition: &'p TableDef,
    images: ImageRows<'p>,
    /// The block whose rows are read, once there are no more images.
    block: Option<Block<'p>>,
    columns: Vec<Column>,
    /// The conditions of the predicate, in the order of evaluation.
    checks: Vec<Check<'p>>,
    /// The restrictions passed by joins above.
    tests: Vec<Test>,
    /// The bound passed by a sort above, on the column at a position.
    bound: Option<(usize, Bound)>,
    kept: Selection,
    /// The batch used by [`Self::sift`].
    sifted: Batch,
}

/// A condition of a predicate.
pub(super) struct Check<'p> {
    condition: Kernel<'p>,
    /// Positions of the columns that it reads.
    places: Vec<usize>,
    work: Work,
    /// Whether it can be evaluated for any string without error.
    is_safe: bool,
    /// Its answers for the entries of a dictionary, if it reads one string column.
    answers: Option<Answers>,
}

impl<'p> Check<'p> {
    fn new(condition: &'p Expr, layout: &[Register], work: Work) -> Self {
        let read = walk::reads(condition);
        let places = layout.iter().enumerate().filter(|(_, register)| read.contains(**register));
        let places = places.map(|(place, _)| place).collect();
        let is_safe = cannot_fail(condition);
        Self { condition: Kernel::new(condition, layout), places, work, is_safe, answers: None }
    }
}

/// The cost of a condition per row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    /// Compares numbers, dates or times.
    Little,
    /// Compares strings, or contains OR.
    Some,
    /// Searches a pattern (LIKE).
    Much,
}

/// Splits a predicate into conditions, the cheapest first; one that can fail is not split.
fn checks_of<'p>(predicate: &'p Expr, layout: &[Register]) -> Vec<Check<'p>> {
    match &predicate.kind {
        // Nothing may be tested before a condition that can fail.
        _ if !cannot_fail(predicate) => vec![Check::new(predicate, layout, Work::Little)],
        ExprKind::And(list) => by_work(list.iter(), layout),
        _ => by_work(std::iter::once(predicate), layout),
    }
}

/// Makes checks of conditions that can't fail, the cheapest first.
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

/// A restriction, with the number of rows that it has seen and kept.
struct Test {
    keys: Arc<KeyFilter>,
    /// Position of the column in the batch.
    place: usize,
    seen: usize,
    kept: usize,
}

/// Rows after which a test that keeps most rows is dropped.
const TRIAL_ROWS: usize = 4 * BATCH_ROWS;

impl Test {
    fn is_worthwhile(&self) -> bool {
        self.seen < TRIAL_ROWS || self.kept * 4 < self.seen * 3
    }
}

/// A column of the table that the scan reads.
struct Column {
    ordinal: usize,
    /// Its values while they are hidden; the batch's placeholder while they are shown.
    vector: Vector,
    /// Whether the batch has the column's values. Otherwise it has NULLs, which no operator reads.
    is_shown: bool,
}

/// The source of rows: images, or a block instead.
type Source<'a> = (&'a TableDef, &'a ImageRows<'a>, Option<&'a Block<'a>>);

impl Column {
    /// Decodes the column of the selected rows into a batch, if that has not been done.
    fn show(&mut self, (definition, images, block): Source<'_>, batch: &mut Batch, place: usize) {
        if std::mem::replace(&mut self.is_shown, true) {
            return;
        }
        match block {
            Some(block) => block.read_rows(self.ordinal, &batch.selection, &mut self.vector),
            None => {
                let (layout, rows) = (&definition.layout, &batch.selection);
                layout.decode_column(self.ordinal, images, rows, &mut self.vector);
            }
        }
        std::mem::swap(&mut self.vector, &mut batch.columns[place]);
    }

    /// Takes the column out of a batch, to reuse its memory for the next one.
    fn hide(&mut self, shown: &mut Vector) {
        if std::mem::take(&mut self.is_shown) {
            std::mem::swap(&mut self.vector, shown);
        }
    }
}

impl<'p> Decode<'p> {
    /// Makes a decoder of these columns that keeps the rows that satisfy the checks.
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
            bound: None,
            kept: Selection::default(),
            sifted: Batch::default(),
        }
    }

    /// Makes the checks that read one string column ready to test dictionaries.
    fn answer_by_code(&mut self) {
        let Self { definition, columns, checks, .. } = self;
        for check in checks.iter_mut().filter(|check| check.is_safe) {
            if let [place] = check.places[..] {
                let ordinal = columns[place].ordinal;
                let ty = &definition.layout.columns()[ordinal];
                check.answers = Answers::new(place, columns.len(), ordinal, ty);
            }
        }
    }

    /// Returns whether a block may have rows that a sort above needs.
    fn needs(&self, block: &Block<'_>) -> bool {
        let Some((place, bound)) = &self.bound else { return true };
        let ordinal = self.columns[*place].ordinal;
        let Some(zone) = block.zone(ordinal).filter(|_| bound.is_set()) else { return true };
        bound.needs_some(zone.least, zone.largest)
            || (bound.needs_nulls() && block.nulls(ordinal) > 0)
    }

    /// Adds a restriction of the column at a position.
    pub(super) fn add_test(&mut self, restriction: &Restriction, place: usize) {
        self.tests.push(Test { keys: restriction.keys.clone(), place, seen: 0, kept: 0 });
    }

    /// Returns which of some rows satisfy the predicate and the restrictions; `None` if all do.
    ///
    /// # Errors
    /// The errors of the predicate.
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

    /// Prepares a batch whose columns are all hidden.
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

    /// Takes the decoded columns out of a batch.
    fn hide(&mut self, batch: &mut Batch) {
        let columns = self.columns.iter_mut().zip(&mut batch.columns);
        columns.for_each(|(column, shown)| column.hide(shown));
    }

    /// Drops the rows that do not satisfy the checks of the selected costs.
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
            let is_hidden = check.places.iter().all(|place| !columns[*place].is_shown);
            if let (Some(block), Some(answers), true) = (&*block, &mut check.answers, is_hidden)
                && answers.select(&mut check.condition, block, &batch.selection, cx, kept)?
            {
                std::mem::swap(&mut batch.selection, kept);
                continue;
            }
            for place in &check.places {
                columns[*place].show((definition, images, block.as_ref()), batch, *place);
            }
            drop(label);
            check.condition.select(batch, &batch.selection, cx, kept)?;
            std::mem::swap(&mut batch.selection, kept);
        }
        Ok(())
    }

    /// Drops the rows that a sort above does not need.
    fn test_bound(&mut self, batch: &mut Batch) {
        let Self { definition, images, block, columns, bound, kept, .. } = self;
        let Some((place, bound)) = bound else { return };
        if batch.selection.is_empty() || !bound.is_set() {
            return;
        }
        let _label = ledger::labelled(Label::Scan);
        columns[*place].show((definition, images, block.as_ref()), batch, *place);
        bound.select(&batch.columns[*place], &batch.selection, kept);
        std::mem::swap(&mut batch.selection, kept);
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
        // After an error the stage is called row by row: columns decoded for one row are not valid
        // for the next.
        self.hide(batch);
        // A predicate that can fail is the only check and comes first, so no row is dropped before
        // it fails.
        self.check(batch, cx, |work| work == Work::Little)?;
        self.test(batch);
        self.check(batch, cx, |work| work == Work::Some)?;
        self.test_bound(batch);
        self.check(batch, cx, |work| work == Work::Much)
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

/// Row images, as storage returned them.
pub(super) struct ImageRows<'t>(pub(super) Vec<RowImage<'t>>);

impl ImageRows<'_> {
    /// Keeps only the rows of a selection.
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
