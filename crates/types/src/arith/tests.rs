//! Tests documented results of the operators.

use super::*;
use crate::type_rules;

/// Converts decimals and computes as a statement would.
fn compute(op: BinaryOp, left: &Value, right: &Value) -> Result<Value> {
    let types = type_rules::binary(op, &left.data_type(), &right.data_type())?;
    binary(op, left, right, &types.result)
}

fn number(text: &str) -> Value {
    Value::Decimal(Decimal::parse(text).unwrap().unwrap())
}

fn text(op: BinaryOp, left: &str, right: &str) -> String {
    let Value::Decimal(d) = compute(op, &number(left), &number(right)).unwrap() else { panic!() };
    d.to_string()
}

#[test]
fn integers_divide_to_integers_and_overflow() {
    use BinaryOp::{Add, BitAnd, BitOr, Divide, Modulo, Multiply};
    assert_eq!(compute(Divide, &Value::Int(7), &Value::Int(-2)), Ok(Value::Int(-3)));
    assert_eq!(compute(Modulo, &Value::Int(-7), &Value::Int(2)), Ok(Value::Int(-1)));
    assert_eq!(compute(BitAnd, &Value::Int(-1), &Value::Int(0x8000)), Ok(Value::Int(0x8000)));
    assert_eq!(compute(BitOr, &Value::TinyInt(1), &Value::TinyInt(6)), Ok(Value::TinyInt(7)));
    for (op, left, right, number) in [
        (Add, Value::Int(i32::MAX), Value::Int(1), 8115),
        (Multiply, Value::Int(i32::MAX), Value::Int(0x10000), 8115),
        (Divide, Value::Int(i32::MIN), Value::Int(-1), 8115),
        (Divide, Value::Int(1), Value::Int(0), 8134),
        (Modulo, Value::BigInt(1), Value::BigInt(0), 8134),
        (Add, Value::TinyInt(255), Value::TinyInt(1), 8115),
        (Multiply, Value::BigInt(i64::MAX), Value::BigInt(i64::MAX), 8115),
        (Multiply, Value::Float(1e300), Value::Float(1e300), 8115),
    ] {
        assert_eq!(compute(op, &left, &right).unwrap_err().number, number, "{left:?} {op:?}");
    }
    assert_eq!(compute(Modulo, &Value::Int(i32::MIN), &Value::Int(-1)), Ok(Value::Int(0)));
    let message = compute(Add, &Value::Int(i32::MAX), &Value::Int(1)).unwrap_err().message.clone();
    assert_eq!(message, "Arithmetic overflow error converting expression to data type int.");
}

#[test]
fn decimals_keep_the_documented_scale() {
    assert_eq!(text(BinaryOp::Divide, "2.0", "3.0"), "0.666666");
    assert_eq!(text(BinaryOp::Divide, "1", "3"), "0.333333");
    assert_eq!(text(BinaryOp::Multiply, "1.5", "-1.5"), "-2.25");
    assert_eq!(text(BinaryOp::Add, "0.1", "0.25"), "0.35");
    assert_eq!(text(BinaryOp::Modulo, "5.5", "2"), "1.5");
    assert_eq!(text(BinaryOp::Modulo, "-5.5", "2"), "-1.5");
}

#[test]
fn products_that_lose_scale_are_rounded() {
    // The documentation's example: decimal(30,20) * decimal(30,20) has scale 17.
    let wide = |m: i128| Value::Decimal(Decimal::new(m, 30, 20));
    let (a, b) = (wide(90_000_000_000_000), wide(100_000_000_000_000_000_000));
    let Ok(Value::Decimal(product)) = compute(BinaryOp::Multiply, &a, &b) else { panic!() };
    assert_eq!(product.to_string(), "0.00000090000000000");
}

#[test]
fn money_multiplies_and_divides_in_ten_thousandths() {
    let money = |op, a, b| compute(op, &Value::Money(a), &Value::Money(b));
    assert_eq!(money(BinaryOp::Divide, 20_000, 30_000), Ok(Value::Money(6_666)));
    assert_eq!(money(BinaryOp::Multiply, 15_000, 15_000), Ok(Value::Money(22_500)));
}

#[test]
fn concatenation_stops_at_the_length_of_its_type() {
    let long = Value::VarChar(Bytes::from(vec![b'x'; 5_000]));
    let Ok(Value::VarChar(joined)) = compute(BinaryOp::Add, &long, &long) else { panic!() };
    assert_eq!(joined.len(), 8_000);
    assert_eq!(compute(BinaryOp::Add, &long, &Value::Null), Ok(Value::Null));
}
