//! How T-SQL types are written: physical type, logical type and encoding of values.

use types::value::ColumnType;
use types::{Collation, DataType};

use super::thrift::Structure;
use crate::schema::{MICROS, MILLIS, Meaning, NANOS, Physical};
use crate::{Error, Result};

/// A column, as the file describes it.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) name: String,
    pub(super) physical: Physical,
    pub(super) meaning: Meaning,
    /// Of a timestamp: whether it is in UTC.
    pub(super) is_utc: bool,
    /// Of `char` and `varchar`: the collation, which gives the code page.
    pub(super) collation: Collation,
}

/// The decimal digits that fit 32 and 64 bits.
const INT32_DIGITS: u8 = 9;
const INT64_DIGITS: u8 = 18;

/// The largest scale of times that microseconds can express.
const MICROS_SCALE: u8 = 6;

impl Shape {
    /// Returns how a type is written.
    pub(super) fn of(name: &str, ty: &ColumnType) -> Result<Self> {
        let (physical, meaning) = match ty.data_type {
            DataType::Bit => (Physical::Boolean, Meaning::Plain),
            DataType::TinyInt => (Physical::Int32, Meaning::Int(8, false)),
            DataType::SmallInt => (Physical::Int32, Meaning::Int(16, true)),
            DataType::Int => (Physical::Int32, Meaning::Plain),
            DataType::BigInt => (Physical::Int64, Meaning::Plain),
            DataType::Decimal { precision, scale } => decimal(precision, scale),
            DataType::Money => decimal(19, 4),
            DataType::SmallMoney => decimal(10, 4),
            DataType::Real => (Physical::Float, Meaning::Plain),
            DataType::Float => (Physical::Double, Meaning::Plain),
            DataType::Date => (Physical::Int32, Meaning::Date),
            DataType::Time(scale) => (Physical::Int64, Meaning::Time(unit(scale))),
            // Milliseconds as clients show 1/300 s, from which T-SQL makes the same 1/300 s again.
            DataType::DateTime | DataType::SmallDateTime => {
                (Physical::Int64, Meaning::Timestamp(MILLIS))
            }
            DataType::DateTime2(scale) | DataType::DateTimeOffset(scale) => {
                (Physical::Int64, Meaning::Timestamp(unit(scale)))
            }
            DataType::Char(_)
            | DataType::VarChar(_)
            | DataType::NChar(_)
            | DataType::NVarChar(_)
            | DataType::Text
            | DataType::NText => (Physical::Bytes, Meaning::Text),
            DataType::Binary(_)
            | DataType::VarBinary(_)
            | DataType::Image
            | DataType::RowVersion => (Physical::Bytes, Meaning::Plain),
            DataType::UniqueIdentifier => (Physical::Fixed(16), Meaning::Uuid),
            DataType::SqlVariant | DataType::Xml => {
                let mut error = Error::not_supported(format!("a column of type {}", ty.data_type));
                error.place.column = Some(name.to_owned());
                return Err(error);
            }
        };
        let is_utc = matches!(ty.data_type, DataType::DateTimeOffset(_));
        Ok(Self { name: name.to_owned(), physical, meaning, is_utc, collation: ty.collation })
    }

    /// Writes the column's `SchemaElement`. All columns are nullable: the nullability of an
    /// expression is no guarantee.
    pub(super) fn describe(&self, to: &mut Structure) {
        const OPTIONAL: i32 = 1;
        let (code, length) = self.physical_code();
        to.int32(1, code);
        if let Some(length) = length {
            to.size(2, length);
        }
        to.int32(3, OPTIONAL);
        to.binary(4, self.name.as_bytes());
        if let Some(converted) = self.converted() {
            to.int32(6, converted);
        }
        if let Meaning::Decimal(precision, scale) = self.meaning {
            to.int32(7, i32::from(scale));
            to.int32(8, i32::from(precision));
        }
        if self.meaning != Meaning::Plain {
            to.structure(10, |to| self.logical(to));
        }
    }

    /// Returns the number of the physical type, and the length of a fixed-length one.
    pub(super) const fn physical_code(&self) -> (i32, Option<usize>) {
        match self.physical {
            Physical::Boolean => (0, None),
            Physical::Int32 => (1, None),
            Physical::Int64 => (2, None),
            Physical::Int96 => (3, None),
            Physical::Float => (4, None),
            Physical::Double => (5, None),
            Physical::Bytes => (6, None),
            Physical::Fixed(length) => (7, Some(length)),
        }
    }

    /// Returns the `ConvertedType`, for readers that do not know logical types; `None` if there is
    /// no equivalent.
    fn converted(&self) -> Option<i32> {
        Some(match self.meaning {
            Meaning::Text => 0,
            Meaning::Decimal(..) => 5,
            Meaning::Date => 6,
            Meaning::Time(MICROS) => 8,
            // The old timestamp types are in UTC.
            Meaning::Timestamp(MILLIS) if self.is_utc => 9,
            Meaning::Timestamp(MICROS) if self.is_utc => 10,
            Meaning::Int(8, false) => 11,
            Meaning::Int(16, true) => 16,
            _ => return None,
        })
    }

    /// Writes the field of a `LogicalType`.
    fn logical(&self, to: &mut Structure) {
        match self.meaning {
            Meaning::Plain | Meaning::Float16 => {}
            Meaning::Text => to.structure(1, |_| {}),
            Meaning::Decimal(precision, scale) => to.structure(5, |to| {
                to.int32(1, i32::from(scale));
                to.int32(2, i32::from(precision));
            }),
            Meaning::Date => to.structure(6, |_| {}),
            Meaning::Time(units) => to.structure(7, |to| self.time(units, to)),
            Meaning::Timestamp(units) => to.structure(8, |to| self.time(units, to)),
            Meaning::Int(bits, is_signed) => to.structure(10, |to| {
                to.byte(1, bits);
                to.flag(2, is_signed);
            }),
            Meaning::Uuid => to.structure(14, |_| {}),
        }
    }

    fn time(&self, units: i64, to: &mut Structure) {
        let unit = match units {
            MILLIS => 1,
            MICROS => 2,
            _ => 3,
        };
        to.flag(1, self.is_utc);
        to.structure(2, |to| to.structure(unit, |_| {}));
    }
}

/// Returns the coarsest unit, per second, that can express every value of a scale.
const fn unit(scale: u8) -> i64 {
    if scale <= MICROS_SCALE { MICROS } else { NANOS }
}

fn decimal(precision: u8, scale: u8) -> (Physical, Meaning) {
    let physical = if precision <= INT32_DIGITS {
        Physical::Int32
    } else if precision <= INT64_DIGITS {
        Physical::Int64
    } else {
        Physical::Fixed(bytes_of(precision))
    };
    (physical, Meaning::Decimal(precision, scale))
}

/// Returns the fewest bytes that can store `precision` digits and a sign.
fn bytes_of(precision: u8) -> usize {
    let most = 10_u128.saturating_pow(u32::from(precision)) - 1;
    let bits = 128 - most.leading_zeros() + 1;
    usize::try_from(bits.div_ceil(8)).unwrap_or(16)
}

#[cfg(test)]
mod tests {
    use super::bytes_of;

    #[test]
    fn decimals_take_the_bytes_of_the_format() {
        // "FIXED_LEN_BYTE_ARRAY: precision is limited by the array size. Length n can store <=
        // floor(log_10(2^(8*n - 1) - 1))".
        assert_eq!([18, 19, 21, 23, 38].map(bytes_of), [8, 9, 9, 10, 16]);
    }
}
