//! Values of T-SQL in their physical form, as the encoding PLAIN has them without lengths.

use types::Value;

use super::shape::Shape;
use crate::convert::{EPOCH_DAYS, TICKS_PER_DAY, TICKS_PER_SECOND};
use crate::schema::{Meaning, Physical};
use crate::{Error, Result};

/// Days from 0001-01-01 to 1900-01-01, which `datetime` counts from.
const DATETIME_EPOCH_DAYS: i64 = 693_595;
/// Ticks of `datetime` in a second.
const DATETIME_TICKS: i64 = 300;
const MILLIS_PER_DAY: i64 = 86_400_000;

/// Appends a value that is not NULL.
///
/// # Errors
/// For a moment that nanoseconds from 1970 do not reach, and for characters that are none.
pub(super) fn encode(value: &Value, shape: &Shape, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Null => {}
        Value::Bit(bit) => out.push(u8::from(*bit)),
        Value::TinyInt(n) => out.extend_from_slice(&i32::from(*n).to_le_bytes()),
        Value::SmallInt(n) => out.extend_from_slice(&i32::from(*n).to_le_bytes()),
        Value::Int(n) => out.extend_from_slice(&n.to_le_bytes()),
        Value::BigInt(n) => out.extend_from_slice(&n.to_le_bytes()),
        Value::Decimal(decimal) => number(decimal.mantissa(), shape, out)?,
        Value::Money(n) => number(i128::from(*n), shape, out)?,
        Value::Real(n) => out.extend_from_slice(&n.to_le_bytes()),
        Value::Float(n) => out.extend_from_slice(&n.to_le_bytes()),
        Value::Date(days) => {
            let days = i32::try_from(i64::from(*days) - EPOCH_DAYS).map_err(|_| outside())?;
            out.extend_from_slice(&days.to_le_bytes());
        }
        Value::Time(ticks) => out.extend_from_slice(&units(*ticks, shape)?.to_le_bytes()),
        Value::DateTime { days, ticks } => {
            // Rounded as T-SQL shows it: .000, .003, .007.
            let millis = (i64::from(*ticks) * 1_000 + DATETIME_TICKS / 2) / DATETIME_TICKS;
            put_millis(i64::from(*days), millis, out);
        }
        Value::SmallDateTime { days, minutes } => {
            put_millis(i64::from(*days), i64::from(*minutes) * 60_000, out);
        }
        Value::DateTime2 { days, ticks } | Value::DateTimeOffset { days, ticks, .. } => {
            out.extend_from_slice(&moment(i64::from(*days), *ticks, shape)?.to_le_bytes());
        }
        Value::VarChar(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if text.is_ascii() => out.extend_from_slice(bytes),
            _ => out.extend_from_slice(shape.collation.code_page().decode(bytes).as_bytes()),
        },
        Value::NVarChar(bytes) => utf16(bytes, out)?,
        Value::VarBinary(bytes) => out.extend_from_slice(bytes),
        Value::UniqueIdentifier(id) => {
            // From left to right, as it is shown.
            let mut id = *id;
            id[..4].reverse();
            id[4..6].reverse();
            id[6..8].reverse();
            out.extend_from_slice(&id);
        }
        Value::Variant(_) => return Err(Error::not_supported("a value of type sql_variant")),
    }
    Ok(())
}

fn outside() -> Error {
    Error::value("a value that its type in the file does not have")
}

fn number(digits: i128, shape: &Shape, out: &mut Vec<u8>) -> Result<()> {
    match shape.physical {
        Physical::Int32 => {
            let digits = i32::try_from(digits).map_err(|_| outside())?;
            out.extend_from_slice(&digits.to_le_bytes());
        }
        Physical::Int64 => {
            let digits = i64::try_from(digits).map_err(|_| outside())?;
            out.extend_from_slice(&digits.to_le_bytes());
        }
        Physical::Fixed(length) => {
            let start = 16_usize.saturating_sub(length);
            out.extend_from_slice(&digits.to_be_bytes()[start..]);
        }
        Physical::Boolean
        | Physical::Int96
        | Physical::Float
        | Physical::Double
        | Physical::Bytes => return Err(outside()),
    }
    Ok(())
}

/// Ticks of 100 ns in the units of the column.
fn units(ticks: i64, shape: &Shape) -> Result<i64> {
    let (Meaning::Time(units) | Meaning::Timestamp(units)) = shape.meaning else {
        return Err(outside());
    };
    Ok(match units > TICKS_PER_SECOND {
        true => ticks * (units / TICKS_PER_SECOND),
        false => ticks / (TICKS_PER_SECOND / units),
    })
}

fn moment(days: i64, ticks: i64, shape: &Shape) -> Result<i64> {
    let per_day = units(TICKS_PER_DAY, shape)?;
    let of_days = (days - EPOCH_DAYS).checked_mul(per_day);
    let moment = of_days.and_then(|moment| moment.checked_add(units(ticks, shape).ok()?));
    moment.ok_or_else(|| {
        Error::value(
            "nanoseconds reach from 1677-09-21 to 2262-04-11: convert it to a type of scale 6",
        )
    })
}

fn put_millis(days: i64, millis: i64, out: &mut Vec<u8>) {
    let days = days + DATETIME_EPOCH_DAYS - EPOCH_DAYS;
    out.extend_from_slice(&(days * MILLIS_PER_DAY + millis).to_le_bytes());
}

fn utf16(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
    for character in char::decode_utf16(units) {
        let character =
            character.map_err(|_| Error::value("half of a character (a surrogate alone)"))?;
        let mut buffer = [0; 4];
        out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
    }
    Ok(())
}

/// Compares two values of a column, both encoded and neither NULL, as the format orders them.
pub(crate) fn compare(
    (physical, meaning): (Physical, Meaning),
    one: &[u8],
    other: &[u8],
) -> std::cmp::Ordering {
    match physical {
        Physical::Int32 => int32(one).cmp(&int32(other)),
        Physical::Int64 => int64(one).cmp(&int64(other)),
        Physical::Float => f32::from_bits(int32(one).cast_unsigned())
            .total_cmp(&f32::from_bits(int32(other).cast_unsigned())),
        Physical::Double => f64::from_bits(int64(one).cast_unsigned())
            .total_cmp(&f64::from_bits(int64(other).cast_unsigned())),
        Physical::Fixed(_) if matches!(meaning, Meaning::Decimal(..)) => {
            let sign = |bytes: &[u8]| bytes.first().map(|first| first ^ 0x80);
            sign(one).cmp(&sign(other)).then_with(|| one.cmp(other))
        }
        Physical::Boolean | Physical::Int96 | Physical::Bytes | Physical::Fixed(_) => {
            one.cmp(other)
        }
    }
}

fn int32(bytes: &[u8]) -> i32 {
    bytes.try_into().map_or(0, i32::from_le_bytes)
}

fn int64(bytes: &[u8]) -> i64 {
    bytes.try_into().map_or(0, i64::from_le_bytes)
}
