//! Simplifies the arguments and keys of an aggregate: equal results for less work per row.

use types::{DataType, Value};

use plan::expr::{Expr, ExprKind, Register};
use plan::walk;
use types::type_rules::BinaryOp;

/// Removes a conversion of a decimal that only raises its precision.
pub(super) fn without_widening(expr: &Expr) -> &Expr {
    if let ExprKind::Convert(conversion) = &expr.kind
        && let DataType::Decimal { scale, precision } = expr.ty.data_type
        && let DataType::Decimal { scale: from, precision: digits } =
            conversion.operand.ty.data_type
        && scale == from
        && digits <= precision
    {
        return &conversion.operand;
    }
    expr
}

/// Takes a sum of a small column and a number apart, whose SUM is that of the column and as many
/// times the number: no such sum of two overflows.
pub(super) fn sum_apart(expr: &Expr) -> Option<(&Expr, i64)> {
    let ExprKind::Arithmetic(op, operands) = &expr.kind else { return None };
    let (DataType::Int, (values, Expr { kind: ExprKind::Constant(Value::Int(number)), .. })) =
        (expr.ty.data_type, &**operands)
    else {
        return None;
    };
    let number = match op {
        BinaryOp::Add => i64::from(*number),
        BinaryOp::Subtract => -i64::from(*number),
        _ => return None,
    };
    let ExprKind::Convert(conversion) = &values.kind else { return None };
    let largest = match conversion.operand.ty.data_type {
        DataType::TinyInt => i64::from(u8::MAX),
        DataType::SmallInt => i64::from(i16::MAX) + 1,
        _ => return None,
    };
    let is_column = matches!(conversion.operand.kind, ExprKind::Column(_));
    let is_plain = is_column && conversion.style.is_none() && values.ty.data_type == DataType::Int;
    (is_plain && number.abs() + largest <= i64::from(i32::MAX)).then_some((values, number))
}

/// Returns the column whose values, converted to `int`, an expression has.
pub(super) fn converted_column(expr: &Expr) -> Option<Register> {
    let ExprKind::Convert(conversion) = &expr.kind else { return None };
    match conversion.operand.kind {
        ExprKind::Column(register) if conversion.style.is_none() => Some(register),
        _ => None,
    }
}

/// Returns the positions of the keys that tell groups apart. A key that is computed from columns that
/// are keys themselves has one value in each group, if equal numbers are the same number.
pub(super) fn telling_keys(keys: &[&Expr]) -> Vec<usize> {
    let is_number = |expr: &Expr| {
        matches!(expr.ty.data_type, DataType::SmallInt | DataType::Int | DataType::BigInt)
    };
    let columns: Vec<Register> = keys
        .iter()
        .filter_map(|key| match key.kind {
            ExprKind::Column(register) if is_number(key) => Some(register),
            _ => None,
        })
        .collect();
    let is_computed = |key: &Expr| {
        let mut is_computed = !matches!(key.kind, ExprKind::Column(_) | ExprKind::Constant(_));
        walk::visit(key, &mut |expr| {
            is_computed &= is_number(expr)
                && match &expr.kind {
                    ExprKind::Column(register) => columns.contains(register),
                    ExprKind::Constant(_) => true,
                    ExprKind::Arithmetic(op, _) => {
                        matches!(op, BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply)
                    }
                    ExprKind::Convert(conversion) => conversion.style.is_none(),
                    _ => false,
                };
        });
        is_computed
    };
    (0..keys.len()).filter(|place| !is_computed(keys[*place])).collect()
}
