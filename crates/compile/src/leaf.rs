//! Binds the leaves of programs: the statements, values and conditions that are evaluated.

use std::collections::HashSet;

use tsql::ast::AssignOp;
use types::{Error, Mode, Result};

use ::binder::Binder;
use ::binder::expr::{assign, bind_condition, bind_expr, check_not_null, convert_to};
use ::binder::query::compound;
use ::plan::expr::{Expr, ExprKind, Slot};
use ::plan::program::{Leaf, LeafAst, Program};
use ::plan::statement::{Bound, Scalar};
use ::session::class::ErrorClass;
use ::session::options::Meaning;

/// Binds a leaf's statement, value or condition.
pub fn bind_as(binder: &mut Binder<'_>, leaf: &Leaf, program: &Program) -> Result<Bound> {
    Ok(match &leaf.ast {
        LeafAst::Statement(statement) => match crate::browse::of(statement, binder) {
            Some(browsed) => crate::browse::bind(browsed, binder)?,
            None => ::binder::bind_statement(binder, statement)?,
        },
        LeafAst::Value(value) => {
            let expr = bind_expr(binder, value)?;
            scalar(expr, binder)?
        }
        LeafAst::Typed(value, ty) => {
            let expr = bind_expr(binder, value)?;
            scalar(convert_to(expr, ty, Mode::Implicit)?, binder)?
        }
        LeafAst::Returned(value, ty) => {
            let expr = bind_expr(binder, value)?;
            scalar(assign(expr, ty, Mode::Implicit)?, binder)?
        }
        LeafAst::Condition(condition) => {
            let expr = bind_condition(binder, condition)?;
            scalar(expr, binder)?
        }
        LeafAst::Assignment(slot, op, value) => {
            let expr = bind_expr(binder, value)?;
            let variable = &program.variables[slot.0 as usize];
            let value = assignment(variable.ty, (*slot, *op), expr, binder.meaning)?;
            scalar(check_not_null(value, &variable.name, &variable.ty)?, binder)?
        }
    })
}

/// Finds all unknown columns of a leaf, where `first` is the error of the first one. `Err` where
/// the leaf has another error too, such as a missing table, which an earlier statement may mend
/// before this one runs.
pub fn all_unfound(
    binder: &mut Binder<'_>,
    leaf: &Leaf,
    program: &Program,
    first: Error,
) -> Result<Error, Error> {
    // A column list has reported all of them already.
    if !is_unfound(&first) || !first.earlier.is_empty() {
        return Ok(first);
    }
    binder.unfound = Some(Vec::new());
    let rest = bind_as(binder, leaf, program).map(drop);
    let mut found = binder.unfound.take().unwrap_or_default();
    let rest = match rest {
        Err(error) if !ErrorClass::is_of_compilation(&error) => return Err(error),
        rest => rest,
    };
    // An expression may be bound twice: each position counts once.
    let mut seen = HashSet::new();
    found.retain(|(at, _)| seen.insert(*at));
    let mut errors: Vec<Error> = found.into_iter().map(|(_, error)| error).collect();
    errors.extend(rest.err().filter(is_unfound));
    let all = Error::all(errors).unwrap_or_else(|| first.clone());
    Ok(if first.line == 0 { all } else { all.at_line(first.line) })
}

/// Returns true for 207 or 4104, the errors of an unknown column.
fn is_unfound(error: &Error) -> bool {
    matches!(error.number, 207 | 4104)
}

fn scalar(mut expr: Expr, binder: &mut Binder<'_>) -> Result<Bound> {
    ::optimizer::expression(&mut binder.statement(), &mut expr)?;
    Ok(Bound::Scalar(Scalar { expr, registers: binder.registers }))
}

/// Makes the expression that is assigned to a variable: combined with the old value for `+=` and
/// the like, then converted to the variable's type.
pub fn assignment(
    ty: types::value::ColumnType,
    (slot, op): (Slot, AssignOp),
    value: Expr,
    meaning: Meaning,
) -> Result<Expr> {
    let old = Expr::new(ExprKind::Variable(slot), ty);
    assign(compound(op, old, value, meaning)?, &ty, Mode::Implicit)
}
