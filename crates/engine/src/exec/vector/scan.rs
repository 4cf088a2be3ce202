//! Table scans: row images from storage's cursor, their columns decoded into vectors.
//!
//! The columns that the predicate reads come first; the others are decoded for the rows it leaves. The
//! A join above may know which rows can match (`restrict.rs`): these are tested between the two. The
//! first batches are small, so that whoever wants only a few rows (TOP, EXISTS) does not pay for a
//! thousand.

use std::rc::Rc;

use sos::ledger::{self, Label};
use storage::RowImage;
use types::batch::{BATCH_ROWS, Batch, Selection, Vector};
use types::row::Images;
use types::{Bytes, Result};

use super::kernel::Kernel;
use super::pushdown::SharedPushdown;
use super::restrict::{KeyFilter, Restriction};
use super::{Flow, Operator, Receive, Rows, Stage, stream};
use crate::catalog::TableDef;
use crate::exec::columnstore::Block;
use crate::exec::{Cx, fault, query};
use crate::plan::expr::Register;
use crate::plan::query::Scan;
use crate::plan::statement::table_of;
use crate::plan::walk::{self, Registers};

/// Rows of the first batch.
const FIRST_ROWS: usize = if cfg!(debug_assertions) { 3 } else { 64 };

/// Ordinals of columns, and the registers they go to.
type Places = Vec<(u16, Register)>;

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
        let definition = table_of(&scan.table);
        let (first, rest): (Places, Places) = scan
            .columns
            .iter()
            .copied()
            .filter(|(_, register)| tested.contains(*register) || needed.contains(*register))
            .partition(|(_, register)| tested.contains(*register));
        let layout: Vec<Register> = first.iter().chain(&rest).map(|column| column.1).collect();
        let columns = |list: &[(u16, Register)]| {
            let column = |ordinal: u16| Column {
                ordinal: usize::from(ordinal),
                vector: Vector::with_capacity_for(
                    &definition.layout.columns()[usize::from(ordinal)],
                ),
                is_decoded: false,
            };
            list.iter().map(|(ordinal, _)| column(*ordinal)).collect()
        };
        let decode = Decode {
            definition,
            images: ImageRows(Vec::new()),
            block: None,
            residual: scan.residual.as_ref().map(|e| Kernel::new(e, &layout[..first.len()])),
            first: columns(&first),
            rest: columns(&rest),
            tests: Vec::new(),
            kept: Selection::default(),
        };
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
            let keys = restriction.keys.clone();
            self.decode.tests.push(Test { keys, place, seen: 0, kept: 0 });
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
            if count == 0 {
                break;
            }
            rows_max = (rows_max * 2).min(BATCH_ROWS);
        }
        self.run_blocks(&mut batch, cx, rows, receive)
    }
}

impl<'p> TableScan<'p> {
    /// Gives the compressed rows, behind those of the delta store.
    fn run_blocks(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let Some(mut blocks) = query::blocks(self.scan, cx, rows)? else { return Ok(Flow::More) };
        while let Some(block) = blocks.next().map_err(|e| fault::raise(cx, e))? {
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
struct Decode<'p> {
    definition: &'p TableDef,
    images: ImageRows<'p>,
    /// The compressed rows in their place, once there are no more images.
    block: Option<Block<'p>>,
    /// Columns that the predicate reads.
    first: Vec<Column>,
    /// The others.
    rest: Vec<Column>,
    residual: Option<Kernel<'p>>,
    /// What joins above know of the rows that can match.
    tests: Vec<Test>,
    kept: Selection,
}

/// A restriction, and what has come of it.
struct Test {
    keys: Rc<KeyFilter>,
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

/// A column of the table, and its vector while it is not in a batch.
struct Column {
    ordinal: usize,
    vector: Vector,
    /// Whether the vector holds the rows of this batch already.
    is_decoded: bool,
}

impl Decode<'_> {
    /// Makes a batch of the predicate's columns.
    fn start(&mut self, batch: &mut Batch) {
        let _label = ledger::labelled(Label::Scan);
        let count = self.block.as_ref().map_or(self.images.count(), Block::rows);
        let all = Selection::all(count);
        take_off(&mut self.first, batch);
        let source = (self.definition, &self.images, self.block.as_ref());
        add(&mut self.first, source, &all, batch);
        batch.set_rows(count);
        if let Some(block) = &self.block {
            batch.selection.copy_from(&block.live);
        }
    }

    /// Drops the rows that no join above has a match for.
    fn test(&mut self, batch: &mut Batch) {
        let _label = ledger::labelled(Label::Scan);
        let Self { definition, images, block, first, rest, tests, kept, .. } = self;
        rest.iter_mut().for_each(|column| column.is_decoded = false);
        for test in &mut *tests {
            if batch.selection.is_empty() {
                break;
            }
            let column = match test.place.checked_sub(first.len()) {
                None => &batch.columns[test.place],
                Some(place) => {
                    let column = &mut rest[place];
                    column.decode((definition, images, block.as_ref()), &batch.selection);
                    &column.vector
                }
            };
            test.seen += batch.selection.len();
            test.keys.select(column, &batch.selection, kept);
            std::mem::swap(&mut batch.selection, kept);
            test.kept += batch.selection.len();
        }
        tests.retain(Test::is_worthwhile);
    }
}

impl Column {
    /// Reads the column of this batch, if that has not been done.
    fn decode(&mut self, (definition, images, block): Source<'_>, rows: &Selection) {
        if std::mem::replace(&mut self.is_decoded, true) {
            return;
        }
        match block {
            Some(block) => block.read(self.ordinal, &mut self.vector),
            None => definition.layout.decode_column(self.ordinal, images, rows, &mut self.vector),
        }
    }
}

/// What rows are read from: images, or a block in their place.
type Source<'a> = (&'a TableDef, &'a ImageRows<'a>, Option<&'a Block<'a>>);

/// Reads columns and adds them to a batch.
fn add(columns: &mut [Column], source: Source<'_>, selection: &Selection, batch: &mut Batch) {
    for column in columns {
        column.decode(source, selection);
        column.is_decoded = false;
        batch.columns.push(std::mem::replace(&mut column.vector, Vector::empty()));
    }
}

/// Takes the last columns off a batch, so that their memory serves the next one; none if it has none.
fn take_off(columns: &mut [Column], batch: &mut Batch) {
    let first = batch.columns.len().saturating_sub(columns.len());
    for (column, vector) in columns.iter_mut().zip(batch.columns.drain(first..)) {
        column.vector = vector;
    }
}

impl<'p> Stage<'p> for Decode<'p> {
    fn prepare(&mut self, batch: &mut Batch, cx: &mut Cx<'_>) -> Result<()> {
        if let Some(residual) = &mut self.residual {
            residual.select(batch, &batch.selection, cx, &mut self.kept)?;
            std::mem::swap(&mut batch.selection, &mut self.kept);
        }
        self.test(batch);
        Ok(())
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
        let selection = std::mem::take(&mut batch.selection);
        let source = (self.definition, &self.images, self.block.as_ref());
        add(&mut self.rest, source, &selection, batch);
        batch.selection = selection;
        drop(label);
        let flow = receive(cx, rows, batch);
        take_off(&mut self.rest, batch);
        flow
    }
}

/// Rows as storage holds them.
pub(super) struct ImageRows<'t>(pub(super) Vec<RowImage<'t>>);

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
