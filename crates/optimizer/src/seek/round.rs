//! Bounds from values of another type: `price >= @p`, where `@p` has more digits than the column or
//! is a wider number, and `made >= @at`, where `@at` is a `datetime2` and `made` a `datetime`.
//!
//! The rounded bound excludes no row that satisfies the comparison; the comparison on the row
//! rejects the one value that may be too many. For numbers the bound is the largest value of the
//! column's type that is not above the key, for both ends. A key beyond the column's range becomes
//! the nearest value in it. SQL Server's plans call this GetRangeThroughConvert.

use types::date::{
    DATETIME_DAYS_MAX, DATETIME_DAYS_MIN, DATETIME_TICKS_PER_DAY, DAYS_MAX, Moment, TICKS_PER_DAY,
    TICKS_PER_MINUTE, TICKS_PER_SECOND,
};
use types::decimal::Rounding;
use types::value::ColumnType;
use types::{ConvertOptions, DataType, Decimal, Mode, Value, convert, type_rules};

use plan::expr::{Expr, ExprKind};
use plan::function::{Call, Collating, Evaluate, Function};

/// The end of a range that a bound is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Lower,
    Upper,
}

/// Rounds a value to the type of the result. It cannot be called by name, only by a scan's bound.
static LOWER: Function = Function {
    name: "RangeThroughConvert",
    arity: (1, 1),
    bind: |arguments| Ok(arguments[0].ty),
    eval: Evaluate::Strict(|_, call, values| Ok(evaluate(End::Lower, call, values))),
    deterministic: true,
    collation: Collating::Apart,
};

/// Like [`LOWER`], for the other end.
static UPPER: Function = Function {
    eval: Evaluate::Strict(|_, call, values| Ok(evaluate(End::Upper, call, values))),
    ..LOWER
};

fn evaluate(end: End, call: &Call<'_>, values: &[Value]) -> Value {
    round(end, &values[0], &call.arguments[0].ty, call.ty).unwrap_or(Value::Null)
}

/// Returns the bound for a comparison of a column with `key`, where the column is compared as type
/// `compared`; `None` if that type does not distinguish all of the column's values in their order.
pub(crate) fn bound(
    end: End,
    column: &ColumnType,
    compared: &ColumnType,
    key: &Expr,
) -> Option<Expr> {
    let is_possible = match moment_scale(&column.data_type) {
        Some(scale) => moment_scale(&compared.data_type).is_some_and(|held| held >= scale),
        None => {
            column.data_type != DataType::Bit
                && is_number(&key.ty)
                && holds(&compared.data_type, &column.data_type)
        }
    };
    if !is_possible {
        return None;
    }
    let ty = ColumnType { nullable: true, ..*column };
    let known = constant(key).and_then(|(value, from)| round(end, value, &from, &ty));
    let kind = match (known, end) {
        (Some(value), _) => ExprKind::Constant(value),
        (None, End::Lower) => ExprKind::Call(&LOWER, [key.clone()].into()),
        (None, End::Upper) => ExprKind::Call(&UPPER, [key.clone()].into()),
    };
    Some(Expr { kind, ty })
}

fn is_number(ty: &ColumnType) -> bool {
    type_rules::as_decimal(&ty.data_type).is_some()
}

/// Returns whether one exact numeric type contains all values of another.
fn holds(wide: &DataType, narrow: &DataType) -> bool {
    match (type_rules::as_decimal(wide), type_rules::as_decimal(narrow)) {
        (Some(wide), Some(own)) => wide.1 >= own.1 && wide.0 - wide.1 >= own.0 - own.1,
        _ => false,
    }
}

/// Returns the scale of a date or time type, in decimals of a second.
const fn moment_scale(of: &DataType) -> Option<u8> {
    match of {
        DataType::Date | DataType::SmallDateTime => Some(0),
        DataType::DateTime => Some(3),
        DataType::DateTime2(scale) => Some(*scale),
        _ => None,
    }
}

fn round(end: End, value: &Value, from: &ColumnType, to: &ColumnType) -> Option<Value> {
    if moment_scale(&to.data_type).is_some() {
        return moment(end, Moment::from_value(value)?, &to.data_type);
    }
    // A value that is not above a number is not above its floor either.
    floor(value, from, to)
}

/// Returns a value of a date or time type that is not within the bound: one unit further out,
/// before it is rounded.
fn moment(end: End, of: Moment, to: &DataType) -> Option<Value> {
    /// 1950-01-01: a value out of a type's range is before its first or after its last value.
    const DAYS_1950: i32 = 711_857;
    let (unit, first, last) = match to {
        // Truncation to a date is far enough out for both ends.
        DataType::Date => (0, Value::Date(0), Value::Date(DAYS_MAX)),
        DataType::SmallDateTime => (
            TICKS_PER_MINUTE,
            Value::SmallDateTime { days: 0, minutes: 0 },
            Value::SmallDateTime { days: u16::MAX, minutes: 1_439 },
        ),
        DataType::DateTime => (
            TICKS_PER_SECOND / 300 + 1,
            Value::DateTime { days: DATETIME_DAYS_MIN, ticks: 0 },
            Value::DateTime {
                days: DATETIME_DAYS_MAX,
                ticks: u32::try_from(DATETIME_TICKS_PER_DAY - 1).ok()?,
            },
        ),
        DataType::DateTime2(scale) => {
            let unit = 10_i64.pow(7_u32.saturating_sub(u32::from(*scale)));
            let last = Value::DateTime2 { days: DAYS_MAX, ticks: TICKS_PER_DAY - unit };
            (unit, Value::DateTime2 { days: 0, ticks: 0 }, last)
        }
        _ => return None,
    };
    let outward = of.plus_ticks(if end == End::Lower { -unit } else { unit });
    let found = outward.and_then(|moment| moment.try_to_value(to));
    Some(found.unwrap_or(if of.days < DAYS_1950 { first } else { last }))
}

/// Returns the constant of an operand, below conversions that preserve its value.
fn constant(key: &Expr) -> Option<(&Value, ColumnType)> {
    match &key.kind {
        ExprKind::Constant(value) if !value.is_null() => Some((value, key.ty)),
        ExprKind::Convert(conversion) => {
            let operand = &conversion.operand;
            constant(operand).filter(|_| holds(&key.ty.data_type, &operand.ty.data_type))
        }
        _ => None,
    }
}

/// Returns the largest value of an exact numeric type that is not above a number, or its smallest
/// value.
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
        // The number has more digits before the point than the type allows.
        _ => Some(extreme(&to.data_type, number.mantissa() < 0, parts)),
    }
}

/// Returns the smallest or the largest value of a type.
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

    /// Values that satisfy the comparison also satisfy the rounded bound.
    #[test]
    fn moments_inside_of_a_bound_stay_there() {
        let types =
            [DataType::DateTime, DataType::SmallDateTime, DataType::DateTime2(3), DataType::Date];
        let start = Moment { days: 738_000, ticks: 0, offset: 0 };
        let moments: Vec<Moment> = (0..4_000)
            .filter_map(|n: i64| start.plus_ticks(n * n * 777_777 % (3 * TICKS_PER_DAY)))
            .chain((0..200).filter_map(|n| start.plus_ticks(n * 11_111)))
            .collect();
        for (ty, compared) in types.iter().flat_map(|ty| [(ty, 3_u8), (ty, 4), (ty, 7)]) {
            let compared = DataType::DateTime2(compared);
            let as_compared = |value: &Value| {
                Moment::from_value(value).and_then(|m| m.try_to_value(&compared)).expect("in range")
            };
            let order =
                |a: &Value, b: &Value| types::compare::compare(a, b, types::Collation::default());
            for pair in moments.windows(2) {
                let key = pair[0].try_to_value(&compared).expect("in range");
                let column = pair[1].try_to_value(ty).expect("in range");
                let at = Moment::from_value(&key).expect("a moment");
                let lower = moment(End::Lower, at, ty).expect("a bound");
                let upper = moment(End::Upper, at, ty).expect("a bound");
                let is = order(&as_compared(&column), &key).expect("no NULL");
                let from_lower = order(&column, &lower).expect("no NULL");
                let from_upper = order(&column, &upper).expect("no NULL");
                assert!(is.is_lt() || from_lower.is_ge(), "{column:?} {key:?} {lower:?}");
                assert!(is.is_gt() || from_upper.is_le(), "{column:?} {key:?} {upper:?}");
            }
        }
    }

    #[test]
    fn moments_beyond_a_type_become_its_ends() {
        let at = |days| Moment { days, ticks: TICKS_PER_DAY - 1, offset: 0 };
        let first = Value::DateTime { days: DATETIME_DAYS_MIN, ticks: 0 };
        assert_eq!(moment(End::Lower, at(5), &DataType::DateTime), Some(first.clone()));
        assert_eq!(moment(End::Upper, at(5), &DataType::DateTime), Some(first));
        let last = Value::SmallDateTime { days: u16::MAX, minutes: 1_439 };
        assert_eq!(moment(End::Upper, at(DAYS_MAX), &DataType::SmallDateTime), Some(last));
    }
}
