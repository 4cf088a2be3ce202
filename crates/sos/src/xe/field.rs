//! `Field`, `Setting` and `FieldType`: the values of an event, and the settings that a session can
//! give it.

use super::map::Map;
use super::package::{PACKAGE0, Package};
use super::value::Value;

/// The type of a field, an action or a source.
#[derive(Clone, Copy, Debug)]
pub enum FieldType {
    /// `boolean`, true or false.
    Boolean,
    /// `int8`, signed, 8 bits.
    Int8,
    /// `int16`, signed, 16 bits.
    Int16,
    /// `int32`, signed, 32 bits.
    Int32,
    /// `int64`, signed, 64 bits.
    Int64,
    /// `uint8`, unsigned, 8 bits.
    UInt8,
    /// `uint16`, unsigned, 16 bits.
    UInt16,
    /// `uint32`, unsigned, 32 bits.
    UInt32,
    /// `uint64`, unsigned, 64 bits.
    UInt64,
    /// Floating point, 64 bits.
    Float64,
    /// `unicode_string`, text in UTF-8.
    UnicodeString,
    /// Text of one byte per character in SQL Server; UTF-8 here.
    AnsiString,
    /// `binary_data`, bytes of any length.
    BinaryData,
    /// `guid`, a GUID of 16 bytes.
    Guid,
    /// A point in time: 100 ns since 0001-01-01 UTC.
    Datetime,
    /// `ptr`, a memory address.
    Ptr,
    /// `xml`, stored as text.
    Xml,
    /// `callstack`, a call stack.
    Callstack,
    /// An activity of TRACK_CAUSALITY.
    ActivityId,
    /// An activity that this one came from.
    ActivityIdXfer,
    /// A key of the given map.
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
    /// The type's name; for a map, that of the map.
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

    /// The size of a value in bytes; 0 if it varies.
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

    /// Whether its values can be added up, so that a histogram can be weighted by them.
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
    /// The name, unique within the event.
    pub name: &'static str,
    /// The type of its values.
    pub field_type: FieldType,
    /// A description for `sys.dm_xe_object_columns`.
    pub description: &'static str,
}

impl Field {
    /// Declares a field, for a `static`.
    #[must_use]
    pub const fn new(name: &'static str, field_type: FieldType, description: &'static str) -> Self {
        Self { name, field_type, description }
    }
}

/// A setting that a session can SET for an event: whether an expensive field is collected. In
/// `sys.dm_xe_object_columns` it has the column type `customizable` and the type boolean.
#[derive(Debug)]
pub struct Setting {
    /// The name, such as `collect_statement`.
    pub name: &'static str,
    /// The field that stays empty if it is off.
    pub field: &'static str,
    /// The value if a session does not set it.
    pub default: bool,
    /// A description for `sys.dm_xe_object_columns`.
    pub description: &'static str,
}

impl Setting {
    /// Declares a setting, for a `static`.
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
