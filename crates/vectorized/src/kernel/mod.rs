//! Expressions over batches: compiles a bound expression to a tree of steps, each a loop over
//! vectors.
//!
//! The output of a step is aligned with the batch: row 5 of the output belongs to row 5 of the
//! batch, and rows that are not selected have arbitrary values. An expression without a kernel is
//! evaluated row by row: `row` loads the registers that it reads and calls the row executor's
//! `eval`. So every expression works, and a kernel is an optimisation, which the test
//! `differential` of the engine compares with row mode.
//!
//! **Errors.** A step that fails reports only that it failed. The whole expression is then
//! evaluated row by row: the error is that of the first row that fails in row mode, or there is
//! none, if a kernel has used a value that row mode would not have used.

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

/// An expression compiled for the batches of one operator, with its output vectors.
pub struct Kernel<'p> {
    step: Box<dyn Step + 'p>,
    /// The same expression evaluated row by row, to find the error of the first failing row.
    rows: RowStep<'p>,
    /// Whether the last evaluation was row by row.
    by_row: bool,
}

impl<'p> Kernel<'p> {
    /// Compiles an expression over batches whose columns are these registers. Any other register
    /// that it reads, and any variable, is read from the context once per batch, as one value for
    /// all rows.
    pub fn new(expr: &'p Expr, layout: &[Register]) -> Self {
        let mut compiler = Compiler::new(layout);
        let step = compiler.compile(expr);
        Self { step, rows: compiler.row(expr), by_row: false }
    }

    /// Evaluates the expression for the selected rows. The output has a row for each row of the
    /// batch; rows that are not selected have arbitrary values.
    ///
    /// # Errors
    /// The error of row mode for the first row that fails.
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

    /// Selects the rows for which the expression, a condition, is true.
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

/// Returns an error that is not about a value: evaluating again would not reproduce it.
fn may_repeat(error: types::Error, cx: &Cx<'_>) -> Result<()> {
    if cx.fault.is_some() || cx.interrupted.is_some() { Err(error) } else { Ok(()) }
}
