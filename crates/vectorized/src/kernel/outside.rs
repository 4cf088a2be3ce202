//! Values that are the same for all rows of a batch: constants, variables, outer registers, and
//! functions of the session.

use types::batch::{Selection, Vector};
use types::{Result, Value};

use super::step::{Scope, Step};
use executor::Cx;
use executor::eval::eval;
use plan::expr::{Expr, ExprKind, Register};
use plan::function::{self, Evaluate};
use plan::walk;

/// One value for all rows of a batch.
pub(super) struct Outside<'p> {
    expr: &'p Expr,
    /// Whether the value is the same for all batches of a run; then it is computed once.
    is_fixed: bool,
    known: Option<Value>,
    output: Vector,
}

/// Returns true if an expression has one value for all rows of a batch. `has_column` returns
/// whether a register is a column of the batch.
pub(super) fn is_outside(expr: &Expr, has_column: impl Fn(Register) -> bool) -> bool {
    if matches!(expr.kind, ExprKind::Once(..)) {
        return true;
    }
    let mut is_outside = true;
    walk::visit(expr, &mut |e| {
        is_outside &= match &e.kind {
            ExprKind::Column(register) => !has_column(*register),
            ExprKind::Call(function, _) => !function::is_volatile(function.name),
            ExprKind::NextValue(_)
            | ExprKind::CallUser(_)
            | ExprKind::ScalarSubquery(_)
            | ExprKind::Exists(_)
            | ExprKind::Quantified(_) => false,
            _ => true,
        };
    });
    is_outside
}

/// Returns true if such an expression has one value for all batches.
fn is_fixed(expr: &Expr) -> bool {
    let mut is_fixed = true;
    walk::visit(expr, &mut |e| {
        is_fixed &= match &e.kind {
            ExprKind::Column(_) | ExprKind::Variable(_) | ExprKind::Once(..) => false,
            ExprKind::Call(function, _) => !matches!(function.eval, Evaluate::Session(_)),
            _ => true,
        };
    });
    is_fixed
}

impl<'p> Outside<'p> {
    pub(super) fn new(expr: &'p Expr) -> Self {
        let output = Vector::constant(Value::Null, &expr.ty, 0);
        Self { expr, is_fixed: is_fixed(expr), known: None, output }
    }

    /// Computes the value, which may fail; not called if no row is selected.
    fn value(&mut self, rows: &Selection, cx: &mut Cx<'_>) -> Result<Value> {
        if rows.is_empty() {
            return Ok(Value::Null);
        }
        if let Some(known) = &self.known {
            return Ok(known.clone());
        }
        let value = eval(self.expr, cx)?;
        if self.is_fixed {
            self.known = Some(value.clone());
        }
        Ok(value)
    }
}

impl Step for Outside<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        let value = self.value(rows, cx)?;
        self.output.set_constant(value, scope.batch.rows());
        Ok(())
    }

    fn output<'a>(&'a self, _: &Scope<'a, '_>) -> &'a Vector {
        &self.output
    }
}
