//! Arithmetic and bitwise operators over values that were already converted to the operator's
//! types.
//!
//! [`crate::type_rules::binary`] says which types those are; NULL in gives NULL out.

use crate::decimal::{Rounding, divide};
use crate::type_rules::{BinaryOp, UnaryOp};
use crate::{Bytes, DataType, Decimal, Length, Msg, Result, Value};

/// Units of `money` in 1.0: it counts ten-thousandths.
const MONEY_UNIT: i128 = 10_000;

/// Computes `left op right`; `result` is the type that [`crate::type_rules::binary`] gave.
///
/// # Errors
/// 8115 on overflow, 8134 on division by zero.
///
/// # Panics
/// If the values were not converted to the operator's types.
pub fn binary(op: BinaryOp, left: &Value, right: &Value, result: &DataType) -> Result<Value> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Int(a), Value::Int(b)) => int(op, *a, *b),
        (Value::BigInt(a), Value::BigInt(b)) => integer(op, i128::from(*a), i128::from(*b), result)
            .map(|v| narrow(v, Value::BigInt, result))?,
        (Value::SmallInt(a), Value::SmallInt(b)) => {
            integer(op, i128::from(*a), i128::from(*b), result)
                .map(|v| narrow(v, Value::SmallInt, result))?
        }
        (Value::TinyInt(a), Value::TinyInt(b)) => {
            integer(op, i128::from(*a), i128::from(*b), result)
                .map(|v| narrow(v, Value::TinyInt, result))?
        }
        (Value::Bit(a), Value::Bit(b)) => {
            Ok(Value::Bit(integer(op, i128::from(*a), i128::from(*b), result)? != 0))
        }
        (Value::Decimal(a), Value::Decimal(b)) => decimal(op, a, b, result).map(Value::Decimal),
        (Value::Money(a), Value::Money(b)) => money(op, *a, *b),
        (Value::Float(a), Value::Float(b)) => {
            let value = float(op, *a, *b)?;
            if value.is_finite() { Ok(Value::Float(value)) } else { overflow(result) }
        }
        (Value::Real(a), Value::Real(b)) => {
            // A product of two reals fits a float exactly, so rounding happens once.
            #[expect(clippy::cast_possible_truncation, reason = "rounding to real is meant")]
            let value = float(op, f64::from(*a), f64::from(*b))? as f32;
            if value.is_finite() { Ok(Value::Real(value)) } else { overflow(result) }
        }
        (Value::VarChar(a), Value::VarChar(b)) => Ok(Value::VarChar(concat(a, b, result))),
        (Value::NVarChar(a), Value::NVarChar(b)) => Ok(Value::NVarChar(concat(a, b, result))),
        (Value::VarBinary(a), Value::VarBinary(b)) => Ok(Value::VarBinary(concat(a, b, result))),
        _ => crate::date::arithmetic(op, left, right, result),
    }
}

/// Computes `op operand`.
///
/// # Errors
/// 8115 on overflow.
///
/// # Panics
/// If the operand was not converted to the operator's type.
pub fn unary(op: UnaryOp, operand: &Value, result: &DataType) -> Result<Value> {
    let checked = match (op, operand) {
        (_, Value::Null) => Some(Value::Null),
        (UnaryOp::Negate, Value::TinyInt(v)) => Some(Value::SmallInt(-i16::from(*v))),
        (UnaryOp::Negate, Value::SmallInt(v)) => v.checked_neg().map(Value::SmallInt),
        (UnaryOp::Negate, Value::Int(v)) => v.checked_neg().map(Value::Int),
        (UnaryOp::Negate, Value::BigInt(v)) => v.checked_neg().map(Value::BigInt),
        (UnaryOp::Negate, Value::Money(v)) => v.checked_neg().map(Value::Money),
        (UnaryOp::Negate, Value::Decimal(v)) => {
            Some(Value::Decimal(Decimal::new(-v.mantissa(), v.precision, v.scale)))
        }
        (UnaryOp::Negate, Value::Real(v)) => Some(Value::Real(-v)),
        (UnaryOp::Negate, Value::Float(v)) => Some(Value::Float(-v)),
        (UnaryOp::BitNot, Value::Bit(v)) => Some(Value::Bit(!v)),
        (UnaryOp::BitNot, Value::TinyInt(v)) => Some(Value::TinyInt(!v)),
        (UnaryOp::BitNot, Value::SmallInt(v)) => Some(Value::SmallInt(!v)),
        (UnaryOp::BitNot, Value::Int(v)) => Some(Value::Int(!v)),
        (UnaryOp::BitNot, Value::BigInt(v)) => Some(Value::BigInt(!v)),
        _ => panic!("the operand of {op:?} has the operator's type: {operand:?}"),
    };
    checked.map_or_else(|| overflow(result), Ok)
}

/// Operators on two `int`s, the frequent case, without widening.
fn int(op: BinaryOp, a: i32, b: i32) -> Result<Value> {
    let checked = match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Subtract => a.checked_sub(b),
        BinaryOp::Multiply => a.checked_mul(b),
        BinaryOp::Divide | BinaryOp::Modulo if b == 0 => return Err(Msg::DivideByZero.into()),
        BinaryOp::Divide => a.checked_div(b),
        BinaryOp::Modulo => Some(a.wrapping_rem(b)),
        BinaryOp::BitAnd => Some(a & b),
        BinaryOp::BitOr => Some(a | b),
        BinaryOp::BitXor => Some(a ^ b),
    };
    checked.map_or_else(|| overflow(&DataType::Int), |v| Ok(Value::Int(v)))
}

/// Operators on integers of up to 64 bits, computed in 128 bits, where they cannot overflow.
fn integer(op: BinaryOp, a: i128, b: i128, result: &DataType) -> Result<i128> {
    Ok(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Subtract => a - b,
        BinaryOp::Multiply => match a.checked_mul(b) {
            Some(product) => product,
            None => return overflow(result),
        },
        BinaryOp::Divide | BinaryOp::Modulo if b == 0 => return Err(Msg::DivideByZero.into()),
        BinaryOp::Divide => a / b,
        BinaryOp::Modulo => a % b,
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
    })
}

fn narrow<T: TryFrom<i128>>(wide: i128, make: fn(T) -> Value, result: &DataType) -> Result<Value> {
    T::try_from(wide).map_or_else(|_| overflow(result), |v| Ok(make(v)))
}

/// Computes `a op b` for decimals; `result` is the type that [`crate::type_rules::binary`] gave.
///
/// # Errors
/// 8115 on overflow, 8134 on division by zero.
///
/// # Panics
/// If the operator takes no decimals.
pub fn decimal(op: BinaryOp, a: &Decimal, b: &Decimal, result: &DataType) -> Result<Decimal> {
    let (precision, scale) = (result.precision(), result.scale());
    match op {
        BinaryOp::Add => a.add(b, precision, scale),
        BinaryOp::Subtract => a.subtract(b, precision, scale),
        BinaryOp::Multiply => a.multiply(b, precision, scale),
        BinaryOp::Divide => a.divide(b, precision, scale),
        BinaryOp::Modulo => a.remainder(b, precision, scale),
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
            panic!("type rules let no decimal into {op:?}")
        }
    }
}

fn money(op: BinaryOp, a: i64, b: i64) -> Result<Value> {
    let (a, b) = (i128::from(a), i128::from(b));
    let wide = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Subtract => a - b,
        BinaryOp::Multiply => divide(a * b, MONEY_UNIT, Rounding::HalfAway),
        BinaryOp::Divide | BinaryOp::Modulo if b == 0 => return Err(Msg::DivideByZero.into()),
        BinaryOp::Divide => a * MONEY_UNIT / b,
        BinaryOp::Modulo => a % b,
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
            panic!("type rules let no money into {op:?}")
        }
    };
    narrow(wide, Value::Money, &DataType::Money)
}

fn float(op: BinaryOp, a: f64, b: f64) -> Result<f64> {
    Ok(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Subtract => a - b,
        BinaryOp::Multiply => a * b,
        BinaryOp::Divide if b == 0.0 => return Err(Msg::DivideByZero.into()),
        BinaryOp::Divide => a / b,
        BinaryOp::Modulo | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
            panic!("type rules let no float into {op:?}")
        }
    })
}

/// Concatenates two strings, cut at the length of the result's type.
fn concat(a: &Bytes, b: &Bytes, result: &DataType) -> Bytes {
    if b.is_empty() {
        return a.clone();
    }
    if a.is_empty() {
        return b.clone();
    }
    let max = match result.length() {
        Some(Length::Limited(_)) => result.bytes_max().map_or(usize::MAX, usize::from),
        Some(Length::Max) | None => usize::MAX,
    };
    let tail = &b[..b.len().min(max.saturating_sub(a.len()))];
    let mut joined = Vec::with_capacity(a.len() + tail.len());
    joined.extend_from_slice(a);
    joined.extend_from_slice(tail);
    Bytes::from(joined)
}

fn overflow<T>(result: &DataType) -> Result<T> {
    let name = match result {
        DataType::Decimal { .. } => "numeric",
        other => other.name(),
    };
    Err(Msg::ArithmeticOverflow(name).into())
}

#[cfg(test)]
mod tests;
