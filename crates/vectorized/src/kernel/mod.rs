//! Expressions over batches: a bound expression becomes a tree of steps, each a loop over vectors.
//!
//! What a step computes is aligned with the batch: row 5 of its output belongs to row 5 of the batch, and
//! rows that were not asked for hold anything. Where there is no kernel, `row` loads the registers that
//! the expression reads, row by row, and calls the row executor's `eval`; so every expression works,
//! and a kernel is an optimisation that `differential` of the engine's tests holds against it.
//!
//! **Errors.** A step that fails says only that it did. The whole expression is then evaluated row by row:
//! the error is that of the first row that fails in row mode, or there is none, where a kernel has
//! looked at a value that row mode would not have looked at.

mod arithmetic;
mod call;
mod case;
mod compare;
mod convert;
mod like;
mod list;
mod logic;
mod outside;
mod row;
mod side;
mod step;

use types::Result;
use types::batch::{Batch, Selection, Vector};

use executor::Cx;
use plan::expr::{Expr, Register};
pub(crate) use plan::safe::cannot_fail;
use row::RowStep;
use step::{Compiler, Scope, Step};

/// An expression compiled for the batches of one operator, with the vectors that it writes to.
pub struct Kernel<'p> {
    step: Box<dyn Step + 'p>,
    /// The same expression row by row, for the error of the right row.
    rows: RowStep<'p>,
    /// Whether the last evaluation went row by row.
    by_row: bool,
}

impl<'p> Kernel<'p> {
    /// Compiles an expression over batches whose columns are these registers. Any other register that
    /// it reads, and any variable, is taken from the context at each batch, as one value for all rows.
    pub fn new(expr: &'p Expr, layout: &[Register]) -> Self {
        let mut compiler = Compiler::new(layout);
        let step = compiler.compile(expr);
        Self { step, rows: compiler.row(expr), by_row: false }
    }

    /// Evaluates the expression for the rows of a selection. The output has a row for each row of the
    /// batch; those not selected hold anything.
    ///
    /// # Errors
    /// What row mode fails with at the first row that fails.
    pub fn evaluate<'a>(
        &'a mut self,
        batch: &'a Batch,
        rows: &Selection,
        cx: &mut Cx<'_>,
    ) -> Result<&'a Vector> {
        let scope = Scope { batch, locals: &[] };
        self.by_row = false;
        if let Err(error) = self.step.compute(&scope, rows, cx) {
            may_repeat(error, cx)?;
            self.by_row = true;
            self.rows.compute(&scope, rows, cx)?;
        }
        Ok(if self.by_row { self.rows.output(&scope) } else { self.step.output(&scope) })
    }

    /// Finds the rows of a selection for which the expression, a condition, is true.
    ///
    /// # Errors
    /// As [`Self::evaluate`].
    pub fn select(
        &mut self,
        batch: &Batch,
        rows: &Selection,
        cx: &mut Cx<'_>,
        out: &mut Selection,
    ) -> Result<()> {
        let scope = Scope { batch, locals: &[] };
        if let Err(error) = self.step.select(&scope, rows, cx, out) {
            may_repeat(error, cx)?;
            self.rows.select(&scope, rows, cx, out)?;
        }
        Ok(())
    }
}

/// Passes an error on that is not one of a value: it would not come again.
fn may_repeat(error: types::Error, cx: &Cx<'_>) -> Result<()> {
    if cx.fault.is_some() || cx.interrupted.is_some() { Err(error) } else { Ok(()) }
}
