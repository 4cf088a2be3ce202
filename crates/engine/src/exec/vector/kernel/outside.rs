//! Values from outside of the batch: constants, variables, outer registers, and what the session says.

use types::batch::{Selection, Vector};
use types::{Result, Value};

use super::step::{Scope, Step};
use crate::exec::Cx;
use crate::exec::eval::eval;
use crate::func::Evaluate;
use crate::plan::expr::{Expr, ExprKind};

/// One value for all rows of a batch.
pub(super) struct Outside<'p> {
    expr: &'p Expr,
    output: Vector,
}

/// Functions of the session that give another value at each call.
const RESTLESS: [&str; 3] = ["NEWID", "NEWSEQUENTIALID", "RAND"];

/// Tells whether an expression that reads no column of the batch has one value for all rows.
pub(super) fn is_outside(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(_) | ExprKind::Variable(_) | ExprKind::Column(_) => true,
        ExprKind::Once(..) => true,
        ExprKind::Call(function, _) => {
            matches!(function.eval, Evaluate::Session(_)) && !RESTLESS.contains(&function.name)
        }
        _ => false,
    }
}

impl<'p> Outside<'p> {
    pub(super) fn new(expr: &'p Expr) -> Self {
        Self { expr, output: Vector::constant(Value::Null, &expr.ty, 0) }
    }
}

impl Step for Outside<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        let value = if rows.is_empty() { Value::Null } else { eval(self.expr, cx)? };
        self.output.set_constant(value, scope.batch.rows());
        Ok(())
    }

    fn output<'a>(&'a self, _: &Scope<'a, '_>) -> &'a Vector {
        &self.output
    }
}
