//! DISTINCT: passes on the rows whose keys are new.

use sos::ledger::{self, Label};
use types::Result;
use types::batch::{Batch, Selection, Vector};
use types::value::ColumnType;

use super::interner::Unknown;
use super::kernel::Kernel;
use super::keys::{KeyRows, Keys, NullKeys};
use super::long_keys::with_keys;
use super::table::KeyTable;
use super::{Flow, Input, Operator, Receive, Rows, Stage, compile, stream, with};
use executor::Cx;
use executor::grant::Charge;
use plan::expr::{Expr, Register};
use plan::query::Node;
use plan::walk::Registers;

/// DISTINCT over the keys of its input.
pub(super) struct Distinct<'p> {
    input: Input<'p>,
    stage: FirstOfEach<'p>,
}

struct FirstOfEach<'p> {
    kernels: Vec<Kernel<'p>>,
    seen: Seen,
}

impl<'p> Distinct<'p> {
    pub(super) fn new(distinct: &'p (Node, Vec<Expr>), needed: &Registers) -> Self {
        let (input, keys) = distinct;
        let input = compile(input, &with(needed, keys));
        let kernels = keys.iter().map(|key| Kernel::new(key, input.layout())).collect();
        let types: Vec<ColumnType> = keys.iter().map(|key| key.ty).collect();
        let stage = FirstOfEach { kernels, seen: Seen::new(&types) };
        Self { input, stage }
    }
}

impl<'p> Operator<'p> for Distinct<'p> {
    fn layout(&self) -> &[Register] {
        self.input.layout()
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let Self { input, stage } = self;
        input.run(cx, rows, &mut |cx, rows, batch| stream(stage, batch, cx, rows, receive))
    }
}

impl<'p> Stage<'p> for FirstOfEach<'p> {
    fn prepare(&mut self, batch: &mut Batch, cx: &mut Cx<'_>) -> Result<()> {
        let mut vectors = Vec::with_capacity(self.kernels.len());
        for kernel in &mut self.kernels {
            vectors.push(kernel.evaluate(batch, &batch.selection, cx)?);
        }
        let kept = self.seen.new_rows(&vectors, &batch.selection, cx)?;
        batch.selection = kept;
        Ok(())
    }

    fn give(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        if batch.selection.is_empty() { Ok(Flow::More) } else { receive(cx, rows, batch) }
    }
}

/// The set of keys seen so far.
pub(super) struct Seen {
    keys: Keys,
    table: KeyTable,
    rows: KeyRows,
    numbers: Vec<u32>,
    /// Its share of the query's memory grant.
    charge: Option<Charge>,
}

impl Seen {
    pub(super) fn new(types: &[ColumnType]) -> Self {
        let keys = Keys::new(types, NullKeys::Equal);
        let table = KeyTable::new(keys.width());
        Self { keys, table, rows: KeyRows::default(), numbers: Vec::new(), charge: None }
    }

    /// Adds the keys of the selected rows; returns the rows whose keys are new.
    ///
    /// # Errors
    /// 701 if the query gets no more memory.
    pub(super) fn new_rows(
        &mut self,
        vectors: &[&Vector],
        selection: &Selection,
        cx: &Cx<'_>,
    ) -> Result<Selection> {
        let _label = ledger::labelled(Label::Aggregate);
        let mut next = u32::try_from(self.table.len()).unwrap_or(u32::MAX);
        with_keys(vectors, selection, cx, || self.number(vectors, selection, Unknown::Add))?;
        let mut kept = Selection::default();
        kept.clear();
        for (row, number) in selection.iter().zip(&self.numbers) {
            if *number == next {
                next += 1;
                kept.push(row);
            }
        }
        let charge = self.charge.get_or_insert_with(|| cx.session.accounting.grant.charge(0));
        charge.set(self.keys.memory() + self.table.memory())?;
        Ok(kept)
    }

    /// Returns the rows whose keys have been seen, or those whose keys have not.
    ///
    /// # Errors
    /// As [`with_keys`].
    pub(super) fn rows_seen(
        &mut self,
        vectors: &[&Vector],
        selection: &Selection,
        wanted: bool,
        cx: &Cx<'_>,
    ) -> Result<Selection> {
        let _label = ledger::labelled(Label::Aggregate);
        with_keys(vectors, selection, cx, || self.number(vectors, selection, Unknown::Skip))?;
        let mut kept = Selection::default();
        kept.clear();
        let mut without = self.rows.without.iter().copied().peekable();
        for (place, (row, number)) in selection.iter().zip(&self.numbers).enumerate() {
            let is_unknown = without.next_if_eq(&place).is_some();
            if (!is_unknown && *number != super::table::NONE) == wanted {
                kept.push(row);
            }
        }
        Ok(kept)
    }

    fn number(&mut self, vectors: &[&Vector], selection: &Selection, unknown: Unknown) {
        self.keys.widen(vectors, &mut self.table);
        self.keys.encode(vectors, selection, unknown, &mut self.rows);
        self.numbers.clear();
        let (words, rows) = (&self.rows.words, self.rows.rows);
        match unknown {
            Unknown::Add => self.table.insert_all(words, rows, &mut self.numbers),
            Unknown::Skip => self.table.find_all(words, rows, &mut self.numbers),
        }
    }
}
