//! Conversion between vectors and what segments store: 64-bit words for numbers, else bytes.

use types::batch::{ByteKind, Data, Vector};
use types::{Bytes, ColumnType, DataType, Decimal, Value};

/// Appends the values of a vector as words; returns `false`, and appends nothing, if they are no
/// numbers. The word of a NULL row is arbitrary.
pub(crate) fn words_of(data: &Data, out: &mut Vec<i64>) -> bool {
    macro_rules! all {
        ($rows:expr, $word:expr) => {
            out.extend($rows.iter().map($word))
        };
    }
    match data {
        Data::Bit(rows) => all!(rows, |v| i64::from(*v)),
        Data::TinyInt(rows) => all!(rows, |v| i64::from(*v)),
        Data::SmallInt(rows) => all!(rows, |v| i64::from(*v)),
        Data::Int(rows) | Data::Date(rows) => all!(rows, |v| i64::from(*v)),
        Data::SmallDateTime(rows) => all!(rows, |v| i64::from(*v)),
        Data::BigInt(rows)
        | Data::Money(rows)
        | Data::Time(rows)
        | Data::DateTime(rows)
        | Data::DateTime2(rows)
        | Data::ShortDecimal { digits: rows, .. } => out.extend_from_slice(rows),
        // The bit pattern, so that a value is restored exactly, including -0.0.
        Data::Real(rows) => all!(rows, |v| i64::from(v.to_bits())),
        Data::Float(rows) => all!(rows, |v| v.to_bits().cast_signed()),
        Data::Decimal { .. } | Data::Bytes(_) | Data::Values(_) | Data::Constant(..) => {
            return false;
        }
    }
    true
}

/// Returns the word of a value, if words of its type order like its values and it is not NULL.
pub fn word_of(of: &ColumnType, value: &Value) -> Option<i64> {
    let mut one = Vector::with_capacity_for(of);
    one.push(value);
    let mut words = Vec::new();
    let is_word = !value.is_null() && is_ordered(one.data()) && words_of(one.data(), &mut words);
    words.first().copied().filter(|_| is_word)
}

/// Returns whether words of this type order like its values.
pub(crate) const fn is_ordered(data: &Data) -> bool {
    !matches!(data, Data::Real(_) | Data::Float(_))
}

/// Appends the values of words to a vector of the type that they were made from.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the words were made from values of this type"
)]
pub(crate) fn push_words(words: &[i64], data: &mut Data) {
    macro_rules! all {
        ($rows:expr, $value:expr) => {
            $rows.extend(words.iter().map($value))
        };
    }
    match data {
        Data::Bit(rows) => all!(rows, |w| *w != 0),
        Data::TinyInt(rows) => all!(rows, |w| *w as u8),
        Data::SmallInt(rows) => all!(rows, |w| *w as i16),
        Data::Int(rows) | Data::Date(rows) => all!(rows, |w| *w as i32),
        Data::SmallDateTime(rows) => all!(rows, |w| *w as u32),
        Data::BigInt(rows)
        | Data::Money(rows)
        | Data::Time(rows)
        | Data::DateTime(rows)
        | Data::DateTime2(rows)
        | Data::ShortDecimal { digits: rows, .. } => rows.extend_from_slice(words),
        Data::Real(rows) => all!(rows, |w| f32::from_bits(*w as u32)),
        Data::Float(rows) => all!(rows, |w| f64::from_bits(w.cast_unsigned())),
        Data::Decimal { .. } | Data::Bytes(_) | Data::Values(_) | Data::Constant(..) => {
            unreachable!("a column of words has a vector of numbers")
        }
    }
}

/// Appends the bytes of a value whose type is no number; returns `false` for a type that segments
/// do not support.
pub(crate) fn bytes_of(value: &Value, out: &mut Vec<u8>) -> bool {
    match value {
        Value::Null => {}
        Value::VarChar(bytes) | Value::NVarChar(bytes) | Value::VarBinary(bytes) => {
            out.extend_from_slice(bytes);
        }
        Value::UniqueIdentifier(guid) => out.extend_from_slice(guid),
        Value::DateTimeOffset { days, ticks, offset } => {
            out.extend_from_slice(&days.to_le_bytes());
            out.extend_from_slice(&ticks.to_le_bytes());
            out.extend_from_slice(&offset.to_le_bytes());
        }
        Value::Decimal(number) => out.extend_from_slice(&number.mantissa().to_le_bytes()),
        _ => return false,
    }
    true
}

/// Appends the value of these bytes to a vector of the type that they were made from.
pub(crate) fn push_bytes(bytes: &[u8], out: &mut Vector) {
    if let Some(rows) = out.byte_rows_mut() {
        rows.push(bytes);
        return;
    }
    let value = value_of(out.data_type(), bytes);
    out.push(&value.expect("a segment holds what its column's type is made of"));
}

fn value_of(of: &DataType, bytes: &[u8]) -> Option<Value> {
    Some(match of {
        DataType::UniqueIdentifier => Value::UniqueIdentifier(bytes.try_into().ok()?),
        DataType::DateTimeOffset(_) => Value::DateTimeOffset {
            days: i32::from_le_bytes(*bytes.first_chunk()?),
            ticks: i64::from_le_bytes(*bytes.get(4..)?.first_chunk()?),
            offset: i16::from_le_bytes(*bytes.get(12..)?.first_chunk()?),
        },
        DataType::Decimal { precision, scale } => {
            let digits = i128::from_le_bytes(*bytes.first_chunk()?);
            Value::Decimal(Decimal::new(digits, *precision, *scale))
        }
        _ => kind_of(of)?.value(Bytes::copy_from(bytes)),
    })
}

/// Returns the kind of byte string of a type of unlimited length.
const fn kind_of(of: &DataType) -> Option<ByteKind> {
    Some(match of {
        DataType::VarChar(_) | DataType::Char(_) => ByteKind::VarChar,
        DataType::NVarChar(_) | DataType::NChar(_) => ByteKind::NVarChar,
        DataType::VarBinary(_) | DataType::Binary(_) => ByteKind::VarBinary,
        _ => return None,
    })
}
