//! Conversions in bound trees: to the type of an operator, of a column or of a variable.
//!
//! A constant is converted here, once, where the result depends on nothing else.

use types::value::ColumnType;
use types::{ConvertOptions, DataType, Mode, Result, Value};

use crate::expr::{Conversion, Expr, ExprKind};

/// Converts an expression to a type; returns it unchanged where its values already have that
/// type's representation.
///
/// # Errors
/// 257, 206 and 529 for conversions that do not exist in this mode.
pub fn convert_to(mut expr: Expr, target: &ColumnType, mode: Mode) -> Result<Expr> {
    if expr.is_null_literal() {
        expr.ty = ColumnType { nullable: true, ..*target };
        return Ok(expr);
    }
    if same_representation(&expr.ty, target) {
        return Ok(expr);
    }
    types::convert::check(&expr.ty.data_type, &target.data_type, mode)?;
    let ty = ColumnType { nullable: expr.ty.nullable, ..*target };
    Ok(convert(expr, ty, None, mode))
}

/// Converts an expression to a column's or variable's declared type: values are truncated, padded
/// and rounded as they are when stored.
///
/// # Errors
/// As [`convert_to`].
pub fn assign(mut expr: Expr, target: &ColumnType, mode: Mode) -> Result<Expr> {
    if expr.is_null_literal() {
        expr.ty = ColumnType { nullable: true, ..*target };
        return Ok(expr);
    }
    let strings_collate = !target.data_type.is_string() || expr.ty.collation == target.collation;
    if expr.ty.data_type == target.data_type && strings_collate {
        return Ok(expr);
    }
    types::convert::check(&expr.ty.data_type, &target.data_type, mode)?;
    let ty = ColumnType { nullable: expr.ty.nullable, ..*target };
    Ok(convert(expr, ty, None, mode))
}

/// Returns a conversion with a style, or its result where that depends on the constant alone.
pub fn convert(operand: Expr, ty: ColumnType, style: Option<Expr>, mode: Mode) -> Expr {
    // SET NUMERIC_ROUNDABORT is a session option, so a loss of precision is left to run time.
    let options = ConvertOptions { round_abort: mode != Mode::Try, ..ConvertOptions::default() };
    if style.is_none()
        && let Some(value) = operand.as_constant()
        && !depends_on_session(&operand.ty.data_type, &ty.data_type)
        && let Ok(folded) = types::convert(value, &operand.ty, &ty, 0, mode, &options)
        && !matches!((value, &folded), (Value::Null, _))
    {
        return Expr::new(ExprKind::Constant(folded), ty);
    }
    Expr::new(ExprKind::Convert(Box::new(Conversion { operand, style, mode })), ty)
}

/// Text to date depends on SET DATEFORMAT and LANGUAGE, and the text of a `datetime` has the name of
/// a month, so neither is folded into a shared plan.
fn depends_on_session(from: &DataType, to: &DataType) -> bool {
    let temporal = |t: &DataType| {
        matches!(
            t,
            DataType::Date
                | DataType::Time(_)
                | DataType::DateTime
                | DataType::SmallDateTime
                | DataType::DateTime2(_)
                | DataType::DateTimeOffset(_)
        )
    };
    let is_old = matches!(from, DataType::DateTime | DataType::SmallDateTime);
    (from.is_string() && temporal(to))
        || (is_old && to.is_string())
        || *from == DataType::SqlVariant
}

/// Returns whether values of the two types compare and combine without a conversion.
fn same_representation(from: &ColumnType, to: &ColumnType) -> bool {
    use DataType::{Binary, Char, Image, NChar, NText, NVarChar, Text, VarBinary, VarChar};
    match (&from.data_type, &to.data_type) {
        (Char(_) | VarChar(_) | Text, Char(_) | VarChar(_) | Text) => {
            from.collation == to.collation || from.collation.code_page() == to.collation.code_page()
        }
        (NChar(_) | NVarChar(_) | NText, NChar(_) | NVarChar(_) | NText)
        | (Binary(_) | VarBinary(_) | Image, Binary(_) | VarBinary(_) | Image) => true,
        (a, b) => a == b,
    }
}
