//! UNION, UNION ALL, EXCEPT and INTERSECT.

use types::Result;
use types::batch::{Batch, Selection, Vector};
use types::value::ColumnType;

use super::distinct::Seen;
use super::kernel::Kernel;
use super::{Flow, Input, Operator, Receive, Rows, Stage, compile, stream, with};
use executor::Cx;
use plan::expr::Register;
use plan::query::{Query, SetKind, SetOperation};
use plan::walk::Registers;

/// A set operation and its two sides.
pub(super) struct SetOperator<'p> {
    kind: SetKind,
    layout: &'p [Register],
    left: Side<'p>,
    right: Side<'p>,
    types: Vec<ColumnType>,
}

/// A side: its input, and its output in the operation's columns.
struct Side<'p> {
    input: Input<'p>,
    output: Output<'p>,
}

struct Output<'p> {
    kernels: Vec<Kernel<'p>>,
    batch: Batch,
    rule: Rule,
}

/// Which rows of a side are passed on.
enum Rule {
    All,
    /// Rows that are new.
    New(Box<Seen>),
    /// None: the rows are only recorded.
    Note(Box<Seen>),
    /// Rows that are new and in the other side (`wanted`), or new and not in it.
    Among {
        seen: Box<Seen>,
        others: Box<Seen>,
        wanted: bool,
    },
}

impl<'p> SetOperator<'p> {
    pub(super) fn new(operation: &'p SetOperation) -> Self {
        let types = operation.left.output.iter().map(|column| column.expr.ty).collect();
        Self {
            kind: operation.kind,
            layout: &operation.registers,
            left: Side::new(&operation.left),
            right: Side::new(&operation.right),
            types,
        }
    }
}

impl<'p> Side<'p> {
    fn new(query: &'p Query) -> Self {
        let exprs = || query.output.iter().map(|column| &column.expr);
        let input = compile(&query.root, &with(&Registers::default(), exprs()));
        let kernels = exprs().map(|expr| Kernel::new(expr, input.layout())).collect();
        let columns = exprs().map(|expr| Vector::with_capacity_for(&expr.ty)).collect();
        let output = Output { kernels, batch: Batch::new(columns), rule: Rule::All };
        Self { input, output }
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let Self { input, output } = self;
        input.run(cx, rows, &mut |cx, rows, batch| stream(output, batch, cx, rows, receive))
    }
}

impl<'p> Stage<'p> for Output<'p> {
    fn prepare(&mut self, batch: &mut Batch, cx: &mut Cx<'_>) -> Result<()> {
        self.batch.clear();
        for (kernel, column) in self.kernels.iter_mut().zip(&mut self.batch.columns) {
            column.append(kernel.evaluate(batch, &batch.selection, cx)?, &batch.selection);
        }
        self.batch.set_rows(batch.selection.len());
        Ok(())
    }

    fn give(
        &mut self,
        _: &mut Batch,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let all = Selection::all(self.batch.rows());
        let vectors: Vec<&Vector> = self.batch.columns.iter().collect();
        self.batch.selection = match &mut self.rule {
            Rule::All => all,
            Rule::New(seen) => seen.new_rows(&vectors, &all, cx)?,
            Rule::Note(seen) => {
                seen.new_rows(&vectors, &all, cx)?;
                return Ok(Flow::More);
            }
            Rule::Among { seen, others, wanted } => {
                let found = others.rows_seen(&vectors, &all, *wanted, cx)?;
                seen.new_rows(&vectors, &found, cx)?
            }
        };
        if self.batch.selection.is_empty() {
            return Ok(Flow::More);
        }
        receive(cx, rows, &mut self.batch)
    }
}

impl<'p> Operator<'p> for SetOperator<'p> {
    fn layout(&self) -> &[Register] {
        self.layout
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        match self.kind {
            SetKind::UnionAll => {}
            SetKind::Union => self.left.output.rule = Rule::New(Box::new(Seen::new(&self.types))),
            SetKind::Except | SetKind::Intersect => {
                self.right.output.rule = Rule::Note(Box::new(Seen::new(&self.types)));
                self.right.run(cx, rows, receive)?;
                let Rule::Note(others) = std::mem::replace(&mut self.right.output.rule, Rule::All)
                else {
                    unreachable!("set above")
                };
                let wanted = self.kind == SetKind::Intersect;
                let seen = Box::new(Seen::new(&self.types));
                self.left.output.rule = Rule::Among { seen, others, wanted };
                return self.left.run(cx, rows, receive);
            }
        }
        if self.left.run(cx, rows, receive)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
        self.right.output.rule = std::mem::replace(&mut self.left.output.rule, Rule::All);
        self.right.run(cx, rows, receive)
    }
}
