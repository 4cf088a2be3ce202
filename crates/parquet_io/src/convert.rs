//! Conversion of physical values to T-SQL values.

use types::batch::{Data, Nulls, Vector};
use types::{Bytes, DataType, Value};

use crate::schema::{Column, Meaning, Physical};
use crate::values::Raw;
use crate::{Error, Result};

/// Definition levels: one per row, 0 for NULL; `None` if no row is NULL.
pub(crate) type Levels<'a> = Option<&'a [u32]>;

/// Days from 0001-01-01 to 1970-01-01.
pub(crate) const EPOCH_DAYS: i64 = 719_162;
/// The last day of T-SQL, 9999-12-31, counted from 0001-01-01.
const DAYS_MAX: i64 = 3_652_058;
/// T-SQL's time unit: ticks of 100 ns.
pub(crate) const TICKS_PER_SECOND: i64 = 10_000_000;
pub(crate) const TICKS_PER_DAY: i64 = 86_400 * TICKS_PER_SECOND;
/// The Julian day number of 1970-01-01, from which INT96 counts days.
const EPOCH_JULIAN_DAY: i64 = 2_440_588;

/// Appends the values of a batch to a vector of the column's type.
///
/// # Errors
/// With the index in `levels` as row.
pub(crate) fn append(
    column: &Column,
    raw: &Raw,
    levels: Levels<'_>,
    to: &mut Vector,
) -> Result<()> {
    let (data, nulls) = to.parts_mut();
    let (scale, meaning) = (column.meaning, column.meaning);
    match (data, raw) {
        (Data::Bit(rows), Raw::Boolean(of)) => fixed(of, levels, nulls, rows, |v| Some(*v)),
        (Data::Int(rows), Raw::Int32(of)) => fixed(of, levels, nulls, rows, |v| Some(*v)),
        (Data::SmallInt(rows), Raw::Int32(of)) => {
            fixed(of, levels, nulls, rows, |v| i16::try_from(*v).ok())
        }
        (Data::TinyInt(rows), Raw::Int32(of)) => {
            fixed(of, levels, nulls, rows, |v| u8::try_from(*v).ok())
        }
        (Data::BigInt(rows), Raw::Int32(of)) => {
            fixed(of, levels, nulls, rows, |v| Some(i64::from(v.cast_unsigned())))
        }
        (Data::BigInt(rows), Raw::Int64(of)) => fixed(of, levels, nulls, rows, |v| Some(*v)),
        (Data::Real(rows), Raw::Float(of)) => fixed(of, levels, nulls, rows, |v| real(*v)),
        (Data::Float(rows), Raw::Double(of)) => fixed(of, levels, nulls, rows, |v| float(*v)),
        (Data::Date(rows), Raw::Int32(of)) => fixed(of, levels, nulls, rows, |v| date(*v)),
        (Data::Time(rows), Raw::Int32(of)) => {
            fixed(of, levels, nulls, rows, |v| time(i64::from(*v), scale))
        }
        (Data::Time(rows), Raw::Int64(of)) => fixed(of, levels, nulls, rows, |v| time(*v, scale)),
        (Data::DateTime2(rows), Raw::Int64(of)) => {
            fixed(of, levels, nulls, rows, |v| moment(*v, meaning))
        }
        (Data::ShortDecimal { digits, precision, .. }, Raw::Int32(of)) => {
            let most = 10_i64.pow(u32::from(*precision));
            fixed(of, levels, nulls, digits, |v| below(i64::from(*v), most))
        }
        (Data::ShortDecimal { digits, precision, .. }, Raw::Int64(of)) => {
            let most = 10_i64.pow(u32::from(*precision));
            fixed(of, levels, nulls, digits, |v| below(*v, most))
        }
        (Data::Decimal { digits, precision, .. }, Raw::Int32(of)) => {
            let most = 10_i128.pow(u32::from(*precision));
            fixed(of, levels, nulls, digits, |v| wide_below(i128::from(*v), most))
        }
        (Data::Decimal { digits, precision, .. }, Raw::Int64(of)) => {
            let is_unsigned = matches!(meaning, Meaning::Int(64, false));
            let most = 10_i128.pow(u32::from(*precision));
            fixed(of, levels, nulls, digits, |v| match is_unsigned {
                true => Some(i128::from(v.cast_unsigned())),
                false => wide_below(i128::from(*v), most),
            })
        }
        (data, Raw::Bytes(_)) => bytes(column, raw, levels, (data, nulls)),
        _ => Err(Error::damaged("values of another type")),
    }
}

/// Appends values that are stored as bytes.
fn bytes(
    column: &Column,
    raw: &Raw,
    levels: Levels<'_>,
    (data, nulls): (&mut Data, &mut Nulls),
) -> Result<()> {
    let Raw::Bytes(of) = raw else { return Err(Error::damaged("values of another type")) };
    let value = |place: usize| of.get(place);
    let count = of.len();
    match data {
        Data::ShortDecimal { digits, precision, .. } => {
            let most = 10_i128.pow(u32::from(*precision));
            each(count, levels, nulls, digits, |place| {
                i64::try_from(wide_below(big_endian(value(place))?, most)?).ok()
            })
        }
        Data::Decimal { digits, precision, .. } => {
            let most = 10_i128.pow(u32::from(*precision));
            each(count, levels, nulls, digits, |p| wide_below(big_endian(value(p))?, most))
        }
        Data::DateTime2(rows) => each(count, levels, nulls, rows, |p| moment96(value(p))),
        Data::Real(rows) => each(count, levels, nulls, rows, |p| real(half(value(p))?)),
        Data::Values(rows) => each(count, levels, nulls, rows, |p| whole(value(p), column)),
        Data::Bytes(rows) => {
            let limit = match column.data_type {
                Ok(
                    DataType::VarChar(types::Length::Limited(n))
                    | DataType::VarBinary(types::Length::Limited(n)),
                ) => usize::from(n),
                _ => usize::MAX,
            };
            let is_text = column.meaning == Meaning::Text;
            let mut next = 0;
            let start = rows.len();
            let len = levels.map_or(count, <[u32]>::len);
            for row in 0..len {
                if levels.is_some_and(|levels| levels[row] == 0) {
                    nulls.set(start + row);
                    rows.push(&[]);
                    continue;
                }
                let value = value(next);
                next += 1;
                if value.len() > limit {
                    return Err(at(
                        row,
                        "a value of more than 8,000 bytes: WITH (.. (max)) reads it",
                    ));
                }
                if is_text && std::str::from_utf8(value).is_err() {
                    return Err(at(row, "characters that are not UTF-8"));
                }
                rows.push(value);
            }
            Ok(())
        }
        _ => Err(Error::damaged("values of another type")),
    }
}

/// Returns the error for a value that cannot be converted.
fn at(row: usize, what: &'static str) -> Error {
    let mut error = Error::value(what);
    error.place.row = u64::try_from(row).ok();
    error
}

/// The error text for a value that its T-SQL type does not have.
const OUTSIDE: &str = "a value that its type does not have";

fn fixed<S, T: Default + Clone>(
    of: &[S],
    levels: Levels<'_>,
    nulls: &mut Nulls,
    rows: &mut Vec<T>,
    convert: impl Fn(&S) -> Option<T>,
) -> Result<()> {
    each(of.len(), levels, nulls, rows, |place| convert(&of[place]))
}

/// Appends one value per row, made from the next of the `count` values.
#[inline]
fn each<T: Default>(
    count: usize,
    levels: Levels<'_>,
    nulls: &mut Nulls,
    rows: &mut Vec<T>,
    convert: impl Fn(usize) -> Option<T>,
) -> Result<()> {
    let Some(levels) = levels else {
        rows.reserve(count);
        for place in 0..count {
            rows.push(convert(place).ok_or_else(|| at(place, OUTSIDE))?);
        }
        return Ok(());
    };
    let start = rows.len();
    rows.reserve(levels.len());
    let mut next = 0;
    for (row, level) in levels.iter().enumerate() {
        if *level == 0 {
            nulls.set(start + row);
            rows.push(T::default());
            continue;
        }
        rows.push(convert(next).ok_or_else(|| at(row, OUTSIDE))?);
        next += 1;
    }
    Ok(())
}

/// T-SQL has no NaN and no infinity.
fn real(value: f32) -> Option<f32> {
    value.is_finite().then_some(value)
}

fn float(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn date(days: i32) -> Option<i32> {
    let days = i64::from(days) + EPOCH_DAYS;
    if (0..=DAYS_MAX).contains(&days) { i32::try_from(days).ok() } else { None }
}

fn time(value: i64, meaning: Meaning) -> Option<i64> {
    let Meaning::Time(units) = meaning else { return None };
    let ticks = to_ticks(value, units)?;
    (0..TICKS_PER_DAY).contains(&ticks).then_some(ticks)
}

/// Converts to ticks of 100 ns; smaller fractions are rounded down.
fn to_ticks(value: i64, units: i64) -> Option<i64> {
    if units <= TICKS_PER_SECOND {
        return value.checked_mul(TICKS_PER_SECOND / units);
    }
    Some(value.div_euclid(units / TICKS_PER_SECOND))
}

fn moment(value: i64, meaning: Meaning) -> Option<i64> {
    let Meaning::Timestamp(units) = meaning else { return None };
    // The ticks of a day fit 64 bits, those of all days together do not.
    let per_day = units * 86_400;
    pack(value.div_euclid(per_day), to_ticks(value.rem_euclid(per_day), units)?)
}

fn pack(days: i64, ticks: i64) -> Option<i64> {
    let days = days.checked_add(EPOCH_DAYS)?;
    let is_one = (0..=DAYS_MAX).contains(&days) && (0..TICKS_PER_DAY).contains(&ticks);
    is_one.then(|| i32::try_from(days).ok().map(|days| Data::pack_datetime2(days, ticks)))?
}

/// Reads nanoseconds of the day and the Julian day number.
fn moment96(bytes: &[u8]) -> Option<i64> {
    let (nanos, day) = bytes.split_at_checked(8)?;
    let nanos = i64::from_le_bytes(nanos.try_into().ok()?);
    let day = u32::from_le_bytes(day.try_into().ok()?);
    let day = i64::from(day) - EPOCH_JULIAN_DAY;
    // Some writers store nanoseconds of more than one day.
    let per_day = TICKS_PER_DAY * 100;
    pack(day + nanos.div_euclid(per_day), nanos.rem_euclid(per_day) / 100)
}

fn below(value: i64, most: i64) -> Option<i64> {
    (-most < value && value < most).then_some(value)
}

fn wide_below(value: i128, most: i128) -> Option<i128> {
    (-most < value && value < most).then_some(value)
}

/// Reads a two's complement number, highest byte first; there may be any number of leading sign
/// bytes.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    let sign = bytes.first().map_or(0, |first| if *first >= 0x80 { 0xFF } else { 0 });
    let (rest, low) = bytes.split_at(bytes.len().saturating_sub(16));
    if rest.iter().any(|byte| *byte != sign) {
        return None;
    }
    let mut all = [sign; 16];
    all[16 - low.len()..].copy_from_slice(low);
    let value = i128::from_be_bytes(all);
    ((value < 0) == (sign != 0)).then_some(value)
}

/// Reads a half-precision number (IEEE 754 binary16).
fn half(bytes: &[u8]) -> Option<f32> {
    let bits = u32::from(u16::from_le_bytes(bytes.try_into().ok()?));
    let (sign, exponent, fraction) = (bits >> 15 << 31, bits >> 10 & 0x1F, bits & 0x3FF);
    let magnitude = match exponent {
        0 => f32::from_bits(0x3380_0000) * f32::from(u16::try_from(fraction).ok()?),
        0x1F => return None,
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    Some(f32::from_bits(magnitude.to_bits() | sign))
}

/// Returns a value whose vector has no array of plain numbers or strings.
fn whole(bytes: &[u8], column: &Column) -> Option<Value> {
    match (column.physical, column.meaning) {
        // T-SQL stores the first three groups with their lowest byte first.
        (Physical::Fixed(16), Meaning::Uuid) => {
            let mut id = <[u8; 16]>::try_from(bytes).ok()?;
            id[..4].reverse();
            id[4..6].reverse();
            id[6..8].reverse();
            Some(Value::UniqueIdentifier(id))
        }
        (_, Meaning::Text) => {
            std::str::from_utf8(bytes).ok()?;
            Some(Value::VarChar(Bytes::copy_from(bytes)))
        }
        _ => Some(Value::VarBinary(Bytes::copy_from(bytes))),
    }
}
