//! `Data`: the values of a vector, as an array of their Rust type.

use super::bytes::{ByteKind, ByteRows};
use crate::{DataType, Decimal, Value};

/// The values of a vector. A NULL row holds an arbitrary value of the form, in `Values` a
/// `Value::Null`.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// `bit` values, and results of conditions.
    Bit(Vec<bool>),
    /// `tinyint` values, 0 to 255.
    TinyInt(Vec<u8>),
    /// `smallint` values, 16-bit integers.
    SmallInt(Vec<i16>),
    /// `int` values, 32-bit integers.
    Int(Vec<i32>),
    /// `bigint` values, 64-bit integers.
    BigInt(Vec<i64>),
    /// `money` and `smallmoney`: ten-thousandths.
    Money(Vec<i64>),
    /// `real` values, 32-bit floats.
    Real(Vec<f32>),
    /// `float` values, 64-bit floats.
    Float(Vec<f64>),
    /// `date`: days since 0001-01-01.
    Date(Vec<i32>),
    /// `time`: 100 ns ticks since midnight.
    Time(Vec<i64>),
    /// `datetime`: see [`Data::pack_datetime`]; orders as the values do.
    DateTime(Vec<i64>),
    /// `smalldatetime`: days since 1900-01-01 above 16 bits of minutes.
    SmallDateTime(Vec<u32>),
    /// `datetime2`: see [`Data::pack_datetime2`]; orders as the values do.
    DateTime2(Vec<i64>),
    /// `decimal` of up to 18 digits, all of one precision and scale.
    ShortDecimal {
        /// Digits of each value, as an integer.
        digits: Vec<i64>,
        /// The precision of all.
        precision: u8,
        /// The scale of all.
        scale: u8,
    },
    /// `decimal` of more digits, all of one precision and scale.
    Decimal {
        /// Digits of each value, as an integer.
        digits: Vec<i128>,
        /// The precision of all.
        precision: u8,
        /// The scale of all.
        scale: u8,
    },
    /// `char`, `varchar`, `nchar`, `nvarchar`, `binary`, `varbinary` of limited length.
    Bytes(ByteRows),
    /// Values of any type, one `Value` each.
    Values(Vec<Value>),
    /// One value in every row, with the number of rows.
    Constant(Value, usize),
}

/// Matches data whose rows are `Copy`, in `$rows`, whatever their type; the caller writes the other
/// arms.
macro_rules! match_fixed {
    ($data:expr, $rows:ident => $fixed:expr, $($rest:tt)*) => {
        match $data {
            $crate::batch::Data::Bit($rows) => $fixed,
            $crate::batch::Data::TinyInt($rows) => $fixed,
            $crate::batch::Data::SmallInt($rows) => $fixed,
            $crate::batch::Data::Int($rows) => $fixed,
            $crate::batch::Data::BigInt($rows) => $fixed,
            $crate::batch::Data::Money($rows) => $fixed,
            $crate::batch::Data::Real($rows) => $fixed,
            $crate::batch::Data::Float($rows) => $fixed,
            $crate::batch::Data::Date($rows) => $fixed,
            $crate::batch::Data::Time($rows) => $fixed,
            $crate::batch::Data::DateTime($rows) => $fixed,
            $crate::batch::Data::SmallDateTime($rows) => $fixed,
            $crate::batch::Data::DateTime2($rows) => $fixed,
            $crate::batch::Data::ShortDecimal { digits: $rows, .. } => $fixed,
            $crate::batch::Data::Decimal { digits: $rows, .. } => $fixed,
            $($rest)*
        }
    };
}
pub(super) use match_fixed;

/// Bits of the ticks in a packed `datetime2`: a day has fewer than 2^40 of them.
const DATETIME2_TICK_BITS: u32 = 40;

impl Data {
    /// Makes an empty vector in the plain form of a type.
    pub fn of_type(of: &DataType) -> Self {
        match of {
            DataType::Bit => Self::Bit(Vec::new()),
            DataType::TinyInt => Self::TinyInt(Vec::new()),
            DataType::SmallInt => Self::SmallInt(Vec::new()),
            DataType::Int => Self::Int(Vec::new()),
            DataType::BigInt => Self::BigInt(Vec::new()),
            DataType::Money | DataType::SmallMoney => Self::Money(Vec::new()),
            DataType::Real => Self::Real(Vec::new()),
            DataType::Float => Self::Float(Vec::new()),
            DataType::Date => Self::Date(Vec::new()),
            DataType::Time(_) => Self::Time(Vec::new()),
            DataType::DateTime => Self::DateTime(Vec::new()),
            DataType::SmallDateTime => Self::SmallDateTime(Vec::new()),
            DataType::DateTime2(_) => Self::DateTime2(Vec::new()),
            DataType::Decimal { precision: precision @ 0..=18, scale } => {
                Self::ShortDecimal { digits: Vec::new(), precision: *precision, scale: *scale }
            }
            DataType::Decimal { precision, scale } => {
                Self::Decimal { digits: Vec::new(), precision: *precision, scale: *scale }
            }
            // A long value is shared by its reference count, not copied into an arena.
            _ if of.is_large() => Self::Values(Vec::new()),
            DataType::Char(_) | DataType::VarChar(_) => Self::bytes(ByteKind::VarChar),
            DataType::NChar(_) | DataType::NVarChar(_) => Self::bytes(ByteKind::NVarChar),
            DataType::Binary(_) | DataType::VarBinary(_) | DataType::RowVersion => {
                Self::bytes(ByteKind::VarBinary)
            }
            DataType::DateTimeOffset(_)
            | DataType::UniqueIdentifier
            | DataType::SqlVariant
            | DataType::Text
            | DataType::NText
            | DataType::Image
            | DataType::Xml => Self::Values(Vec::new()),
        }
    }

    fn bytes(kind: ByteKind) -> Self {
        Self::Bytes(ByteRows::new(kind))
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match_fixed!(self, rows => rows.len(),
            Self::Bytes(rows) => rows.len(),
            Self::Values(rows) => rows.len(),
            Self::Constant(_, len) => *len,
        )
    }

    /// Returns whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of memory that the rows take, without memory that the values point to.
    pub(super) fn memory(&self) -> usize {
        match_fixed!(self, rows => size_of_val(rows.as_slice()),
            Self::Bytes(rows) => rows.total() + rows.len() * size_of::<u32>(),
            Self::Values(rows) => size_of_val(rows.as_slice()),
            Self::Constant(..) => 0,
        )
    }

    /// Returns the bytes that the values from row `first` on point to, counting shared memory for
    /// each of them.
    pub(super) fn memory_outside(&self, first: usize) -> usize {
        let Self::Values(rows) = self else { return 0 };
        let outside = |value: &Value| value.string_bytes().map_or(0, <[u8]>::len);
        rows[first..].iter().map(outside).sum()
    }

    /// Packs a `datetime` into a number that has the same order.
    #[inline]
    pub fn pack_datetime(days: i32, ticks: u32) -> i64 {
        i64::from(days) << 32 | i64::from(ticks)
    }

    /// Unpacks days since 1900-01-01 and 1/300 s ticks.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the two halves")]
    pub fn unpack_datetime(packed: i64) -> (i32, u32) {
        ((packed >> 32) as i32, packed as u32)
    }

    /// Packs a `datetime2` into a number that has the same order.
    #[inline]
    pub fn pack_datetime2(days: i32, ticks: i64) -> i64 {
        i64::from(days) << DATETIME2_TICK_BITS | ticks
    }

    /// Unpacks days since 0001-01-01 and 100 ns ticks.
    #[inline]
    pub fn unpack_datetime2(packed: i64) -> (i32, i64) {
        ((packed >> DATETIME2_TICK_BITS) as i32, packed & ((1 << DATETIME2_TICK_BITS) - 1))
    }

    /// Returns the value of a row that is not NULL.
    pub(super) fn value(&self, row: usize) -> Value {
        match self {
            Self::Bit(rows) => Value::Bit(rows[row]),
            Self::TinyInt(rows) => Value::TinyInt(rows[row]),
            Self::SmallInt(rows) => Value::SmallInt(rows[row]),
            Self::Int(rows) => Value::Int(rows[row]),
            Self::BigInt(rows) => Value::BigInt(rows[row]),
            Self::Money(rows) => Value::Money(rows[row]),
            Self::Real(rows) => Value::Real(rows[row]),
            Self::Float(rows) => Value::Float(rows[row]),
            Self::Date(rows) => Value::Date(rows[row]),
            Self::Time(rows) => Value::Time(rows[row]),
            Self::DateTime(rows) => {
                let (days, ticks) = Self::unpack_datetime(rows[row]);
                Value::DateTime { days, ticks }
            }
            Self::SmallDateTime(rows) => {
                let [a, b, c, d] = rows[row].to_be_bytes();
                let (days, minutes) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                Value::SmallDateTime { days, minutes }
            }
            Self::DateTime2(rows) => {
                let (days, ticks) = Self::unpack_datetime2(rows[row]);
                Value::DateTime2 { days, ticks }
            }
            Self::ShortDecimal { digits, precision, scale } => {
                Value::Decimal(Decimal::new(i128::from(digits[row]), *precision, *scale))
            }
            Self::Decimal { digits, precision, scale } => {
                Value::Decimal(Decimal::new(digits[row], *precision, *scale))
            }
            Self::Bytes(rows) => rows.kind.value(rows.get(row).into()),
            Self::Values(rows) => rows[row].clone(),
            Self::Constant(value, _) => value.clone(),
        }
    }

    /// Appends a value that is not NULL. Returns `false` and changes nothing if this form cannot
    /// hold it.
    pub(super) fn try_push(&mut self, value: &Value) -> bool {
        match (self, value) {
            (Self::Bit(rows), Value::Bit(v)) => rows.push(*v),
            (Self::TinyInt(rows), Value::TinyInt(v)) => rows.push(*v),
            (Self::SmallInt(rows), Value::SmallInt(v)) => rows.push(*v),
            (Self::Int(rows), Value::Int(v)) => rows.push(*v),
            (Self::BigInt(rows), Value::BigInt(v)) => rows.push(*v),
            (Self::Money(rows), Value::Money(v)) => rows.push(*v),
            (Self::Real(rows), Value::Real(v)) => rows.push(*v),
            (Self::Float(rows), Value::Float(v)) => rows.push(*v),
            (Self::Date(rows), Value::Date(v)) => rows.push(*v),
            (Self::Time(rows), Value::Time(v)) => rows.push(*v),
            (Self::DateTime(rows), Value::DateTime { days, ticks }) => {
                rows.push(Self::pack_datetime(*days, *ticks));
            }
            (Self::SmallDateTime(rows), Value::SmallDateTime { days, minutes }) => {
                rows.push(u32::from(*days) << 16 | u32::from(*minutes));
            }
            (Self::DateTime2(rows), Value::DateTime2 { days, ticks }) => {
                rows.push(Self::pack_datetime2(*days, *ticks));
            }
            (Self::ShortDecimal { digits, precision, scale }, Value::Decimal(v))
                if v.precision == *precision && v.scale == *scale =>
            {
                let Ok(short) = i64::try_from(v.mantissa()) else { return false };
                digits.push(short);
            }
            (Self::Decimal { digits, precision, scale }, Value::Decimal(v))
                if v.precision == *precision && v.scale == *scale =>
            {
                digits.push(v.mantissa());
            }
            (Self::Bytes(rows), value) => match ByteKind::of(value) {
                Some((kind, bytes)) if kind == rows.kind && rows.has_room(bytes.len()) => {
                    rows.push(bytes);
                }
                _ => return false,
            },
            (Self::Values(rows), value) => rows.push(value.clone()),
            _ => return false,
        }
        true
    }

    /// Appends the form's zero, for a NULL row; not for constants.
    pub(super) fn push_zero(&mut self) {
        match_fixed!(self, rows => rows.push(Default::default()),
            Self::Bytes(rows) => rows.push(&[]),
            Self::Values(rows) => rows.push(Value::Null),
            Self::Constant(..) => panic!("a constant is unfolded before rows are added"),
        );
    }

    /// Drops all rows; keeps the memory.
    pub(super) fn clear(&mut self) {
        match_fixed!(self, rows => rows.clear(),
            Self::Bytes(rows) => rows.clear(),
            Self::Values(rows) => rows.clear(),
            Self::Constant(_, len) => *len = 0,
        );
    }
}
