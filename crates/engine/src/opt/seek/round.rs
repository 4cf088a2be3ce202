//! Bounds from values of another type: `price >= @p`, where `@p` has more digits than the column, or is a wider number.
//!
//! The bound is the largest value of the column's type that is not above the other side: it leaves no row out that
//! meets the comparison, and at most those of one value too many, which the comparison on the row rejects. A value
//! beyond all of the column's becomes the nearest of them. SQL Server's plans call this GetRangeThroughConvert.

use types::decimal::Rounding;
use types::value::ColumnType;
use types::{ConvertOptions, DataType, Decimal, Mode, Result, Value, convert, type_rules};

use crate::exec::Cx;
use crate::func::{Call, Evaluate, Function};
use crate::plan::expr::{Conversion, Expr, ExprKind};

/// Rounds a number down to the type of the result. No name finds it: only a scan's bound calls it.
static FLOOR: Function = Function {
    name: "RangeThroughConvert",
    arity: (1, 1),
    bind: |_, arguments| Ok(arguments[0].ty),
    eval: Evaluate::Strict(evaluate),
    deterministic: true,
};

fn evaluate(_: &mut Cx<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    Ok(floor(&values[0], &call.arguments[0].ty, call.ty).unwrap_or(Value::Null))
}

/// Makes the bound that a comparison of a column with `key` gives, where the column is compared as `compared`; `None`
/// if that is no exact number, or does not hold all of the column's values.
pub(super) fn bound(column: &ColumnType, compared: &ColumnType, key: &Expr) -> Option<Expr> {
    let own = type_rules::as_decimal(&column.data_type)?;
    let held = type_rules::as_decimal(&compared.data_type)?;
    type_rules::as_decimal(&key.ty.data_type)?;
    let is_exact = held.1 >= own.1 && held.0 - held.1 >= own.0 - own.1;
    if !is_exact || column.data_type == DataType::Bit {
        return None;
    }
    let ty = ColumnType { nullable: true, ..*column };
    let known = constant(key).and_then(|(value, from)| floor(value, &from, &ty));
    let kind = match known {
        Some(value) => ExprKind::Constant(value),
        None => ExprKind::Call(&FLOOR, [key.clone()].into()),
    };
    Some(Expr { kind, ty })
}

/// The constant that an operand is, below conversions that keep its value.
fn constant(key: &Expr) -> Option<(&Value, ColumnType)> {
    match &key.kind {
        ExprKind::Constant(value) if !value.is_null() => Some((value, key.ty)),
        ExprKind::Convert(conversion) => {
            let Conversion { operand, .. } = &**conversion;
            let (own, held) = (
                type_rules::as_decimal(&operand.ty.data_type)?,
                type_rules::as_decimal(&key.ty.data_type)?,
            );
            let is_exact = held.1 >= own.1 && held.0 - held.1 >= own.0 - own.1;
            constant(operand).filter(|_| is_exact)
        }
        _ => None,
    }
}

/// Returns the largest value of an exact numeric type that is not above a number, or its smallest one.
fn floor(value: &Value, from: &ColumnType, to: &ColumnType) -> Option<Value> {
    let own = type_rules::as_decimal(&from.data_type)?;
    let wide = |(precision, scale): (u8, u8)| ColumnType {
        data_type: DataType::Decimal { precision, scale },
        ..*to
    };
    let options = ConvertOptions::default();
    let Ok(Value::Decimal(number)) = convert(value, from, &wide(own), 0, Mode::Implicit, &options)
    else {
        return None;
    };
    let parts = type_rules::as_decimal(&to.data_type)?;
    let down = |rounded: Decimal| {
        let is_above = rounded.order(&number).is_gt();
        Decimal::checked(rounded.mantissa() - i128::from(is_above), parts.0, parts.1)
    };
    let rounded = number.rescale(parts.0, parts.1, Rounding::Truncate).and_then(down);
    let found = rounded
        .map(|rounded| convert(&Value::Decimal(rounded), &wide(parts), to, 0, Mode::Try, &options));
    match found {
        Some(Ok(found)) if !found.is_null() => Some(found),
        // It has more digits before the point than there are in the type.
        _ => Some(extreme(&to.data_type, number.mantissa() < 0, parts)),
    }
}

/// The smallest or the largest value of a type.
fn extreme(of: &DataType, is_smallest: bool, (precision, scale): (u8, u8)) -> Value {
    let pick = |smallest: Value, largest: Value| if is_smallest { smallest } else { largest };
    match of {
        DataType::TinyInt => pick(Value::TinyInt(u8::MIN), Value::TinyInt(u8::MAX)),
        DataType::SmallInt => pick(Value::SmallInt(i16::MIN), Value::SmallInt(i16::MAX)),
        DataType::Int => pick(Value::Int(i32::MIN), Value::Int(i32::MAX)),
        DataType::BigInt => pick(Value::BigInt(i64::MIN), Value::BigInt(i64::MAX)),
        DataType::SmallMoney => {
            pick(Value::Money(i64::from(i32::MIN)), Value::Money(i64::from(i32::MAX)))
        }
        DataType::Money => pick(Value::Money(i64::MIN), Value::Money(i64::MAX)),
        _ => {
            let largest = 10_i128.pow(u32::from(precision)) - 1;
            let digits = if is_smallest { -largest } else { largest };
            Value::Decimal(Decimal::new(digits, precision, scale))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floored(digits: i128, scale: u8, to: DataType) -> Value {
        let from = ColumnType::nullable(DataType::Decimal { precision: 38, scale });
        let number = Value::Decimal(Decimal::new(digits, 38, scale));
        floor(&number, &from, &ColumnType::nullable(to)).expect("numbers have a floor")
    }

    #[test]
    fn bounds_are_rounded_down_and_kept_in_the_type() {
        let price = DataType::Decimal { precision: 6, scale: 2 };
        let decimal = |digits| Value::Decimal(Decimal::new(digits, 6, 2));
        assert_eq!(floored(12_345, 3, price), decimal(1234));
        assert_eq!(floored(-12_345, 3, price), decimal(-1235));
        assert_eq!(floored(12, 0, price), decimal(1200));
        assert_eq!(floored(10_i128.pow(37), 0, price), decimal(999_999));
        assert_eq!(floored(-(10_i128.pow(37)), 0, price), decimal(-999_999));
        assert_eq!(floored(55, 1, DataType::Int), Value::Int(5));
        assert_eq!(floored(-55, 1, DataType::Int), Value::Int(-6));
        assert_eq!(floored(10_i128.pow(12), 0, DataType::Int), Value::Int(i32::MAX));
        assert_eq!(floored(-1, 0, DataType::TinyInt), Value::TinyInt(0));
        assert_eq!(floored(123_456, 5, DataType::Money), Value::Money(12_345));
    }
}
