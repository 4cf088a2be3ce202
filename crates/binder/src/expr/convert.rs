//! Conversions: CAST and CONVERT, implicit conversion to an operator's or a column's type, and the
//! common collation of two strings.

use tsql::ast;
use types::value::ColumnType;
use types::{Collation, DataType, Mode, Msg, Result};

use crate::Binder;
use crate::expr::bind_expr;
use crate::types::DefaultLength;
use plan::convert::{convert, convert_to};
use plan::expr::{Expr, ExprKind, Register};

pub(crate) fn bind(binder: &mut Binder<'_>, conversion: &ast::Convert) -> Result<Expr> {
    let operand = bind_expr(binder, &conversion.operand)?;
    let mut target = binder.resolve_type(&conversion.target, DefaultLength::Conversion)?;
    if operand.ty.data_type.is_string() {
        target.collation = operand.ty.collation;
    }
    target.nullable = operand.ty.nullable || conversion.on_failure == ast::OnFailure::Null;
    if conversion.form == ast::ConvertForm::Parse {
        let culture = conversion.style.as_ref().map(|e| bind_expr(binder, e)).transpose()?;
        let name = match conversion.on_failure {
            ast::OnFailure::Error => "PARSE AS",
            ast::OnFailure::Null => "TRY_PARSE AS",
        };
        return functions::format::bind_parse(operand, culture, target, name);
    }
    let style = match &conversion.style {
        Some(style) => {
            let style = bind_expr(binder, style)?;
            Some(convert_to(style, &int_type(), Mode::Implicit)?)
        }
        None => None,
    };
    let mode = match conversion.on_failure {
        ast::OnFailure::Error => Mode::Explicit,
        ast::OnFailure::Null => Mode::Try,
    };
    if !operand.is_null_literal() {
        types::convert::check(&operand.ty.data_type, &target.data_type, mode)?;
    }
    Ok(convert(operand, target, style, mode))
}

fn int_type() -> ColumnType {
    ColumnType { data_type: DataType::Int, collation: Collation::default(), nullable: true }
}

/// Returns the common collation of two operands: an explicit COLLATE has precedence, then a
/// column's, then that of variables and literals.
///
/// # Errors
/// 468 for two columns, or two COLLATE clauses, with different collations.
pub(crate) fn common_collation(left: &Expr, right: &Expr, operation: &str) -> Result<Collation> {
    let strings = (left.ty.data_type.is_string(), right.ty.data_type.is_string());
    match strings {
        (true, false) => return Ok(left.ty.collation),
        (false, _) => return Ok(right.ty.collation),
        // Equal collations need no walk over a chain to compute its strength.
        (true, true) if left.ty.collation == right.ty.collation => return Ok(left.ty.collation),
        (true, true) => {}
    }
    let (l, r) = (strength(left), strength(right));
    if l > r {
        return Ok(left.ty.collation);
    }
    if r > l || l == Strength::Coercible {
        return Ok(right.ty.collation);
    }
    let names = (left.ty.collation.name(), right.ty.collation.name());
    Err(Msg::CollationConflict(&names.0, &names.1, operation).into())
}

/// The precedence of an operand's collation (SQL Server: collation precedence).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    /// A literal, a variable, or a function of these or of what is no string.
    Coercible,
    /// A column, or an expression over columns.
    Implicit,
    /// An explicit COLLATE clause.
    Explicit,
}

/// Returns the precedence of an expression's collation.
pub(crate) fn strength(expr: &Expr) -> Strength {
    strength_under(expr, None)
}

/// Like [`strength`], where a register represents an operand that is evaluated once.
fn strength_under(expr: &Expr, once: Option<(Register, Strength)>) -> Strength {
    let (mut expr, mut once) = (expr, once);
    let mut strongest = Strength::Coercible;
    // COALESCE of many operands is a CASE in the ELSE of another: a loop, not recursion.
    loop {
        // What is made of a number or a date has the database's collation, as a literal has.
        let is_of_strings = expr.ty.data_type.is_string();
        let own = match &expr.kind {
            ExprKind::Let(register, pair) => {
                once = Some((*register, strength_under(&pair.0, once)));
                expr = &pair.1;
                continue;
            }
            ExprKind::Case(branches, otherwise) => {
                let results = branches.iter().map(|(_, result)| strength_under(result, once));
                strongest = results.fold(strongest, Strength::max);
                let Some(otherwise) = otherwise else { return strongest };
                expr = otherwise;
                continue;
            }
            ExprKind::Column(_) if !is_of_strings => Strength::Coercible,
            ExprKind::Column(register) => match once {
                Some((own, strength)) if own == *register => strength,
                _ => Strength::Implicit,
            },
            ExprKind::Collate(_) => Strength::Explicit,
            ExprKind::ScalarSubquery(_) => Strength::Implicit,
            ExprKind::Convert(conversion) if conversion.operand.ty.data_type.is_string() => {
                expr = &conversion.operand;
                continue;
            }
            ExprKind::Arithmetic(_, operands) => {
                strength_under(&operands.0, once).max(strength_under(&operands.1, once))
            }
            ExprKind::Call(_, arguments) => {
                let strings = arguments.iter().filter(|a| a.ty.data_type.is_string());
                let all = strings.map(|argument| strength_under(argument, once));
                all.max().unwrap_or(Strength::Coercible)
            }
            _ => Strength::Coercible,
        };
        return strongest.max(own);
    }
}
