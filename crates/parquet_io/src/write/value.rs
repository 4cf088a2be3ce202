//! Encodes T-SQL values in their physical form: PLAIN, without lengths.

use types::Value;

use super::shape::Shape;
use crate::convert::{EPOCH_DAYS, TICKS_PER_DAY, TICKS_PER_SECOND};
use crate::schema::{Meaning, Physical};
use crate::{Error, Result};

/// Days from 0001-01-01 to 1900-01-01, the epoch of `datetime`.
const DATETIME_EPOCH_DAYS: i64 = 693_595;
/// The ticks of `datetime` per second.
const DATETIME_TICKS: i64 = 300;
const MILLIS_PER_DAY: i64 = 86_400_000;

/// Appends a value that is not NULL.
///
/// # Errors
/// For a time out of the range of nanoseconds since 1970, and for invalid characters.
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
        Value::Date(of) => {
            let days = i32::try_from(days(*of)).map_err(|_| outside())?;
            out.extend_from_slice(&days.to_le_bytes());
        }
        Value::Time(ticks) => out.extend_from_slice(&units(*ticks, shape)?.to_le_bytes()),
        Value::DateTime { days, ticks } => {
            out.extend_from_slice(&millis(*days, *ticks).to_le_bytes());
        }
        Value::SmallDateTime { days, minutes } => {
            let moment = millis_of(i64::from(*days), i64::from(*minutes) * 60_000);
            out.extend_from_slice(&moment.to_le_bytes());
        }
        Value::DateTime2 { days, ticks } | Value::DateTimeOffset { days, ticks, .. } => {
            out.extend_from_slice(&moment(i64::from(*days), *ticks, shape)?.to_le_bytes());
        }
        Value::VarChar(bytes) => narrow(bytes, shape, out),
        Value::NVarChar(bytes) => utf16(bytes, out)?,
        Value::VarBinary(bytes) => out.extend_from_slice(bytes),
        Value::UniqueIdentifier(id) => {
            // The bytes of a GUID in the order in which it is displayed.
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

/// Converts ticks of 100 ns to the units of the column.
fn units(ticks: i64, shape: &Shape) -> Result<i64> {
    let (Meaning::Time(units) | Meaning::Timestamp(units)) = shape.meaning else {
        return Err(outside());
    };
    Ok(match units > TICKS_PER_SECOND {
        true => ticks * (units / TICKS_PER_SECOND),
        false => ticks / (TICKS_PER_SECOND / units),
    })
}

/// Converts days since 0001-01-01 to days since 1970-01-01.
pub(super) fn days(days: i32) -> i64 {
    i64::from(days) - EPOCH_DAYS
}

/// Returns a `datetime` in milliseconds, rounded as T-SQL displays it: .000, .003, .007.
pub(super) fn millis(days: i32, ticks: u32) -> i64 {
    millis_of(i64::from(days), (i64::from(ticks) * 1_000 + DATETIME_TICKS / 2) / DATETIME_TICKS)
}

fn millis_of(days: i64, millis: i64) -> i64 {
    (days + DATETIME_EPOCH_DAYS - EPOCH_DAYS) * MILLIS_PER_DAY + millis
}

/// Returns a time since 1970-01-01 in the units of the column.
///
/// # Errors
/// If it is out of the range of nanoseconds.
pub(super) fn moment(days: i64, ticks: i64, shape: &Shape) -> Result<i64> {
    let per_day = units(TICKS_PER_DAY, shape)?;
    let of_days = (days - EPOCH_DAYS).checked_mul(per_day);
    let moment = of_days.and_then(|moment| moment.checked_add(units(ticks, shape).ok()?));
    moment.ok_or_else(|| {
        Error::value(
            "nanoseconds reach from 1677-09-21 to 2262-04-11: convert it to a type of scale 6",
        )
    })
}

/// Appends characters of a code page as UTF-8.
pub(super) fn narrow(bytes: &[u8], shape: &Shape, out: &mut Vec<u8>) {
    match bytes.is_ascii() {
        true => out.extend_from_slice(bytes),
        false => out.extend_from_slice(shape.collation.code_page().decode(bytes).as_bytes()),
    }
}

/// Appends UTF-16 as UTF-8.
///
/// # Errors
/// For an unpaired surrogate.
pub(super) fn utf16(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let units = bytes.as_chunks::<2>().0;
    if units.iter().all(|[low, high]| *high == 0 && low.is_ascii()) {
        out.extend(units.iter().map(|[low, _]| *low));
        return Ok(());
    }
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    for character in char::decode_utf16(units) {
        let character =
            character.map_err(|_| Error::value("half of a character (a surrogate alone)"))?;
        let mut buffer = [0; 4];
        out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
    }
    Ok(())
}

/// Compares two encoded values of a column, neither NULL, in the order of the format.
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
