//! Evaluates expressions without a kernel row by row, through the registers.

use smallvec::SmallVec;
use types::Result;
use types::batch::{Selection, Vector};

use super::step::{Scope, Step, passed};
use executor::Cx;
use executor::eval::{eval, truth};
use plan::expr::{Expr, Register};
use sos::sched::BytePace;

/// Where a register's values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A column of the batch.
    Column(usize),
    /// The value of an enclosing LET, 0 for the outermost.
    Local(usize),
}

impl Source {
    fn vector<'a>(self, scope: &Scope<'a, '_>) -> &'a Vector {
        match self {
            Self::Column(place) => &scope.batch.columns[place],
            Self::Local(place) => scope.locals[place],
        }
    }
}

impl Step for Source {
    fn compute(&mut self, _: &Scope<'_, '_>, _: &Selection, _: &mut Cx<'_>) -> Result<()> {
        Ok(())
    }

    fn output<'a>(&'a self, scope: &Scope<'a, '_>) -> &'a Vector {
        self.vector(scope)
    }
}

/// Evaluates an expression row by row.
pub(super) struct RowStep<'p> {
    expr: &'p Expr,
    /// The registers that it reads, and the sources of their values.
    loads: SmallVec<[(Register, Source); 4]>,
    output: Vector,
}

impl<'p> RowStep<'p> {
    pub(super) fn new(expr: &'p Expr, loads: SmallVec<[(Register, Source); 4]>) -> Self {
        Self { expr, loads, output: Vector::with_capacity_for(&expr.ty) }
    }

    /// Loads the registers of a row, and returns the bytes of its strings.
    fn load(&self, scope: &Scope<'_, '_>, row: usize, cx: &mut Cx<'_>) -> usize {
        let mut bytes = 0;
        for (register, source) in &self.loads {
            let value = source.vector(scope).get(row);
            bytes += value.string_bytes().map_or(0, <[u8]>::len);
            cx.registers[register.index()] = value;
        }
        bytes
    }
}

impl Step for RowStep<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        self.output.clear();
        let mut pace = BytePace::new();
        for row in rows.iter() {
            (self.output.len()..row).for_each(|_| self.output.push_hole());
            let bytes = self.load(scope, row, cx);
            passed(&mut pace, bytes, cx)?;
            self.output.push(&eval(self.expr, cx)?);
        }
        (self.output.len()..scope.batch.rows()).for_each(|_| self.output.push_hole());
        Ok(())
    }

    fn output<'a>(&'a self, _: &Scope<'a, '_>) -> &'a Vector {
        &self.output
    }

    fn select(
        &mut self,
        scope: &Scope<'_, '_>,
        rows: &Selection,
        cx: &mut Cx<'_>,
        out: &mut Selection,
    ) -> Result<()> {
        out.clear();
        let mut pace = BytePace::new();
        for row in rows.iter() {
            let bytes = self.load(scope, row, cx);
            passed(&mut pace, bytes, cx)?;
            if truth(self.expr, cx)?.is_true() {
                out.push(row);
            }
        }
        Ok(())
    }
}
