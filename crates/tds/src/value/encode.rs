//! Encodes values for the wire. Strings and binary are in wire encoding already and are copied or
//! sent by reference.
//!
//! The engine must pass values of the type that it announced; any other is a bug and panics, which
//! ends the request with error 3624. Integers may be narrower than announced.

use types::data_type::DataType;
use types::{Bytes, Decimal, Value};

use super::{partial, render, ticks_per_unit, time_bytes, variant};
use crate::sink::Sink;
use crate::wire_type::{Form, Place, SHORT_BYTES_MAX, WireType, decimal_bytes};

/// A text pointer and timestamp, which clients ignore: length 16, then 24 bytes.
const TEXT_POINTER: [u8; 25] = *b"\x10clearway textptrclearway";
const SHORT_NULL: [u8; 2] = [0xFF; 2];
const LONG_NULL: [u8; 4] = [0xFF; 4];

impl WireType {
    /// Writes a value of this type.
    pub fn encode_value(&self, target: &mut impl Sink, value: &Value, place: Place) {
        if value.is_null() {
            return self.encode_null(target, place);
        }
        match self.form {
            Form::Byte => put_byte_length(target, self.column_type.data_type, value),
            Form::Short => {
                let bytes = self.bytes_of(value);
                let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
                assert!(length <= SHORT_BYTES_MAX, "a value that is not (max) has 8,000 bytes");
                target.put(&length.to_le_bytes());
                target.put(bytes);
            }
            Form::Partial => partial::encode(target, self.bytes_of(value)),
            Form::Long => {
                let bytes = self.bytes_of(value);
                if place == Place::Row {
                    target.put(&TEXT_POINTER);
                }
                let length = u32::try_from(bytes.len()).expect("a value has less than 2 GB");
                target.put(&length.to_le_bytes());
                target.put_shared(bytes);
            }
            Form::Variant => match value {
                Value::Variant(inner) => variant::encode(target, &inner.0, &inner.1),
                other => mismatch(self.column_type.data_type, other),
            },
            Form::Rendered => render::encode(target, self.column_type.data_type, value),
            Form::Fixed => put_bare(target, self.column_type.data_type, value),
            Form::Null => mismatch(self.column_type.data_type, value),
        }
    }

    fn encode_null(&self, target: &mut impl Sink, place: Place) {
        match self.form {
            Form::Byte => target.put(&[0]),
            Form::Short | Form::Rendered => target.put(&SHORT_NULL),
            Form::Partial => partial::encode_null(target),
            Form::Variant => target.put(&[0; 4]),
            Form::Long => match place {
                Place::Row => target.put(&[0]),
                Place::Parameter => target.put(&LONG_NULL),
            },
            Form::Null => {}
            Form::Fixed => mismatch(self.column_type.data_type, &Value::Null),
        }
    }

    /// Returns the bytes of a string or binary value, which must be of this type's kind.
    fn bytes_of<'v>(&self, value: &'v Value) -> &'v Bytes {
        let data_type = self.column_type.data_type;
        match (data_type, value) {
            (DataType::Char(_) | DataType::VarChar(_) | DataType::Text, Value::VarChar(bytes))
            | (
                DataType::NChar(_) | DataType::NVarChar(_) | DataType::NText | DataType::Xml,
                Value::NVarChar(bytes),
            )
            | (
                DataType::Binary(_)
                | DataType::VarBinary(_)
                | DataType::Image
                | DataType::RowVersion,
                Value::VarBinary(bytes),
            ) => bytes,
            (_, other) => mismatch(data_type, other),
        }
    }
}

#[cold]
fn mismatch(data_type: DataType, value: &Value) -> ! {
    panic!("a column announced as {data_type} got the value {value:?}")
}

/// The bytes of one scalar, at most 17 and a length, assembled on the stack for one append.
struct Scalar {
    bytes: [u8; 24],
    length: usize,
}

impl Scalar {
    const fn new() -> Self {
        Self { bytes: [0; 24], length: 0 }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }
}

/// Writes a scalar behind a length of one byte.
fn put_byte_length(target: &mut impl Sink, data_type: DataType, value: &Value) {
    let mut scalar = Scalar::new();
    scalar.add(&[0]);
    fill(&mut scalar, data_type, value);
    scalar.bytes[0] = u8::try_from(scalar.length - 1).expect("a scalar has at most 17 bytes");
    target.put(&scalar.bytes[..scalar.length]);
}

/// Writes a value without its length.
pub(super) fn put_bare(target: &mut impl Sink, data_type: DataType, value: &Value) {
    match value {
        Value::VarChar(bytes) | Value::NVarChar(bytes) | Value::VarBinary(bytes) => {
            target.put(bytes);
        }
        _ => {
            let mut scalar = Scalar::new();
            fill(&mut scalar, data_type, value);
            target.put(&scalar.bytes[..scalar.length]);
        }
    }
}

/// Returns the value as an integer, for the integer types.
fn integer(data_type: DataType, value: &Value) -> i64 {
    match value {
        Value::Bit(bit) => i64::from(*bit),
        Value::TinyInt(value) => i64::from(*value),
        Value::SmallInt(value) => i64::from(*value),
        Value::Int(value) => i64::from(*value),
        Value::BigInt(value) => *value,
        other => mismatch(data_type, other),
    }
}

fn fill(scalar: &mut Scalar, data_type: DataType, value: &Value) {
    let fits = "an integer fits the type that was announced";
    match (data_type, value) {
        (DataType::Int, Value::Int(value)) => scalar.add(&value.to_le_bytes()),
        (DataType::Bit, _) => scalar.add(&[u8::from(integer(data_type, value) != 0)]),
        (DataType::TinyInt, _) => {
            scalar.add(&u8::try_from(integer(data_type, value)).expect(fits).to_le_bytes());
        }
        (DataType::SmallInt, _) => {
            scalar.add(&i16::try_from(integer(data_type, value)).expect(fits).to_le_bytes());
        }
        (DataType::Int, _) => {
            scalar.add(&i32::try_from(integer(data_type, value)).expect(fits).to_le_bytes());
        }
        (DataType::BigInt, _) => scalar.add(&integer(data_type, value).to_le_bytes()),
        (DataType::Real, Value::Real(value)) => scalar.add(&value.to_le_bytes()),
        (DataType::Float, Value::Float(value)) => scalar.add(&value.to_le_bytes()),
        (DataType::Decimal { precision, scale }, Value::Decimal(value)) => {
            decimal(scalar, precision, scale, *value);
        }
        (DataType::Money, Value::Money(value)) => {
            let [l0, l1, l2, l3, h0, h1, h2, h3] = value.to_le_bytes();
            scalar.add(&[h0, h1, h2, h3, l0, l1, l2, l3]);
        }
        (DataType::SmallMoney, Value::Money(value)) => {
            let value = i32::try_from(*value).expect("a smallmoney is in its range");
            scalar.add(&value.to_le_bytes());
        }
        (DataType::UniqueIdentifier, Value::UniqueIdentifier(bytes)) => scalar.add(bytes),
        _ => temporal(scalar, data_type, value),
    }
}

fn temporal(scalar: &mut Scalar, data_type: DataType, value: &Value) {
    match (data_type, value) {
        (DataType::Date, Value::Date(days)) => date(scalar, *days),
        (DataType::Time(scale), Value::Time(ticks)) => time(scalar, scale, *ticks),
        (DataType::DateTime, Value::DateTime { days, ticks }) => {
            scalar.add(&days.to_le_bytes());
            scalar.add(&ticks.to_le_bytes());
        }
        (DataType::SmallDateTime, Value::SmallDateTime { days, minutes }) => {
            scalar.add(&days.to_le_bytes());
            scalar.add(&minutes.to_le_bytes());
        }
        (DataType::DateTime2(scale), Value::DateTime2 { days, ticks }) => {
            time(scalar, scale, *ticks);
            date(scalar, *days);
        }
        (DataType::DateTimeOffset(scale), Value::DateTimeOffset { days, ticks, offset }) => {
            time(scalar, scale, *ticks);
            date(scalar, *days);
            scalar.add(&offset.to_le_bytes());
        }
        (_, other) => mismatch(data_type, other),
    }
}

fn date(scalar: &mut Scalar, days: i32) {
    scalar.add(&days.to_le_bytes()[..3]);
}

fn time(scalar: &mut Scalar, scale: u8, ticks: i64) {
    let ticks = u64::try_from(ticks).expect("a time is not negative");
    let units = ticks / ticks_per_unit(scale);
    scalar.add(&units.to_le_bytes()[..time_bytes(scale)]);
}

/// Writes a decimal in the announced scale: a lower scale is widened, a higher one is a bug.
fn decimal(scalar: &mut Scalar, precision: u8, scale: u8, value: Decimal) {
    let widening = scale.checked_sub(value.scale).expect("a decimal has no more than its scale");
    let widened = value.mantissa().checked_mul(10_i128.pow(widening.into()));
    let mantissa = widened.expect("a decimal has at most 38 digits");
    scalar.add(&[u8::from(mantissa >= 0)]);
    let bytes = mantissa.unsigned_abs().to_le_bytes();
    let (sent, beyond) = bytes.split_at(usize::from(decimal_bytes(precision)) - 1);
    assert!(beyond.iter().all(|&byte| byte == 0), "a decimal has no more than its precision");
    scalar.add(sent);
}
