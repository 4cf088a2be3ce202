//! `Field`, `Setting` and `FieldType`: what an event carries, and what a session may set about it.

use super::map::Map;
use super::package::{PACKAGE0, Package};
use super::value::Value;

/// The type of a field, an action or a source.
#[derive(Clone, Copy, Debug)]
pub enum FieldType {
    /// A boolean.
    Boolean,
    /// Signed, 8 bits.
    Int8,
    /// Signed, 16 bits.
    Int16,
    /// Signed, 32 bits.
    Int32,
    /// Signed, 64 bits.
    Int64,
    /// Unsigned, 8 bits.
    UInt8,
    /// Unsigned, 16 bits.
    UInt16,
    /// Unsigned, 32 bits.
    UInt32,
    /// Unsigned, 64 bits.
    UInt64,
    /// Floating point, 64 bits.
    Float64,
    /// Text.
    UnicodeString,
    /// Text of one byte per character in SQL Server; UTF-8 here.
    AnsiString,
    /// Bytes.
    BinaryData,
    /// A GUID.
    Guid,
    /// A point in time: 100 ns since 0001-01-01 UTC.
    Datetime,
    /// An address.
    Ptr,
    /// XML, as text.
    Xml,
    /// A call stack.
    Callstack,
    /// An activity of TRACK_CAUSALITY.
    ActivityId,
    /// An activity that this one came from.
    ActivityIdXfer,
    /// A key of a map.
    Map(&'static Map),
}

/// Every type but the maps, for `sys.dm_xe_objects`.
pub static FIELD_TYPES: &[FieldType] = &[
    FieldType::Boolean,
    FieldType::Int8,
    FieldType::Int16,
    FieldType::Int32,
    FieldType::Int64,
    FieldType::UInt8,
    FieldType::UInt16,
    FieldType::UInt32,
    FieldType::UInt64,
    FieldType::Float64,
    FieldType::UnicodeString,
    FieldType::AnsiString,
    FieldType::BinaryData,
    FieldType::Guid,
    FieldType::Datetime,
    FieldType::Ptr,
    FieldType::Xml,
    FieldType::Callstack,
    FieldType::ActivityId,
    FieldType::ActivityIdXfer,
];

impl FieldType {
    /// The type's name; a map's own.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::UInt8 => "uint8",
            Self::UInt16 => "uint16",
            Self::UInt32 => "uint32",
            Self::UInt64 => "uint64",
            Self::Float64 => "float64",
            Self::UnicodeString => "unicode_string",
            Self::AnsiString => "ansi_string",
            Self::BinaryData => "binary_data",
            Self::Guid => "guid",
            Self::Datetime => "filetime",
            Self::Ptr => "ptr",
            Self::Xml => "xml",
            Self::Callstack => "callstack",
            Self::ActivityId => "activity_id",
            Self::ActivityIdXfer => "activity_id_xfer",
            Self::Map(map) => map.name,
        }
    }

    /// The package that the type belongs to.
    #[must_use]
    pub fn package(self) -> &'static Package {
        match self {
            Self::Map(map) => map.package,
            _ => &PACKAGE0,
        }
    }

    /// Bytes of a value; 0 if they vary.
    #[must_use]
    pub const fn size(self) -> u32 {
        match self {
            Self::Boolean | Self::Int8 | Self::UInt8 => 1,
            Self::Int16 | Self::UInt16 => 2,
            Self::Int32 | Self::UInt32 | Self::Map(_) => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 | Self::Datetime | Self::Ptr => 8,
            Self::Guid => 16,
            Self::ActivityId | Self::ActivityIdXfer => 20,
            Self::UnicodeString
            | Self::AnsiString
            | Self::BinaryData
            | Self::Xml
            | Self::Callstack => 0,
        }
    }

    /// Whether its values are numbers that add up: a histogram can be weighted by them.
    #[must_use]
    pub const fn is_number(self) -> bool {
        matches!(
            self,
            Self::Int8
                | Self::Int16
                | Self::Int32
                | Self::Int64
                | Self::UInt8
                | Self::UInt16
                | Self::UInt32
                | Self::UInt64
        )
    }

    /// Whether a value is of this type, or absent.
    #[must_use]
    pub const fn fits(self, value: &Value<'_>) -> bool {
        match value {
            Value::Null => true,
            Value::Bool(_) => matches!(self, Self::Boolean),
            Value::Int(_) => matches!(self, Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64),
            Value::UInt(_) => matches!(
                self,
                Self::UInt8
                    | Self::UInt16
                    | Self::UInt32
                    | Self::UInt64
                    | Self::Ptr
                    | Self::Datetime
            ),
            Value::Float(_) => matches!(self, Self::Float64),
            Value::Text(_) | Value::Mixed(_) => {
                matches!(self, Self::UnicodeString | Self::AnsiString | Self::Xml)
            }
            Value::Bytes(_) => matches!(self, Self::BinaryData),
            Value::Guid(_) => matches!(self, Self::Guid),
            Value::Map(_) => matches!(self, Self::Map(_)),
            Value::Stack(_) => matches!(self, Self::Callstack),
            Value::Activity(..) => matches!(self, Self::ActivityId | Self::ActivityIdXfer),
        }
    }
}

/// One field of an event.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub field_type: FieldType,
    /// What it says.
    pub description: &'static str,
}

impl Field {
    /// Describes a field.
    #[must_use]
    pub const fn new(name: &'static str, field_type: FieldType, description: &'static str) -> Self {
        Self { name, field_type, description }
    }
}

/// What a session may SET about an event: whether a field that costs something is collected. As a
/// column of the event it is of column type `customizable` and of type boolean.
#[derive(Debug)]
pub struct Setting {
    /// Its name: `collect_statement`.
    pub name: &'static str,
    /// The field that stays empty if it is off.
    pub field: &'static str,
    /// What it is when a session does not say.
    pub default: bool,
    /// What it does.
    pub description: &'static str,
}

impl Setting {
    /// Describes a setting.
    #[must_use]
    pub const fn new(
        name: &'static str,
        field: &'static str,
        default: bool,
        description: &'static str,
    ) -> Self {
        Self { name, field, default, description }
    }
}
