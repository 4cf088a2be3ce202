//! SQL Server's data types, with the length, precision and scale that belong to each.

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
    /// `bit`
    Bit,
    /// `tinyint`, unsigned.
    TinyInt,
    /// `smallint`
    SmallInt,
    /// `int`
    Int,
    /// `bigint`
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
    /// `real`
    Real,
    /// `float` (53 bits)
    Float,
    /// `date`
    Date,
    /// `time(scale)`
    Time(u8),
    /// `datetime`: 1/300 s.
    DateTime,
    /// `smalldatetime`: minutes.
    SmallDateTime,
    /// `datetime2(scale)`
    DateTime2(u8),
    /// `datetimeoffset(scale)`
    DateTimeOffset(u8),
    /// `char(n)`
    Char(u16),
    /// `varchar(n | max)`
    VarChar(Length),
    /// `nchar(n)`, in UTF-16 units.
    NChar(u16),
    /// `nvarchar(n | max)`, in UTF-16 units.
    NVarChar(Length),
    /// `text`
    Text,
    /// `ntext`
    NText,
    /// `binary(n)`
    Binary(u16),
    /// `varbinary(n | max)`
    VarBinary(Length),
    /// `image`
    Image,
    /// `uniqueidentifier`
    UniqueIdentifier,
    /// `rowversion` (`timestamp`): 8 bytes, set by the server.
    RowVersion,
    /// `sql_variant`
    SqlVariant,
    /// `xml`
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
