//! `Step`: a node of a compiled expression, and the compiler that chooses one for each expression.

use types::batch::{Batch, Data, Selection, Vector};
use types::{Result, Value};

use super::outside::{Outside, is_outside};
use super::row::{RowStep, Source};
use crate::exec::Cx;
use crate::plan::expr::{Expr, ExprKind, Register};
use crate::plan::walk;

/// What steps read: the batch, and the values that LET has made.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a, 's> {
    pub(super) batch: &'a Batch,
    pub(super) locals: &'s [&'a Vector],
}

/// A node of a compiled expression. It owns the vector that it writes to.
pub(super) trait Step {
    /// Computes the output for the rows of a selection.
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()>;

    /// Returns what the last [`Self::compute`] has made, in the same scope.
    fn output<'a>(&'a self, scope: &Scope<'a, '_>) -> &'a Vector;

    /// Finds the rows for which the step, a condition, is true.
    fn select(
        &mut self,
        scope: &Scope<'_, '_>,
        rows: &Selection,
        cx: &mut Cx<'_>,
        out: &mut Selection,
    ) -> Result<()> {
        self.compute(scope, rows, cx)?;
        select_true(self.output(scope), rows, out);
        Ok(())
    }
}

/// Selects the rows in which a vector of conditions is true.
pub(super) fn select_true(truths: &Vector, rows: &Selection, out: &mut Selection) {
    match truths.data() {
        Data::Constant(Value::Bit(true), _) => out.copy_from(rows),
        Data::Constant(..) => out.clear(),
        Data::Bit(bits) if truths.nulls().is_none() => out.filter(rows, |row| bits[row]),
        Data::Bit(bits) => out.filter(rows, |row| bits[row] & !truths.nulls().is_null(row)),
        _ => out.filter(rows, |row| truths.get(row) == Value::Bit(true)),
    }
}

/// Makes steps of expressions.
pub(super) struct Compiler<'l> {
    layout: &'l [Register],
    /// Registers of the LETs around, outermost first.
    locals: Vec<Register>,
}

impl<'l> Compiler<'l> {
    pub(super) const fn new(layout: &'l [Register]) -> Self {
        Self { layout, locals: Vec::new() }
    }

    /// Makes the step of an expression.
    pub(super) fn compile<'p>(&mut self, expr: &'p Expr) -> Box<dyn Step + 'p> {
        if let ExprKind::Column(register) = expr.kind
            && let Some(source) = self.source(register)
        {
            return Box::new(source);
        }
        if is_outside(expr) {
            return Box::new(Outside::new(expr));
        }
        Box::new(self.row(expr))
    }

    /// Makes the step that evaluates an expression row by row.
    pub(super) fn row<'p>(&self, expr: &'p Expr) -> RowStep<'p> {
        let reads = walk::reads(expr);
        let places = self.layout.iter().chain(&self.locals).copied();
        let loads = places
            .filter(|register| reads.contains(*register))
            .filter_map(|register| Some((register, self.source(register)?)))
            .collect();
        RowStep::new(expr, loads)
    }

    /// Finds where a register is read: the innermost LET of it, a column, or nowhere here.
    fn source(&self, register: Register) -> Option<Source> {
        let local = self.locals.iter().rposition(|r| *r == register).map(Source::Local);
        local.or_else(|| self.layout.iter().position(|r| *r == register).map(Source::Column))
    }
}
