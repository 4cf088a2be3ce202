//! Decides which expressions cannot fail, whatever their operands hold.

use types::convert::is_unchanged;
use types::value::ColumnType;
use types::{DataType, Value};

use crate::expr::{Conversion, Expr, ExprKind};

/// Returns whether an expression is known to evaluate without error for every row.
pub fn cannot_fail(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(_) | ExprKind::Variable(_) | ExprKind::Column(_) => true,
        ExprKind::Collate(e) | ExprKind::Not(e) | ExprKind::IsNull(e) => cannot_fail(e),
        ExprKind::Compare(_, _, pair) | ExprKind::Let(_, pair) => {
            cannot_fail(&pair.0) && cannot_fail(&pair.1)
        }
        ExprKind::And(list) | ExprKind::Or(list) => list.iter().all(cannot_fail),
        ExprKind::InList(_, operand, list) => cannot_fail(operand) && list.iter().all(cannot_fail),
        // A bad escape character is error 506.
        ExprKind::Like(_, like) => {
            like.escape.is_none() && cannot_fail(&like.text) && cannot_fail(&like.pattern)
        }
        ExprKind::Case(branches, otherwise) => {
            branches.iter().all(|(test, result)| cannot_fail(test) && cannot_fail(result))
                && otherwise.as_deref().is_none_or(cannot_fail)
        }
        ExprKind::Convert(conversion) => converts_safely(conversion, &expr.ty),
        ExprKind::Negate(_)
        | ExprKind::BitNot(_)
        | ExprKind::Arithmetic(..)
        | ExprKind::Call(..)
        | ExprKind::CallUser(_)
        | ExprKind::NextValue(_)
        | ExprKind::Once(..)
        | ExprKind::ScalarSubquery(_)
        | ExprKind::Exists(_)
        | ExprKind::Quantified(_) => false,
    }
}

fn converts_safely(conversion: &Conversion, to: &ColumnType) -> bool {
    let from = &conversion.operand.ty;
    let is_wider = match (integer_digits(&from.data_type), integer_digits(&to.data_type)) {
        (Some(a), Some(b)) => a <= b,
        _ => false,
    };
    let has_style = conversion
        .style
        .as_ref()
        .is_some_and(|style| !matches!(style.kind, ExprKind::Constant(Value::Int(_))));
    !has_style && cannot_fail(&conversion.operand) && (is_wider || is_unchanged(from, to))
}

/// Returns the digits before the decimal point that every value of an exact type has room for and
/// none exceeds; `None` for `bit`, which accepts any number.
fn integer_digits(of: &DataType) -> Option<u8> {
    match of {
        DataType::TinyInt => Some(3),
        DataType::SmallInt => Some(5),
        DataType::Int => Some(10),
        DataType::BigInt => Some(19),
        _ => None,
    }
}
