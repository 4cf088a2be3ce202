//! Decodes values from the wire and checks their range.

use types::data_type::{DataType, Length};
use types::{Bytes, Decimal, Value};

use super::{DAYS_END, TICKS_PER_DAY, partial, ticks_per_unit, time_bytes, variant};
use crate::cursor::Cursor;
use crate::error::{ProtocolError, Result};
use crate::wire_type::{Form, Place, WireType};

/// The two-byte length of NULL.
const SHORT_NULL: u16 = 0xFFFF;
/// The four-byte length of NULL.
const LONG_NULL: u32 = 0xFFFF_FFFF;
/// The timestamp behind a text pointer, in bytes.
const TEXT_TIMESTAMP_BYTES: usize = 8;
/// The last day of `datetime`, 9999-12-31, and its first, 1753-01-01, counted from 1900-01-01.
const DATE_TIME_DAYS: std::ops::RangeInclusive<i32> = -53_690..=2_958_463;
/// 1/300 s ticks in a day.
const DATE_TIME_TICKS_END: u32 = 25_920_000;
const MINUTES_END: u16 = 1_440;
/// The largest offset of `datetimeoffset`, in minutes.
const OFFSET_MAX: i16 = 840;

impl WireType {
    /// Reads a value of this type.
    #[inline]
    pub fn decode_value(&self, body: &mut Cursor<'_>, place: Place) -> Result<Value> {
        let data_type = self.column_type.data_type;
        match self.form {
            Form::Fixed => scalar(data_type, fixed_bytes(data_type), body),
            Form::Byte => match usize::from(body.u8()?) {
                0 => Ok(Value::Null),
                length => self.of_length(length, body),
            },
            Form::Short => match body.u16()? {
                SHORT_NULL => Ok(Value::Null),
                length => self.of_length(usize::from(length), body),
            },
            Form::Long => self.long(body, place),
            Form::Partial => match partial::decode(body)? {
                None => Ok(Value::Null),
                Some(bytes) => run(data_type, bytes),
            },
            Form::Variant => variant::decode(body),
            Form::Null => Ok(Value::Null),
            Form::Rendered => unreachable!("rendered dates are sent, never received"),
        }
    }

    fn long(&self, body: &mut Cursor<'_>, place: Place) -> Result<Value> {
        if place == Place::Row {
            let pointer_bytes = usize::from(body.u8()?);
            if pointer_bytes == 0 {
                return Ok(Value::Null);
            }
            body.skip(pointer_bytes + TEXT_TIMESTAMP_BYTES)?;
        }
        match body.u32()? {
            LONG_NULL => Ok(Value::Null),
            length => {
                let length = usize::try_from(length).map_err(|_| ProtocolError::Truncated)?;
                self.of_length(length, body)
            }
        }
    }

    #[inline]
    fn of_length(&self, length: usize, body: &mut Cursor<'_>) -> Result<Value> {
        let data_type = self.column_type.data_type;
        if let Some(bytes_max) = run_bytes_max(data_type) {
            if length > bytes_max {
                return Err(invalid_length(data_type, length));
            }
            return run(data_type, body.shared(length)?);
        }
        scalar(data_type, length, body)
    }
}

fn invalid_length(data_type: DataType, length: usize) -> ProtocolError {
    let length = u64::try_from(length).unwrap_or(u64::MAX);
    ProtocolError::InvalidLength { what: data_type.name(), length }
}

/// Returns the longest value of a string or binary type in bytes, `None` for other types.
pub(super) fn run_bytes_max(data_type: DataType) -> Option<usize> {
    let limited = |length| match length {
        Length::Limited(count) => usize::from(count),
        Length::Max => usize::MAX / 2,
    };
    match data_type {
        DataType::Char(n) | DataType::Binary(n) => Some(usize::from(n)),
        DataType::NChar(n) => Some(usize::from(n) * 2),
        DataType::VarChar(l) | DataType::VarBinary(l) => Some(limited(l)),
        DataType::NVarChar(l) => Some(limited(l) * 2),
        DataType::Text | DataType::NText | DataType::Image | DataType::Xml => Some(usize::MAX),
        DataType::RowVersion => Some(8),
        DataType::Bit
        | DataType::TinyInt
        | DataType::SmallInt
        | DataType::Int
        | DataType::BigInt
        | DataType::Decimal { .. }
        | DataType::Money
        | DataType::SmallMoney
        | DataType::Real
        | DataType::Float
        | DataType::Date
        | DataType::Time(_)
        | DataType::DateTime
        | DataType::SmallDateTime
        | DataType::DateTime2(_)
        | DataType::DateTimeOffset(_)
        | DataType::UniqueIdentifier
        | DataType::SqlVariant => None,
    }
}

/// Makes a value of a string or binary type.
pub(super) fn run(data_type: DataType, bytes: Bytes) -> Result<Value> {
    match data_type {
        DataType::Char(_) | DataType::VarChar(_) | DataType::Text => Ok(Value::VarChar(bytes)),
        DataType::NChar(_) | DataType::NVarChar(_) | DataType::NText | DataType::Xml => {
            if !bytes.len().is_multiple_of(2) {
                return Err(invalid_length(data_type, bytes.len()));
            }
            Ok(Value::NVarChar(bytes))
        }
        _ => Ok(Value::VarBinary(bytes)),
    }
}

/// Returns the number of bytes of a type with one size only.
fn fixed_bytes(data_type: DataType) -> usize {
    match data_type {
        DataType::Bit | DataType::TinyInt => 1,
        DataType::SmallInt => 2,
        DataType::Int | DataType::Real | DataType::SmallMoney | DataType::SmallDateTime => 4,
        DataType::BigInt | DataType::Float | DataType::Money | DataType::DateTime => 8,
        DataType::Date => 3,
        DataType::Time(scale) => time_bytes(scale),
        DataType::DateTime2(scale) => time_bytes(scale) + 3,
        DataType::DateTimeOffset(scale) => time_bytes(scale) + 5,
        DataType::UniqueIdentifier => 16,
        _ => 0,
    }
}

/// Reads a value of a type that is neither a string nor binary, `length` bytes long.
#[inline]
pub(super) fn scalar(data_type: DataType, length: usize, body: &mut Cursor<'_>) -> Result<Value> {
    if let DataType::Decimal { precision, scale } = data_type {
        return decimal(precision, scale, length, body);
    }
    if length != fixed_bytes(data_type) {
        return Err(invalid_length(data_type, length));
    }
    match data_type {
        DataType::Bit => Ok(Value::Bit(body.u8()? != 0)),
        DataType::TinyInt => body.u8().map(Value::TinyInt),
        DataType::SmallInt => body.i16().map(Value::SmallInt),
        DataType::Int => body.i32().map(Value::Int),
        DataType::BigInt => body.i64().map(Value::BigInt),
        DataType::Real => {
            let value = f32::from_le_bytes(body.array()?);
            value.is_finite().then_some(Value::Real(value)).ok_or(invalid(data_type))
        }
        DataType::Float => {
            let value = f64::from_le_bytes(body.array()?);
            value.is_finite().then_some(Value::Float(value)).ok_or(invalid(data_type))
        }
        DataType::SmallMoney => body.i32().map(|value| Value::Money(value.into())),
        DataType::Money => {
            let (high, low) = (body.i32()?, body.u32()?);
            Ok(Value::Money(i64::from(high) << 32 | i64::from(low)))
        }
        DataType::UniqueIdentifier => body.array().map(Value::UniqueIdentifier),
        _ => temporal(data_type, body),
    }
}

fn invalid(data_type: DataType) -> ProtocolError {
    ProtocolError::InvalidValue(data_type.name())
}

fn temporal(data_type: DataType, body: &mut Cursor<'_>) -> Result<Value> {
    match data_type {
        DataType::SmallDateTime => {
            let (days, minutes) = (body.u16()?, body.u16()?);
            let is_valid = minutes < MINUTES_END;
            is_valid.then_some(Value::SmallDateTime { days, minutes }).ok_or(invalid(data_type))
        }
        DataType::DateTime => {
            let (days, ticks) = (body.i32()?, body.u32()?);
            let is_valid = DATE_TIME_DAYS.contains(&days) && ticks < DATE_TIME_TICKS_END;
            is_valid.then_some(Value::DateTime { days, ticks }).ok_or(invalid(data_type))
        }
        DataType::Date => Ok(Value::Date(date(data_type, body)?)),
        DataType::Time(scale) => Ok(Value::Time(time(data_type, scale, body)?)),
        DataType::DateTime2(scale) => {
            let ticks = time(data_type, scale, body)?;
            Ok(Value::DateTime2 { days: date(data_type, body)?, ticks })
        }
        DataType::DateTimeOffset(scale) => {
            let ticks = time(data_type, scale, body)?;
            let days = date(data_type, body)?;
            let offset = body.i16()?;
            let is_valid = (-OFFSET_MAX..=OFFSET_MAX).contains(&offset);
            let value = Value::DateTimeOffset { days, ticks, offset };
            is_valid.then_some(value).ok_or(invalid(data_type))
        }
        other => unreachable!("{other} is not a date or time"),
    }
}

fn date(data_type: DataType, body: &mut Cursor<'_>) -> Result<i32> {
    let [b0, b1, b2] = body.array()?;
    let days = u32::from_le_bytes([b0, b1, b2, 0]);
    if days >= DAYS_END {
        return Err(invalid(data_type));
    }
    i32::try_from(days).map_err(|_| invalid(data_type))
}

fn time(data_type: DataType, scale: u8, body: &mut Cursor<'_>) -> Result<i64> {
    let mut bytes = [0; 8];
    body.copy_to(&mut bytes[..time_bytes(scale)])?;
    // Five bytes times 10^7 fit 64 bits.
    let ticks = u64::from_le_bytes(bytes) * ticks_per_unit(scale);
    if ticks >= TICKS_PER_DAY {
        return Err(invalid(data_type));
    }
    i64::try_from(ticks).map_err(|_| invalid(data_type))
}

fn decimal(precision: u8, scale: u8, length: usize, body: &mut Cursor<'_>) -> Result<Value> {
    let data_type = DataType::Decimal { precision, scale };
    // The specification has 5, 9, 13 and 17 bytes; the JDBC drivers send only as many as the number
    // needs.
    if !(2..=17).contains(&length) {
        return Err(invalid_length(data_type, length));
    }
    let is_positive = body.u8()? != 0;
    let mut bytes = [0; 16];
    body.copy_to(&mut bytes[..length - 1])?;
    let magnitude = u128::from_le_bytes(bytes);
    if magnitude >= 10_u128.pow(precision.into()) {
        return Err(invalid(data_type));
    }
    let magnitude = i128::try_from(magnitude).map_err(|_| invalid(data_type))?;
    let mantissa = if is_positive { magnitude } else { -magnitude };
    Ok(Value::Decimal(Decimal::new(mantissa, precision, scale)))
}
