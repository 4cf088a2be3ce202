//! Columns of fixed size: the little-endian bytes of a value.

use super::mismatch;
use crate::{Bytes, DataType, Decimal, Value};

/// The representation of a fixed-size column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FixedKind {
    Bit,
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    /// `decimal` of up to 18 digits, which fit 64 bits: precision and scale.
    ShortDecimal(u8, u8),
    /// `decimal` of more digits: precision and scale.
    Decimal(u8, u8),
    Money,
    Real,
    Float,
    Date,
    Time,
    DateTime,
    SmallDateTime,
    DateTime2,
    DateTimeOffset,
    UniqueIdentifier,
    RowVersion,
}

impl FixedKind {
    /// Returns the representation of a type, `None` for one of variable size.
    pub(super) const fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Bit => Self::Bit,
            DataType::TinyInt => Self::TinyInt,
            DataType::SmallInt => Self::SmallInt,
            DataType::Int => Self::Int,
            DataType::BigInt => Self::BigInt,
            DataType::Decimal { precision: p @ 0..=18, scale } => Self::ShortDecimal(*p, *scale),
            DataType::Decimal { precision, scale } => Self::Decimal(*precision, *scale),
            DataType::Money | DataType::SmallMoney => Self::Money,
            DataType::Real => Self::Real,
            DataType::Float => Self::Float,
            DataType::Date => Self::Date,
            DataType::Time(_) => Self::Time,
            DataType::DateTime => Self::DateTime,
            DataType::SmallDateTime => Self::SmallDateTime,
            DataType::DateTime2(_) => Self::DateTime2,
            DataType::DateTimeOffset(_) => Self::DateTimeOffset,
            DataType::UniqueIdentifier => Self::UniqueIdentifier,
            DataType::RowVersion => Self::RowVersion,
            DataType::Char(_)
            | DataType::VarChar(_)
            | DataType::NChar(_)
            | DataType::NVarChar(_)
            | DataType::Text
            | DataType::NText
            | DataType::Binary(_)
            | DataType::VarBinary(_)
            | DataType::Image
            | DataType::SqlVariant
            | DataType::Xml => return None,
        })
    }

    /// Returns the size in bytes.
    #[inline]
    pub(super) const fn size(self) -> usize {
        match self {
            Self::Bit | Self::TinyInt => 1,
            Self::SmallInt => 2,
            Self::Int | Self::Real | Self::Date | Self::SmallDateTime => 4,
            Self::BigInt
            | Self::ShortDecimal(..)
            | Self::Money
            | Self::Float
            | Self::Time
            | Self::DateTime
            | Self::RowVersion => 8,
            Self::DateTime2 => 12,
            Self::DateTimeOffset => 14,
            Self::Decimal(..) | Self::UniqueIdentifier => 16,
        }
    }

    /// Returns whether values with different bytes are always unequal.
    pub(super) const fn is_exact(self) -> bool {
        !matches!(self, Self::Real | Self::Float | Self::DateTimeOffset)
    }

    /// Writes a value over `out`, which is [`Self::size`] long; NULL writes zeros.
    pub(super) fn write(self, value: &Value, out: &mut [u8]) {
        match (self, value) {
            (_, Value::Null) => out.fill(0),
            (Self::Bit, Value::Bit(v)) => out[0] = u8::from(*v),
            (Self::TinyInt, Value::TinyInt(v)) => out[0] = *v,
            (Self::SmallInt, Value::SmallInt(v)) => out.copy_from_slice(&v.to_le_bytes()),
            (Self::Int, Value::Int(v)) | (Self::Date, Value::Date(v)) => {
                out.copy_from_slice(&v.to_le_bytes());
            }
            (Self::BigInt, Value::BigInt(v))
            | (Self::Money, Value::Money(v))
            | (Self::Time, Value::Time(v)) => out.copy_from_slice(&v.to_le_bytes()),
            (Self::ShortDecimal(_, scale), Value::Decimal(v)) if v.scale == scale => {
                let digits = i64::try_from(v.mantissa()).expect("18 digits fit 64 bits");
                out.copy_from_slice(&digits.to_le_bytes());
            }
            (Self::Decimal(_, scale), Value::Decimal(v)) if v.scale == scale => {
                out.copy_from_slice(&v.mantissa().to_le_bytes());
            }
            (Self::Real, Value::Real(v)) => out.copy_from_slice(&v.to_le_bytes()),
            (Self::Float, Value::Float(v)) => out.copy_from_slice(&v.to_le_bytes()),
            (Self::DateTime, Value::DateTime { days, ticks }) => {
                out[..4].copy_from_slice(&days.to_le_bytes());
                out[4..].copy_from_slice(&ticks.to_le_bytes());
            }
            (Self::SmallDateTime, Value::SmallDateTime { days, minutes }) => {
                out[..2].copy_from_slice(&days.to_le_bytes());
                out[2..].copy_from_slice(&minutes.to_le_bytes());
            }
            (Self::DateTime2, Value::DateTime2 { days, ticks }) => {
                out[..4].copy_from_slice(&days.to_le_bytes());
                out[4..].copy_from_slice(&ticks.to_le_bytes());
            }
            (Self::DateTimeOffset, Value::DateTimeOffset { days, ticks, offset }) => {
                out[..4].copy_from_slice(&days.to_le_bytes());
                out[4..12].copy_from_slice(&ticks.to_le_bytes());
                out[12..].copy_from_slice(&offset.to_le_bytes());
            }
            (Self::UniqueIdentifier, Value::UniqueIdentifier(guid)) => out.copy_from_slice(guid),
            (Self::RowVersion, Value::VarBinary(v)) if v.len() == 8 => out.copy_from_slice(v),
            _ => mismatch(value),
        }
    }

    /// Reads the value in `bytes`, which is [`Self::size`] long.
    pub(super) fn read(self, bytes: &[u8]) -> Value {
        match self {
            Self::Bit => Value::Bit(bytes[0] != 0),
            Self::TinyInt => Value::TinyInt(bytes[0]),
            Self::SmallInt => Value::SmallInt(i16::from_le_bytes(take(bytes, 0))),
            Self::Int => Value::Int(i32::from_le_bytes(take(bytes, 0))),
            Self::BigInt => Value::BigInt(i64::from_le_bytes(take(bytes, 0))),
            Self::ShortDecimal(precision, scale) => {
                let digits = i64::from_le_bytes(take(bytes, 0));
                Value::Decimal(Decimal::new(i128::from(digits), precision, scale))
            }
            Self::Decimal(precision, scale) => {
                let digits = i128::from_le_bytes(take(bytes, 0));
                Value::Decimal(Decimal::new(digits, precision, scale))
            }
            Self::Money => Value::Money(i64::from_le_bytes(take(bytes, 0))),
            Self::Real => Value::Real(f32::from_le_bytes(take(bytes, 0))),
            Self::Float => Value::Float(f64::from_le_bytes(take(bytes, 0))),
            Self::Date => Value::Date(i32::from_le_bytes(take(bytes, 0))),
            Self::Time => Value::Time(i64::from_le_bytes(take(bytes, 0))),
            Self::DateTime => Value::DateTime {
                days: i32::from_le_bytes(take(bytes, 0)),
                ticks: u32::from_le_bytes(take(bytes, 4)),
            },
            Self::SmallDateTime => Value::SmallDateTime {
                days: u16::from_le_bytes(take(bytes, 0)),
                minutes: u16::from_le_bytes(take(bytes, 2)),
            },
            Self::DateTime2 => Value::DateTime2 {
                days: i32::from_le_bytes(take(bytes, 0)),
                ticks: i64::from_le_bytes(take(bytes, 4)),
            },
            Self::DateTimeOffset => Value::DateTimeOffset {
                days: i32::from_le_bytes(take(bytes, 0)),
                ticks: i64::from_le_bytes(take(bytes, 4)),
                offset: i16::from_le_bytes(take(bytes, 12)),
            },
            Self::UniqueIdentifier => Value::UniqueIdentifier(take(bytes, 0)),
            Self::RowVersion => Value::VarBinary(Bytes::copy_from(bytes)),
        }
    }
}

/// Copies `N` bytes, starting at `at`.
#[inline]
pub(super) fn take<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut taken = [0; N];
    taken.copy_from_slice(&bytes[at..at + N]);
    taken
}
