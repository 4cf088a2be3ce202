//! Bit functions: LEFT_SHIFT, RIGHT_SHIFT, BIT_COUNT, GET_BIT, SET_BIT.
//!
//! An integer is its two's complement in the width of its type. In a binary value, bit 0 is the
//! lowest bit of the last byte.

#![expect(clippy::ptr_arg, reason = "binders share a signature, and some add arguments")]

use types::value::ColumnType;
use types::{Bytes, DataType, Error, Family, Msg, Result, Value};

use crate::entry::{convert, of, pure, whole};
use crate::{Call, Function};
use plan::expr::Expr;
use plan::function::Context;

pub(crate) static FUNCTIONS: &[Function] = &[
    pure("LEFT_SHIFT", (2, 2), |a| bind_same(a, "left_shift"), |_, _, v| Ok(shift(v, 1))),
    pure("RIGHT_SHIFT", (2, 2), |a| bind_same(a, "right_shift"), |_, _, v| Ok(shift(v, -1))),
    pure("BIT_COUNT", (1, 1), bind_count, eval_count),
    pure("GET_BIT", (2, 2), bind_get, eval_get),
    pure("SET_BIT", (2, 3), bind_set, eval_set),
];

fn check(arguments: &[Expr], function: &str) -> Result<ColumnType> {
    let ty = arguments[0].ty;
    let is_bits = ty.data_type.is_integer() || ty.data_type.family() == Family::Binary;
    if ty.data_type.is_large() || ty.data_type == DataType::Bit || !is_bits {
        return Err(Msg::InvalidArgumentType(ty.data_type.name(), 1, function).into());
    }
    Ok(ColumnType { nullable: true, ..ty })
}

fn bind_same(arguments: &mut Vec<Expr>, function: &str) -> Result<ColumnType> {
    let ty = check(arguments, function)?;
    convert(arguments, 1, DataType::BigInt)?;
    Ok(ty)
}

fn bind_count(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    check(arguments, "bit_count")?;
    Ok(of(DataType::BigInt))
}

fn bind_get(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    bind_same(arguments, "get_bit")?;
    Ok(of(DataType::Bit))
}

fn bind_set(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let ty = bind_same(arguments, "set_bit")?;
    convert(arguments, 2, DataType::BigInt)?;
    Ok(ty)
}

/// Returns the bytes of a value, highest first.
fn bytes_of(value: &Value) -> Vec<u8> {
    match value {
        Value::TinyInt(n) => vec![*n],
        Value::SmallInt(n) => n.to_be_bytes().to_vec(),
        Value::Int(n) => n.to_be_bytes().to_vec(),
        Value::BigInt(n) => n.to_be_bytes().to_vec(),
        other => other.string_bytes().unwrap_or_default().to_vec(),
    }
}

/// Returns the value of the same type as `like` that has these bytes.
fn value_of(like: &Value, bytes: Vec<u8>) -> Value {
    let number = bytes.iter().fold(0_u64, |n, byte| n << 8 | u64::from(*byte));
    let whole = number.cast_signed();
    match like {
        Value::TinyInt(_) => bytes.first().map_or(Value::Null, |b| Value::TinyInt(*b)),
        Value::SmallInt(_) => match bytes.as_slice() {
            [a, b] => Value::SmallInt(i16::from_be_bytes([*a, *b])),
            _ => Value::Null,
        },
        Value::Int(_) => match bytes.as_slice() {
            [a, b, c, d] => Value::Int(i32::from_be_bytes([*a, *b, *c, *d])),
            _ => Value::Null,
        },
        Value::BigInt(_) => Value::BigInt(whole),
        other => other.with_bytes(Bytes::from(bytes)),
    }
}

fn get(bytes: &[u8], bit: usize) -> bool {
    let byte = bytes.len().checked_sub(1 + bit / 8).and_then(|at| bytes.get(at));
    byte.is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
}

fn set(bytes: &mut [u8], bit: usize, on: bool) {
    let at = bytes.len().wrapping_sub(1 + bit / 8);
    if let Some(byte) = bytes.get_mut(at) {
        let mask = 1 << (bit % 8);
        *byte = if on { *byte | mask } else { *byte & !mask };
    }
}

/// Shifts left (1) or right (-1); a negative distance shifts the other way. The shift is logical.
fn shift(values: &[Value], toward: i64) -> Value {
    let bytes = bytes_of(&values[0]);
    let bits = i64::try_from(bytes.len() * 8).unwrap_or(i64::MAX);
    let distance = whole(values, 1).unwrap_or(0).saturating_mul(toward).clamp(-bits, bits);
    let mut shifted = vec![0; bytes.len()];
    for bit in 0..bits {
        if let (Ok(from), Ok(to)) = (usize::try_from(bit - distance), usize::try_from(bit)) {
            set(&mut shifted, to, get(&bytes, from));
        }
    }
    value_of(&values[0], shifted)
}

fn eval_count(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let ones: u32 = bytes_of(&values[0]).iter().map(|byte| byte.count_ones()).sum();
    Ok(Value::BigInt(i64::from(ones)))
}

/// Returns the bit offset in the second argument.
///
/// # Errors
/// 9838 if the value has no such bit.
fn position(values: &[Value], bits: usize, function: &str, state: u8) -> Result<usize> {
    let wanted = whole(values, 1).and_then(|n| usize::try_from(n).ok());
    wanted.filter(|bit| *bit < bits).ok_or_else(|| {
        let last = i64::try_from(bits).unwrap_or(0) - 1;
        Error::from(Msg::ParameterOutOfRange(2, function, 0, last)).with_state(state)
    })
}

fn eval_get(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let bytes = bytes_of(&values[0]);
    let bit = position(values, bytes.len() * 8, "get_bit", 1)?;
    Ok(Value::Bit(get(&bytes, bit)))
}

fn eval_set(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let mut bytes = bytes_of(&values[0]);
    let bit = position(values, bytes.len() * 8, "set_bit", 2)?;
    let on = match values.get(2).map(|_| whole(values, 2)) {
        None | Some(Some(1)) => true,
        Some(Some(0)) => false,
        Some(_) => return Err(Msg::SetBitValue.into()),
    };
    set(&mut bytes, bit, on);
    Ok(value_of(&values[0], bytes))
}
