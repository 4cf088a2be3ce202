//! CASE, IIF, COALESCE and NULLIF: all become searched CASE.

use tsql::ast;
use types::type_rules;
use types::value::ColumnType;
use types::{Collation, DataType, Mode, Msg, Result, Value};

use crate::Binder;
use crate::expr::convert::strength;
use crate::expr::{bind_condition, bind_expr, condition, convert_to};
use plan::depth;
use plan::expr::{CompareOp, Expr, ExprKind, Register};

pub(crate) fn bind_searched(
    binder: &mut Binder<'_>,
    branches: &[(ast::Condition, ast::Expr)],
    otherwise: Option<&ast::Expr>,
) -> Result<Expr> {
    let mut bound = Vec::with_capacity(branches.len());
    for (condition, result) in branches {
        bound.push((bind_condition(binder, condition)?, bind_expr(binder, result)?));
    }
    let otherwise = otherwise.map(|e| bind_expr(binder, e)).transpose()?;
    finish(bound, otherwise)
}

pub(crate) fn bind_simple(
    binder: &mut Binder<'_>,
    input: &ast::Expr,
    branches: &[(ast::Expr, ast::Expr)],
    otherwise: Option<&ast::Expr>,
) -> Result<Expr> {
    let input = bind_expr(binder, input)?;
    let (input, hoisted) = hoist(binder, input);
    let mut bound = Vec::with_capacity(branches.len());
    for (value, result) in branches {
        let value = bind_expr(binder, value)?;
        let test = condition::compare_written(binder, CompareOp::Equal, input.clone(), value)?;
        bound.push((test, bind_expr(binder, result)?));
    }
    let otherwise = otherwise.map(|e| bind_expr(binder, e)).transpose()?;
    Ok(wrap(hoisted, finish(bound, otherwise)?))
}

pub(crate) fn bind_iif(binder: &mut Binder<'_>, iif: &ast::Iif) -> Result<Expr> {
    let condition = bind_condition(binder, &iif.condition)?;
    let then = bind_expr(binder, &iif.then)?;
    let otherwise = bind_expr(binder, &iif.otherwise)?;
    finish(vec![(condition, then)], Some(otherwise))
}

/// Binds `COALESCE(a, b, ..)`; each operand is evaluated once.
pub(crate) fn bind_coalesce(binder: &mut Binder<'_>, arguments: &[ast::Expr]) -> Result<Expr> {
    let mut bound = Vec::with_capacity(arguments.len());
    for argument in arguments {
        bound.push(bind_expr(binder, argument)?);
    }
    if bound.iter().all(Expr::is_null_literal) {
        return Err(Msg::CoalesceNull.into());
    }
    let Some(last) = bound.pop() else { return Err(Msg::SyntaxNear(")").into()) };
    let mut result = last;
    while let Some(operand) = bound.pop() {
        // Each level is a conversion, a CASE and the operand's register.
        binder.grow(3 * depth::EXPR_BYTES)?;
        let nullable = result.ty.nullable;
        let (operand, hoisted) = hoist(binder, operand);
        let mut branches = vec![branch(operand)];
        // Operands that need no register are branches of a single CASE.
        while hoisted.is_none() && bound.last().is_some_and(is_cheap) {
            branches.extend(bound.pop().map(branch));
        }
        branches.reverse();
        let mut case = finish(branches, Some(result))?;
        case.ty.nullable = nullable;
        result = wrap(hoisted, case);
    }
    Ok(result)
}

/// Returns the branch of a COALESCE operand: its value if it is not NULL.
fn branch(operand: Expr) -> (Expr, Expr) {
    (not(is_null(operand.clone())), operand)
}

/// Returns whether evaluating an operand twice is cheap.
fn is_cheap(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Constant(_) | ExprKind::Variable(_) | ExprKind::Column(_))
}

/// Binds `NULLIF(a, b)`: NULL if they are equal, else `a`.
pub(crate) fn bind_null_if(
    binder: &mut Binder<'_>,
    left: &ast::Expr,
    right: &ast::Expr,
) -> Result<Expr> {
    let left = bind_expr(binder, left)?;
    if left.is_null_literal() {
        return Err(Msg::NullIfNull.into());
    }
    let right = bind_expr(binder, right)?;
    let (left, hoisted) = hoist(binder, left);
    let test = condition::compare(CompareOp::Equal, left.clone(), right)?;
    let null = Expr::new(ExprKind::Constant(Value::Null), ColumnType { nullable: true, ..left.ty });
    Ok(wrap(hoisted, finish(vec![(test, null)], Some(left))?))
}

/// Moves an operand that is used more than once to a register, unless evaluating it is cheap.
pub(crate) fn hoist(binder: &mut Binder<'_>, expr: Expr) -> (Expr, Option<(Register, Expr)>) {
    if is_cheap(&expr) {
        return (expr, None);
    }
    let register = Register(binder.registers);
    binder.registers += 1;
    (Expr::new(ExprKind::Column(register), expr.ty), Some((register, expr)))
}

pub(crate) fn wrap(hoisted: Option<(Register, Expr)>, body: Expr) -> Expr {
    match hoisted {
        None => body,
        Some((register, operand)) => {
            let ty = body.ty;
            Expr::new(ExprKind::Let(register, Box::new((operand, body))), ty)
        }
    }
}

pub(crate) fn not(operand: Expr) -> Expr {
    let ty = operand.ty;
    Expr::new(ExprKind::Not(Box::new(operand)), ty)
}

/// Returns the expression `operand IS NULL`.
pub fn is_null(operand: Expr) -> Expr {
    Expr::new(ExprKind::IsNull(Box::new(operand)), condition::bit_type(false))
}

/// Converts all results to their common type.
fn finish(branches: Vec<(Expr, Expr)>, otherwise: Option<Expr>) -> Result<Expr> {
    let results = branches.iter().map(|(_, r)| r).chain(otherwise.as_ref());
    let ty = common_type(results)?.ok_or(Msg::CaseAllNull)?;
    let nullable = otherwise.as_ref().is_none_or(|e| e.ty.nullable)
        || branches.iter().any(|(_, r)| r.ty.nullable);
    let ty = ColumnType { nullable, ..ty };
    let mut converted = Vec::with_capacity(branches.len());
    for (condition, result) in branches {
        converted.push((condition, convert_to(result, &ty, Mode::Implicit)?));
    }
    let otherwise = otherwise.map(|e| convert_to(e, &ty, Mode::Implicit)).transpose()?;
    Ok(Expr::new(ExprKind::Case(converted.into(), otherwise.map(Box::new)), ty))
}

/// Returns the type that all of some expressions convert to; NULL literals do not count. `None` if
/// there are no others. The collation is that of the strongest operand, the first among equals.
///
/// # Errors
/// 206 for types without a common type.
pub fn common_type<'e>(exprs: impl Iterator<Item = &'e Expr>) -> Result<Option<ColumnType>> {
    let mut common: Option<ColumnType> = None;
    let mut strongest: Option<&Expr> = None;
    for expr in exprs.filter(|e| !e.is_null_literal()) {
        let is_stronger = expr.ty.data_type.is_string()
            && strongest.is_none_or(|so_far| {
                so_far.ty.collation != expr.ty.collation && strength(expr) > strength(so_far)
            });
        if is_stronger {
            strongest = Some(expr);
        }
        common = Some(match common {
            None => expr.ty,
            Some(so_far) => {
                let data_type: DataType =
                    type_rules::common(&so_far.data_type, &expr.ty.data_type)?;
                let collation: Collation = strongest.map_or(expr.ty, |e| e.ty).collation;
                let nullable = so_far.nullable || expr.ty.nullable;
                ColumnType { data_type, collation, nullable }
            }
        });
    }
    Ok(common)
}
