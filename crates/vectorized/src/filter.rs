//! Filter and Compute. A batch is passed on in place: Filter narrows its selection, Compute adds
//! columns.

use types::Result;
use types::batch::{Batch, Selection, Vector};

use super::bound::Bound;
use super::kernel::{Kernel, cannot_fail};
use super::parallel::Tables;
use super::restrict::Restriction;
use super::{Flow, Input, Operator, Receive, Rows, Stage, stream};
use executor::Cx;
use plan::expr::{Expr, ExprKind, Register};

/// Passes on the rows for which a predicate is true.
pub(super) struct Filter<'p> {
    input: Input<'p>,
    /// Whether the predicate can be evaluated for every row without error.
    is_safe: bool,
    stage: Narrow<'p>,
}

/// Narrows a selection to the rows for which a predicate is true.
pub(super) struct Narrow<'p> {
    predicate: Kernel<'p>,
    kept: Selection,
}

impl<'p> Narrow<'p> {
    pub(super) fn new(predicate: &'p Expr, layout: &[Register]) -> Self {
        Self { predicate: Kernel::new(predicate, layout), kept: Selection::default() }
    }
}

impl<'p> Stage<'p> for Narrow<'p> {
    fn prepare(&mut self, batch: &mut Batch, cx: &mut Cx<'_>) -> Result<()> {
        self.predicate.select(batch, &batch.selection, cx, &mut self.kept)?;
        std::mem::swap(&mut batch.selection, &mut self.kept);
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

impl<'p> Filter<'p> {
    pub(super) fn new(input: Input<'p>, predicate: &'p Expr) -> Self {
        let stage = Narrow::new(predicate, input.layout());
        Self { input, is_safe: cannot_fail(predicate), stage }
    }
}

impl<'p> Operator<'p> for Filter<'p> {
    fn layout(&self) -> &[Register] {
        self.input.layout()
    }

    fn restrict(&mut self, restriction: &Restriction) {
        if self.is_safe {
            self.input.restrict(restriction);
        }
    }

    fn bound(&mut self, bound: &Bound) {
        if self.is_safe {
            self.input.bound(bound);
        }
    }

    fn open(&mut self, cx: &mut Cx<'_>, rows: &mut Rows<'p>, tables: &mut Tables) -> Result<()> {
        self.input.open(cx, rows, tables)
    }

    fn adopt(&mut self, tables: &Tables) {
        self.input.adopt(tables);
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let Self { input, stage, .. } = self;
        input.run(cx, rows, &mut |cx, rows, batch| stream(stage, batch, cx, rows, receive))
    }
}

/// Adds a column for each expression, which may read those before it.
pub(super) struct Compute<'p> {
    input: Input<'p>,
    /// Whether the expressions can be evaluated for every row without error.
    is_safe: bool,
    computed: &'p [(Register, Expr)],
    layout: Vec<Register>,
    stage: Append<'p>,
}

struct Append<'p> {
    kernels: Vec<Kernel<'p>>,
    /// The columns, while they are not part of a batch.
    columns: Vec<Vector>,
}

impl<'p> Compute<'p> {
    pub(super) fn new(input: Input<'p>, computed: &'p [(Register, Expr)]) -> Self {
        let mut layout = input.layout().to_vec();
        let mut kernels = Vec::with_capacity(computed.len());
        for (register, expr) in computed {
            kernels.push(Kernel::new(expr, &layout));
            layout.push(*register);
        }
        let columns =
            computed.iter().map(|(_, expr)| Vector::with_capacity_for(&expr.ty)).collect();
        let is_safe = computed.iter().all(|(_, expr)| cannot_fail(expr));
        Self { input, is_safe, computed, layout, stage: Append { kernels, columns } }
    }
}

impl Append<'_> {
    /// Removes the added columns from the batch, the last one first.
    fn take_off(&mut self, batch: &mut Batch, count: usize) {
        let first = batch.columns.len() - count;
        for (place, column) in batch.columns.drain(first..).enumerate() {
            self.columns[place] = column;
        }
    }
}

impl<'p> Stage<'p> for Append<'p> {
    fn prepare(&mut self, batch: &mut Batch, cx: &mut Cx<'_>) -> Result<()> {
        for place in 0..self.kernels.len() {
            let mut column = std::mem::replace(&mut self.columns[place], Vector::empty());
            let computed = self.kernels[place].evaluate(batch, &batch.selection, cx);
            let computed = computed.map(|vector| column.copy_from(vector));
            if let Err(error) = computed {
                self.columns[place] = column;
                self.take_off(batch, place);
                return Err(error);
            }
            batch.columns.push(column);
        }
        Ok(())
    }

    fn give(
        &mut self,
        batch: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let flow = receive(cx, rows, batch);
        self.take_off(batch, self.kernels.len());
        flow
    }
}

impl<'p> Operator<'p> for Compute<'p> {
    fn layout(&self) -> &[Register] {
        &self.layout
    }

    fn restrict(&mut self, restriction: &Restriction) {
        if self.is_safe {
            self.input.restrict(restriction);
        }
    }

    fn bound(&mut self, bound: &Bound) {
        if !self.is_safe {
            return;
        }
        match self.computed.iter().rev().find(|(register, _)| *register == bound.register) {
            None => self.input.bound(bound),
            Some((_, Expr { kind: ExprKind::Column(register), .. })) => {
                self.input.bound(&bound.on(*register));
            }
            Some(_) => {}
        }
    }

    fn open(&mut self, cx: &mut Cx<'_>, rows: &mut Rows<'p>, tables: &mut Tables) -> Result<()> {
        self.input.open(cx, rows, tables)
    }

    fn adopt(&mut self, tables: &Tables) {
        self.input.adopt(tables);
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let Self { input, stage, .. } = self;
        input.run(cx, rows, &mut |cx, rows, batch| stream(stage, batch, cx, rows, receive))
    }
}
