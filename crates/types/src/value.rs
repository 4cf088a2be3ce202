//! `Value`: one SQL value at run time, and `ColumnType`: what a column or variable may hold.
//!
//! A value carries the representation, not the declaration: a `varchar(10)` and a `char(10)` value
//! are both [`Value::VarChar`] (the `char` one padded when it was converted to its column). Strings
//! stay in the encoding of the wire, so that a round trip changes no bit and needs no work:
//! `n`-types are UTF-16LE, the others are bytes in the code page of their collation.

use crate::data_type::{BYTES_MAX, UNITS_MAX};
use crate::{Bytes, Collation, DataType, Length};

/// A SQL value. 32 bytes in size.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// SQL NULL, of any type.
    #[default]
    Null,
    /// `bit`: `false` is 0.
    Bit(bool),
    /// `tinyint`, 0 to 255.
    TinyInt(u8),
    /// `smallint`, a 16-bit integer.
    SmallInt(i16),
    /// `int`, a 32-bit integer.
    Int(i32),
    /// `bigint`, a 64-bit integer.
    BigInt(i64),
    /// `decimal`, `numeric`: carries its own precision and scale.
    Decimal(Decimal),
    /// `money` and `smallmoney`: ten-thousandths.
    Money(i64),
    /// `real`, a 32-bit float.
    Real(f32),
    /// `float`, a 64-bit float.
    Float(f64),
    /// `date`: days since 0001-01-01.
    Date(i32),
    /// `time`: 100 ns ticks since midnight, whatever the scale.
    Time(i64),
    /// `datetime`: days since 1900-01-01 and 1/300 s ticks since midnight.
    DateTime {
        /// Days since 1900-01-01; -53,690 (1753-01-01) or more.
        days: i32,
        /// 1/300 s ticks since midnight, below 25,920,000.
        ticks: u32,
    },
    /// `smalldatetime`: days since 1900-01-01 and minutes since midnight.
    SmallDateTime {
        /// Days since 1900-01-01, to 2079-06-06.
        days: u16,
        /// Minutes since midnight, below 1,440.
        minutes: u16,
    },
    /// `datetime2`: days since 0001-01-01 and 100 ns ticks since midnight.
    DateTime2 {
        /// Days since 0001-01-01, to 9999-12-31.
        days: i32,
        /// 100 ns ticks since midnight.
        ticks: i64,
    },
    /// `datetimeoffset`: days and ticks in UTC, and the offset to show them with.
    DateTimeOffset {
        /// Days since 0001-01-01, UTC.
        days: i32,
        /// 100 ns ticks since midnight, UTC.
        ticks: i64,
        /// Minutes east of UTC, -840 to 840.
        offset: i16,
    },
    /// `char`, `varchar`, `text`: bytes in the collation's code page.
    VarChar(Bytes),
    /// `nchar`, `nvarchar`, `ntext`, `xml`: UTF-16LE.
    NVarChar(Bytes),
    /// `binary`, `varbinary`, `image`, `rowversion`.
    VarBinary(Bytes),
    /// `uniqueidentifier`, in the byte order of the wire (first three groups little-endian).
    UniqueIdentifier([u8; 16]),
    /// A value inside `sql_variant`, with the type that it was stored as.
    Variant(Box<(Value, ColumnType)>),
}

/// A `decimal`: `mantissa / 10^scale`. The mantissa is split so that `Value` needs no 16-byte
/// alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    high: i64,
    low: u64,
    /// Digits in all, 1 to 38.
    pub precision: u8,
    /// Digits behind the point, 0 to `precision`.
    pub scale: u8,
}

impl Decimal {
    /// Makes a decimal of `mantissa / 10^scale`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "splits the halves"
    )]
    #[inline]
    pub const fn new(mantissa: i128, precision: u8, scale: u8) -> Self {
        Self { high: (mantissa >> 64) as i64, low: mantissa as u64, precision, scale }
    }

    /// Returns the digits as an integer.
    #[inline]
    pub const fn mantissa(&self) -> i128 {
        ((self.high as i128) << 64) | self.low as i128
    }
}

/// The declared type of a column, variable, parameter or expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnType {
    /// The data type with length, precision and scale.
    pub data_type: DataType,
    /// The collation; meaningful for string types only.
    pub collation: Collation,
    /// Whether NULL is allowed.
    pub nullable: bool,
}

impl Value {
    /// Sets this to NULL, which is a plain store if the value holds no memory.
    #[inline]
    pub fn clear(&mut self) {
        match self {
            Self::VarChar(_) | Self::NVarChar(_) | Self::VarBinary(_) | Self::Variant(_) => {
                *self = Self::Null;
            }
            Self::Null
            | Self::Bit(_)
            | Self::TinyInt(_)
            | Self::SmallInt(_)
            | Self::Int(_)
            | Self::BigInt(_)
            | Self::Decimal(_)
            | Self::Money(_)
            | Self::Real(_)
            | Self::Float(_)
            | Self::Date(_)
            | Self::Time(_)
            | Self::DateTime { .. }
            | Self::SmallDateTime { .. }
            | Self::DateTime2 { .. }
            | Self::DateTimeOffset { .. }
            | Self::UniqueIdentifier(_) => {
                // None of these variants has anything to drop, which the compiler does not see for
                // the enum.
                std::mem::forget(std::mem::replace(self, Self::Null));
            }
        }
    }

    /// Returns whether this is SQL NULL.
    #[inline]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl ColumnType {
    /// Makes the type of a nullable column or of a variable, in the default collation.
    #[inline]
    pub fn nullable(data_type: DataType) -> Self {
        Self { data_type, collation: Collation::default(), nullable: true }
    }

    /// Returns the smallest type that holds a value, which `sql_variant` stores with it; NULL is an
    /// `int`.
    #[inline]
    pub fn of_value(value: &Value, collation: Collation) -> Self {
        Self { data_type: value.data_type(), collation, nullable: true }
    }
}

/// Bytes of a text that is read as a whole number, with the blanks around it: no longer one is decoded to look.
const WHOLE_BYTES_MAX: usize = 8_000;

impl Value {
    /// Reads a whole number; digits in text read as the number, and anything else as none.
    pub fn as_whole(&self) -> Option<i64> {
        match self {
            Self::Bit(b) => Some(i64::from(*b)),
            Self::TinyInt(n) => Some(i64::from(*n)),
            Self::SmallInt(n) => Some(i64::from(*n)),
            Self::Int(n) => Some(i64::from(*n)),
            Self::BigInt(n) => Some(*n),
            Self::Decimal(d) if d.scale == 0 => i64::try_from(d.mantissa()).ok(),
            Self::VarChar(bytes) | Self::NVarChar(bytes) if bytes.len() > WHOLE_BYTES_MAX => None,
            text @ (Self::VarChar(_) | Self::NVarChar(_)) => {
                text.as_text(Collation::default())?.trim().parse().ok()
            }
            _ => None,
        }
    }

    /// Returns the smallest type that holds this value, the type of a literal; NULL is an `int`.
    pub fn data_type(&self) -> DataType {
        match self {
            Self::Null | Self::Int(_) => DataType::Int,
            Self::Bit(_) => DataType::Bit,
            Self::TinyInt(_) => DataType::TinyInt,
            Self::SmallInt(_) => DataType::SmallInt,
            Self::BigInt(_) => DataType::BigInt,
            Self::Decimal(d) => DataType::Decimal { precision: d.precision, scale: d.scale },
            Self::Money(_) => DataType::Money,
            Self::Real(_) => DataType::Real,
            Self::Float(_) => DataType::Float,
            Self::Date(_) => DataType::Date,
            Self::Time(_) => DataType::Time(7),
            Self::DateTime { .. } => DataType::DateTime,
            Self::SmallDateTime { .. } => DataType::SmallDateTime,
            Self::DateTime2 { .. } => DataType::DateTime2(7),
            Self::DateTimeOffset { .. } => DataType::DateTimeOffset(7),
            Self::VarChar(bytes) => DataType::VarChar(limited(bytes.len(), BYTES_MAX)),
            Self::NVarChar(units) => DataType::NVarChar(limited(units.len() / 2, UNITS_MAX)),
            Self::VarBinary(bytes) => DataType::VarBinary(limited(bytes.len(), BYTES_MAX)),
            Self::UniqueIdentifier(_) => DataType::UniqueIdentifier,
            Self::Variant(_) => DataType::SqlVariant,
        }
    }
}

/// Returns the declared length that `len` characters need: at least 1, `MAX` above `max`.
fn limited(len: usize, max: u16) -> Length {
    match u16::try_from(len.max(1)) {
        Ok(len) if len <= max => Length::Limited(len),
        _ => Length::Max,
    }
}
