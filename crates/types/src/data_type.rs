//! SQL Server's data types, each with its length, precision and scale.

use std::fmt;

/// A declared length: a number of characters or bytes, or `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Length {
    /// 1 to 8,000 bytes (`varchar`, `varbinary`) or 1 to 4,000 UTF-16 units (`nvarchar`).
    Limited(u16),
    /// Up to 2 GB.
    Max,
}

/// A data type as declared for a column, variable or parameter.
///
/// The collation of a string type is kept beside it, in [`crate::value::ColumnType`], because a
/// variable has one without declaring it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// `bit`: 0 or 1.
    Bit,
    /// `tinyint`: 0 to 255, unsigned.
    TinyInt,
    /// `smallint`: 16 bits, signed.
    SmallInt,
    /// `int`: 32 bits, signed.
    Int,
    /// `bigint`: 64 bits, signed.
    BigInt,
    /// `decimal(precision, scale)`; `numeric` is the same type by another name.
    Decimal {
        /// 1 to 38 digits in all.
        precision: u8,
        /// 0 to `precision` digits behind the point.
        scale: u8,
    },
    /// `money`: 64-bit, scale 4.
    Money,
    /// `smallmoney`: 32-bit, scale 4.
    SmallMoney,
    /// `real`: 32-bit floating point.
    Real,
    /// `float`: 64-bit floating point (53-bit mantissa).
    Float,
    /// `date`: 0001-01-01 to 9999-12-31.
    Date,
    /// `time(scale)`; 0 to 7 decimals.
    Time(u8),
    /// `datetime`: accurate to 1/300 s.
    DateTime,
    /// `smalldatetime`: accurate to the minute.
    SmallDateTime,
    /// `datetime2(scale)`; 0 to 7 decimals.
    DateTime2(u8),
    /// `datetimeoffset(scale)`; 0 to 7 decimals.
    DateTimeOffset(u8),
    /// `char(n)`, padded to n bytes.
    Char(u16),
    /// `varchar(n | max)`, in bytes.
    VarChar(Length),
    /// `nchar(n)`, in UTF-16 units.
    NChar(u16),
    /// `nvarchar(n | max)`, in UTF-16 units.
    NVarChar(Length),
    /// `text`, the deprecated `varchar(max)`.
    Text,
    /// `ntext`, the deprecated `nvarchar(max)`.
    NText,
    /// `binary(n)`, padded to n bytes.
    Binary(u16),
    /// `varbinary(n | max)`, in bytes.
    VarBinary(Length),
    /// `image`, the deprecated `varbinary(max)`.
    Image,
    /// `uniqueidentifier`: a GUID, 16 bytes.
    UniqueIdentifier,
    /// `rowversion` (`timestamp`): 8 bytes, set by the server.
    RowVersion,
    /// `sql_variant`: a value with its own type.
    SqlVariant,
    /// `xml`: a document or fragment.
    Xml,
}

impl fmt::Display for DataType {
    /// Writes the type as T-SQL declares it: `nvarchar(88)`, `decimal(18,2)`, `varbinary(max)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = |l: &Length| match l {
            Length::Limited(n) => n.to_string(),
            Length::Max => "max".to_owned(),
        };
        match self {
            Self::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            Self::Time(s) | Self::DateTime2(s) | Self::DateTimeOffset(s) => {
                write!(f, "{}({s})", self.name())
            }
            Self::Char(n) | Self::NChar(n) | Self::Binary(n) => write!(f, "{}({n})", self.name()),
            Self::VarChar(l) | Self::NVarChar(l) | Self::VarBinary(l) => {
                write!(f, "{}({})", self.name(), length(l))
            }
            _ => f.write_str(self.name()),
        }
    }
}

impl DataType {
    /// Returns the bare name of the type, in lower case, as `sys.types` has it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Bit => "bit",
            Self::TinyInt => "tinyint",
            Self::SmallInt => "smallint",
            Self::Int => "int",
            Self::BigInt => "bigint",
            Self::Decimal { .. } => "decimal",
            Self::Money => "money",
            Self::SmallMoney => "smallmoney",
            Self::Real => "real",
            Self::Float => "float",
            Self::Date => "date",
            Self::Time(_) => "time",
            Self::DateTime => "datetime",
            Self::SmallDateTime => "smalldatetime",
            Self::DateTime2(_) => "datetime2",
            Self::DateTimeOffset(_) => "datetimeoffset",
            Self::Char(_) => "char",
            Self::VarChar(_) => "varchar",
            Self::NChar(_) => "nchar",
            Self::NVarChar(_) => "nvarchar",
            Self::Text => "text",
            Self::NText => "ntext",
            Self::Binary(_) => "binary",
            Self::VarBinary(_) => "varbinary",
            Self::Image => "image",
            Self::UniqueIdentifier => "uniqueidentifier",
            Self::RowVersion => "timestamp",
            Self::SqlVariant => "sql_variant",
            Self::Xml => "xml",
        }
    }
}

/// The families of types that conversion and operators distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// `bit`, the integers, `decimal`, `money`.
    ExactNumeric,
    /// `real`, `float`: floating point.
    ApproximateNumeric,
    /// The date and time types.
    DateTime,
    /// `char`, `varchar`, `text`: a code page.
    String,
    /// `nchar`, `nvarchar`, `ntext`: UTF-16.
    UnicodeString,
    /// `binary`, `varbinary`, `image`, `rowversion`.
    Binary,
    /// The type `uniqueidentifier` alone.
    UniqueIdentifier,
    /// The type `sql_variant` alone.
    Variant,
    /// The type `xml` alone.
    Xml,
}

/// The longest declared length of `char`, `varchar`, `binary` and `varbinary`, in bytes.
pub const BYTES_MAX: u16 = 8_000;
/// The longest declared length of `nchar` and `nvarchar`, in UTF-16 units.
pub const UNITS_MAX: u16 = 4_000;
/// The highest precision of a `decimal`.
pub const PRECISION_MAX: u8 = 38;

impl DataType {
    /// Returns the type's family.
    pub const fn family(&self) -> Family {
        match self {
            Self::Bit
            | Self::TinyInt
            | Self::SmallInt
            | Self::Int
            | Self::BigInt
            | Self::Decimal { .. }
            | Self::Money
            | Self::SmallMoney => Family::ExactNumeric,
            Self::Real | Self::Float => Family::ApproximateNumeric,
            Self::Date
            | Self::Time(_)
            | Self::DateTime
            | Self::SmallDateTime
            | Self::DateTime2(_)
            | Self::DateTimeOffset(_) => Family::DateTime,
            Self::Char(_) | Self::VarChar(_) | Self::Text => Family::String,
            Self::NChar(_) | Self::NVarChar(_) | Self::NText => Family::UnicodeString,
            Self::Binary(_) | Self::VarBinary(_) | Self::Image | Self::RowVersion => Family::Binary,
            Self::UniqueIdentifier => Family::UniqueIdentifier,
            Self::SqlVariant => Family::Variant,
            Self::Xml => Family::Xml,
        }
    }

    /// Returns whether this is a string type of either encoding.
    pub const fn is_string(&self) -> bool {
        matches!(self.family(), Family::String | Family::UnicodeString)
    }

    /// Returns whether values are UTF-16LE (`xml` included).
    pub const fn is_unicode(&self) -> bool {
        matches!(self.family(), Family::UnicodeString | Family::Xml)
    }

    /// Returns whether this is `bit` or an integer type.
    pub const fn is_integer(&self) -> bool {
        matches!(self, Self::Bit | Self::TinyInt | Self::SmallInt | Self::Int | Self::BigInt)
    }

    /// Returns whether this is a number of any kind.
    pub const fn is_numeric(&self) -> bool {
        matches!(self.family(), Family::ExactNumeric | Family::ApproximateNumeric)
    }

    /// Returns whether a value may be as long as 2 GB.
    pub const fn is_large(&self) -> bool {
        matches!(
            self,
            Self::VarChar(Length::Max)
                | Self::NVarChar(Length::Max)
                | Self::VarBinary(Length::Max)
                | Self::Text
                | Self::NText
                | Self::Image
                | Self::Xml
        )
    }

    /// Returns whether values are padded to the declared length.
    pub const fn is_fixed_string(&self) -> bool {
        matches!(self, Self::Char(_) | Self::NChar(_) | Self::Binary(_))
    }

    /// Returns the precedence: of two operands the type with the higher number is the common one.
    pub const fn precedence(&self) -> u8 {
        match self {
            Self::SqlVariant => 30,
            Self::Xml => 29,
            Self::DateTimeOffset(_) => 28,
            Self::DateTime2(_) => 27,
            Self::DateTime => 26,
            Self::SmallDateTime => 25,
            Self::Date => 24,
            Self::Time(_) => 23,
            Self::Float => 22,
            Self::Real => 21,
            Self::Decimal { .. } => 20,
            Self::Money => 19,
            Self::SmallMoney => 18,
            Self::BigInt => 17,
            Self::Int => 16,
            Self::SmallInt => 15,
            Self::TinyInt => 14,
            Self::Bit => 13,
            Self::NText => 12,
            Self::Text => 11,
            Self::Image => 10,
            Self::RowVersion => 9,
            Self::UniqueIdentifier => 8,
            Self::NVarChar(_) => 7,
            Self::NChar(_) => 6,
            Self::VarChar(_) => 5,
            Self::Char(_) => 4,
            Self::VarBinary(_) => 3,
            Self::Binary(_) => 2,
        }
    }

    /// Returns the declared length of a string or binary type: characters, UTF-16 units or bytes.
    pub const fn length(&self) -> Option<Length> {
        match self {
            Self::Char(n) | Self::NChar(n) | Self::Binary(n) => Some(Length::Limited(*n)),
            Self::VarChar(l) | Self::NVarChar(l) | Self::VarBinary(l) => Some(*l),
            Self::Text | Self::NText | Self::Image | Self::Xml => Some(Length::Max),
            Self::RowVersion => Some(Length::Limited(8)),
            _ => None,
        }
    }

    /// Returns the number of bytes the longest value takes, `None` for 2 GB.
    pub const fn bytes_max(&self) -> Option<u16> {
        match self.max_length() {
            -1 => None,
            _ if self.is_large() => None,
            n => Some(n.unsigned_abs()),
        }
    }

    /// Returns `max_length` as `sys.columns` has it: bytes, -1 for `max`, 16 for `text`, `ntext`
    /// and `image`.
    #[expect(clippy::cast_possible_wrap, reason = "declared lengths are at most 8,000 bytes")]
    pub const fn max_length(&self) -> i16 {
        match self {
            Self::Bit | Self::TinyInt => 1,
            Self::SmallInt => 2,
            Self::Int | Self::Real | Self::SmallMoney | Self::SmallDateTime => 4,
            Self::BigInt | Self::Float | Self::Money | Self::DateTime | Self::RowVersion => 8,
            Self::Decimal { precision, .. } => decimal_bytes(*precision) as i16,
            Self::Date => 3,
            Self::Time(s) => time_bytes(*s) as i16,
            Self::DateTime2(s) => time_bytes(*s) as i16 + 3,
            Self::DateTimeOffset(s) => time_bytes(*s) as i16 + 5,
            Self::Char(n) | Self::Binary(n) => *n as i16,
            Self::NChar(n) => *n as i16 * 2,
            Self::VarChar(Length::Limited(n)) | Self::VarBinary(Length::Limited(n)) => *n as i16,
            Self::NVarChar(Length::Limited(n)) => *n as i16 * 2,
            Self::VarChar(Length::Max)
            | Self::VarBinary(Length::Max)
            | Self::NVarChar(Length::Max)
            | Self::Xml => -1,
            Self::Text | Self::NText | Self::Image | Self::UniqueIdentifier => 16,
            Self::SqlVariant => 8_016,
        }
    }

    /// Returns the precision as `sys.columns` has it; 0 for a type without one.
    pub const fn precision(&self) -> u8 {
        match self {
            Self::Bit => 1,
            Self::TinyInt => 3,
            Self::SmallInt => 5,
            Self::Int | Self::SmallMoney | Self::Date => 10,
            Self::BigInt | Self::Money => 19,
            Self::Decimal { precision, .. } => *precision,
            Self::Real => 24,
            Self::Float => 53,
            Self::Time(0) => 8,
            Self::Time(s) => 9 + *s,
            Self::DateTime => 23,
            Self::SmallDateTime => 16,
            Self::DateTime2(0) => 19,
            Self::DateTime2(s) => 20 + *s,
            Self::DateTimeOffset(0) => 26,
            Self::DateTimeOffset(s) => 27 + *s,
            _ => 0,
        }
    }

    /// Returns the scale as `sys.columns` has it; 0 for a type without one.
    pub const fn scale(&self) -> u8 {
        match self {
            Self::Decimal { scale, .. } => *scale,
            Self::Money | Self::SmallMoney => 4,
            Self::Time(s) | Self::DateTime2(s) | Self::DateTimeOffset(s) => *s,
            Self::DateTime => 3,
            _ => 0,
        }
    }

    /// Returns `system_type_id` as `sys.types` has it.
    pub const fn system_type_id(&self) -> u8 {
        match self {
            Self::Image => 34,
            Self::Text => 35,
            Self::UniqueIdentifier => 36,
            Self::Date => 40,
            Self::Time(_) => 41,
            Self::DateTime2(_) => 42,
            Self::DateTimeOffset(_) => 43,
            Self::TinyInt => 48,
            Self::SmallInt => 52,
            Self::Int => 56,
            Self::SmallDateTime => 58,
            Self::Real => 59,
            Self::Money => 60,
            Self::DateTime => 61,
            Self::Float => 62,
            Self::SqlVariant => 98,
            Self::NText => 99,
            Self::Bit => 104,
            Self::Decimal { .. } => 106,
            Self::SmallMoney => 122,
            Self::BigInt => 127,
            Self::VarBinary(_) => 165,
            Self::VarChar(_) => 167,
            Self::Binary(_) => 173,
            Self::Char(_) => 175,
            Self::RowVersion => 189,
            Self::NVarChar(_) => 231,
            Self::NChar(_) => 239,
            Self::Xml => 241,
        }
    }

    /// Returns `sys.types.user_type_id`, which for the system's own types is the same number.
    pub fn user_type_id(&self) -> i32 {
        i32::from(self.system_type_id())
    }

    /// Returns the number of characters that the longest value takes, ODBC's display size; `None`
    /// for 2 GB types.
    pub const fn display_size(&self) -> Option<u32> {
        Some(match self {
            Self::Bit => 1,
            Self::TinyInt => 3,
            Self::SmallInt => 6,
            Self::Int => 11,
            Self::BigInt => 20,
            Self::Decimal { precision, .. } => *precision as u32 + 2,
            Self::Money => 21,
            Self::SmallMoney => 12,
            Self::Real => 14,
            Self::Float => 24,
            Self::Date => 10,
            Self::DateTime => 23,
            Self::SmallDateTime => 19,
            Self::Time(_) | Self::DateTime2(_) | Self::DateTimeOffset(_) => self.precision() as u32,
            Self::Char(n) | Self::NChar(n) => *n as u32,
            Self::VarChar(Length::Limited(n)) | Self::NVarChar(Length::Limited(n)) => *n as u32,
            Self::Binary(n) | Self::VarBinary(Length::Limited(n)) => *n as u32 * 2,
            Self::RowVersion => 16,
            Self::UniqueIdentifier => 36,
            Self::SqlVariant => 8_000,
            Self::VarChar(Length::Max)
            | Self::NVarChar(Length::Max)
            | Self::VarBinary(Length::Max)
            | Self::Text
            | Self::NText
            | Self::Image
            | Self::Xml => return None,
        })
    }
}

impl DataType {
    /// Makes the type of a `system_type_id` with its length (characters, units or bytes), precision
    /// and scale, each ignored where the type has none; `None` for an unknown id.
    pub fn from_parts(id: u8, length: Length, precision: u8, scale: u8) -> Option<Self> {
        let limited = match length {
            Length::Limited(n) => n,
            Length::Max => BYTES_MAX,
        };
        Some(match id {
            34 => Self::Image,
            35 => Self::Text,
            36 => Self::UniqueIdentifier,
            40 => Self::Date,
            41 => Self::Time(scale),
            42 => Self::DateTime2(scale),
            43 => Self::DateTimeOffset(scale),
            48 => Self::TinyInt,
            52 => Self::SmallInt,
            56 => Self::Int,
            58 => Self::SmallDateTime,
            59 => Self::Real,
            60 => Self::Money,
            61 => Self::DateTime,
            62 => Self::Float,
            98 => Self::SqlVariant,
            99 => Self::NText,
            104 => Self::Bit,
            106 | 108 => Self::Decimal { precision, scale },
            122 => Self::SmallMoney,
            127 => Self::BigInt,
            165 => Self::VarBinary(length),
            167 => Self::VarChar(length),
            173 => Self::Binary(limited),
            175 => Self::Char(limited),
            189 => Self::RowVersion,
            231 => Self::NVarChar(length),
            239 => Self::NChar(limited.min(UNITS_MAX)),
            241 => Self::Xml,
            _ => return None,
        })
    }
}

/// Returns the storage size of a `decimal` of `precision` digits, in bytes.
pub const fn decimal_bytes(precision: u8) -> u8 {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

/// Returns the storage size of a time of day with `scale` decimals of a second, in bytes.
pub const fn time_bytes(scale: u8) -> u8 {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalog_numbers_are_those_of_sys_columns() {
        let decimal = |precision, scale| DataType::Decimal { precision, scale };
        for (of, id, length, precision, scale) in [
            (DataType::Bit, 104, 1, 1, 0),
            (DataType::TinyInt, 48, 1, 3, 0),
            (DataType::Int, 56, 4, 10, 0),
            (DataType::BigInt, 127, 8, 19, 0),
            (decimal(18, 2), 106, 9, 18, 2),
            (decimal(9, 0), 106, 5, 9, 0),
            (decimal(38, 10), 106, 17, 38, 10),
            (DataType::Money, 60, 8, 19, 4),
            (DataType::Float, 62, 8, 53, 0),
            (DataType::Real, 59, 4, 24, 0),
            (DataType::Date, 40, 3, 10, 0),
            (DataType::Time(7), 41, 5, 16, 7),
            (DataType::Time(0), 41, 3, 8, 0),
            (DataType::DateTime, 61, 8, 23, 3),
            (DataType::SmallDateTime, 58, 4, 16, 0),
            (DataType::DateTime2(7), 42, 8, 27, 7),
            (DataType::DateTime2(0), 42, 6, 19, 0),
            (DataType::DateTimeOffset(7), 43, 10, 34, 7),
            (DataType::NVarChar(Length::Limited(88)), 231, 176, 0, 0),
            (DataType::NVarChar(Length::Max), 231, -1, 0, 0),
            (DataType::Char(280), 175, 280, 0, 0),
            (DataType::Image, 34, 16, 0, 0),
            (DataType::UniqueIdentifier, 36, 16, 0, 0),
            (DataType::SqlVariant, 98, 8_016, 0, 0),
            (DataType::Xml, 241, -1, 0, 0),
        ] {
            let found = (of.system_type_id(), of.max_length(), of.precision(), of.scale());
            assert_eq!(found, (id, length, precision, scale), "{of}");
            let length = of.length().unwrap_or(Length::Max);
            let again = DataType::from_parts(id, length, precision, scale);
            assert_eq!(again, Some(of), "{of} from its parts");
        }
        assert_eq!(DataType::from_parts(1, Length::Max, 0, 0), None);
    }

    #[test]
    fn types_show_as_declared() {
        assert_eq!(DataType::NVarChar(Length::Limited(88)).to_string(), "nvarchar(88)");
        assert_eq!(DataType::VarBinary(Length::Max).to_string(), "varbinary(max)");
        assert_eq!(DataType::Decimal { precision: 18, scale: 2 }.to_string(), "decimal(18,2)");
        assert_eq!(DataType::DateTimeOffset(7).to_string(), "datetimeoffset(7)");
    }
}
