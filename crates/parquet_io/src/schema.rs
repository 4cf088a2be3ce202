//! The columns of a file: physical types, logical types, and the T-SQL types that they map to.
//!
//! The mapping is "Type mapping for Parquet" in Microsoft's page on OPENROWSET; decision 0140 names
//! where it goes further. Logical types:
//! <https://github.com/apache/parquet-format/blob/master/LogicalTypes.md>.

use types::{DataType, Length};

use crate::thrift::{Kind, Reader};
use crate::{Error, Result};

/// The physical type of a column: how its values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Physical {
    /// BOOLEAN: one bit per value.
    Boolean,
    /// INT32: 32-bit signed integer.
    Int32,
    /// INT64: 64-bit signed integer.
    Int64,
    /// INT96: 64 bits of nanoseconds and 32 bits of days.
    Int96,
    /// FLOAT: IEEE 754, single precision.
    Float,
    /// DOUBLE: IEEE 754, double precision.
    Double,
    /// BYTE_ARRAY: any number of bytes.
    Bytes,
    /// FIXED_LEN_BYTE_ARRAY: this number of bytes.
    Fixed(usize),
}

/// The logical type of a column: what its values mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// No logical type: the physical type alone.
    Plain,
    /// STRING: characters in UTF-8.
    Text,
    /// DATE: days since 1970-01-01.
    Date,
    /// Time since midnight, in this many units per second.
    Time(i64),
    /// Time since 1970-01-01, in this many units per second.
    Timestamp(i64),
    /// An integer: its bits, and whether it is signed.
    Int(u8, bool),
    /// A decimal: precision and scale.
    Decimal(u8, u8),
    /// UUID: a GUID, its bytes from left to right.
    Uuid,
    /// FLOAT16: half precision, IEEE 754 binary16.
    Float16,
}

/// A column of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name of the column.
    pub name: String,
    /// Whether the column may have NULLs.
    pub nullable: bool,
    /// The T-SQL type, or why the column is not supported.
    pub data_type: std::result::Result<DataType, String>,
    /// The physical type of its values.
    pub physical: Physical,
    pub(crate) meaning: Meaning,
    /// The index of its chunk in each row group.
    pub(crate) chunk: usize,
}

/// Milliseconds, microseconds and nanoseconds in a second.
pub(crate) const MILLIS: i64 = 1_000;
pub(crate) const MICROS: i64 = 1_000_000;
pub(crate) const NANOS: i64 = 1_000_000_000;

/// An element of the schema, as the file has it.
#[derive(Default)]
struct Element<'a> {
    name: &'a str,
    physical: Option<i32>,
    type_length: usize,
    repetition: i32,
    children: usize,
    converted: Option<i32>,
    precision: i32,
    scale: i32,
    logical: Option<Logical>,
}

/// A `LogicalType`: its kind and its parameters.
#[derive(Clone, Copy, Default)]
struct Logical {
    id: i16,
    /// Of a time, its unit; of a decimal, its scale.
    first: i32,
    /// Of a decimal, its precision.
    second: i32,
    /// Of an integer, its bits and whether it is signed.
    bits: u8,
    is_signed: bool,
}

/// Reads the schema of a footer: a tree in depth-first order, root first.
pub(crate) fn read(reader: &mut Reader<'_>, kind: Kind) -> Result<(Vec<Column>, usize)> {
    let mut elements = Vec::new();
    reader.list(kind, Kind::Struct, &mut |reader| {
        elements.push(element(reader)?);
        Ok(())
    })?;
    let mut columns = Vec::new();
    let (mut at, mut chunks) = (1, 0);
    let Some(root) = elements.first() else { return Err(Error::damaged("a schema without root")) };
    for _ in 0..root.children {
        let (end, leaves) = extent(&elements, at)?;
        columns.push(column(&elements[at], chunks));
        (at, chunks) = (end, chunks + leaves);
    }
    if at != elements.len() {
        return Err(Error::damaged("a schema with elements of no parent"));
    }
    Ok((columns, chunks))
}

/// Returns where the subtree of an element ends, and how many leaves it has.
fn extent(elements: &[Element<'_>], start: usize) -> Result<(usize, usize)> {
    let (mut at, mut open, mut leaves) = (start, 1_usize, 0);
    while open > 0 {
        let element = elements.get(at).ok_or_else(|| Error::damaged("a schema that ends early"))?;
        leaves += usize::from(element.children == 0);
        open = open - 1 + element.children;
        at += 1;
    }
    Ok((at, leaves))
}

fn element<'a>(reader: &mut Reader<'a>) -> Result<Element<'a>> {
    let mut found = Element::default();
    // The borrow of the text is the reader's, which a field's reader does not show.
    let mut name = None;
    reader.fields(&mut |reader, id, kind| {
        match id {
            1 => found.physical = Some(reader.int32(kind)?),
            2 => found.type_length = reader.size(kind)?,
            3 => found.repetition = reader.int32(kind)?,
            4 => name = Some(reader.text(kind)?),
            5 => found.children = reader.size(kind)?,
            6 => found.converted = Some(reader.int32(kind)?),
            7 => found.scale = reader.int32(kind)?,
            8 => found.precision = reader.int32(kind)?,
            10 => found.logical = Some(logical(reader, kind)?),
            _ => reader.skip(kind)?,
        }
        Ok(())
    })?;
    found.name = name.ok_or_else(|| Error::damaged("a column without name"))?;
    Ok(found)
}

fn structure(kind: Kind) -> Result<()> {
    if kind == Kind::Struct { Ok(()) } else { Err(Error::damaged("a field of another type")) }
}

/// Reads a union: a structure with one field, which is a structure.
fn logical(reader: &mut Reader<'_>, kind: Kind) -> Result<Logical> {
    structure(kind)?;
    let mut found = Logical::default();
    reader.fields(&mut |reader, id, kind| {
        found.id = id;
        structure(kind)?;
        reader.fields(&mut |reader, field, kind| {
            match (id, field) {
                (5, 1) => found.first = reader.int32(kind)?,
                (5, 2) => found.second = reader.int32(kind)?,
                (7 | 8, 2) => {
                    structure(kind)?;
                    reader.fields(&mut |reader, unit, kind| {
                        found.first = i32::from(unit);
                        reader.skip(kind)
                    })?;
                }
                (10, 1) => found.bits = reader.small(kind)?,
                (10, 2) => found.is_signed = Reader::flag(kind)?,
                _ => reader.skip(kind)?,
            }
            Ok(())
        })
    })?;
    Ok(found)
}

fn column(element: &Element<'_>, chunk: usize) -> Column {
    let name = element.name.to_owned();
    let nullable = element.repetition != REQUIRED;
    let refused = |why: String| Column {
        name: name.clone(),
        nullable,
        data_type: Err(why),
        physical: Physical::Boolean,
        meaning: Meaning::Plain,
        chunk,
    };
    if element.children > 0 || element.physical.is_none() {
        return refused("a nested column".to_owned());
    }
    if element.repetition == REPEATED {
        return refused("a repeated column".to_owned());
    }
    let Some(physical) = physical(element) else {
        return refused("a column of a physical type without meaning".to_owned());
    };
    let meaning = match meaning(element, physical) {
        Ok(meaning) => meaning,
        Err(what) => return refused(format!("a column of type {what}")),
    };
    let data_type = data_type(physical, meaning).ok_or_else(|| {
        format!("a column of physical type {physical:?} that is to be a {meaning:?}")
    });
    Column { name, nullable, data_type, physical, meaning, chunk }
}

const REQUIRED: i32 = 0;
const REPEATED: i32 = 2;

/// The largest accepted fixed length of a value, in bytes.
const FIXED_BYTES_MAX: usize = 1 << 16;

fn physical(element: &Element<'_>) -> Option<Physical> {
    Some(match element.physical? {
        0 => Physical::Boolean,
        1 => Physical::Int32,
        2 => Physical::Int64,
        3 => Physical::Int96,
        4 => Physical::Float,
        5 => Physical::Double,
        6 => Physical::Bytes,
        7 if (1..=FIXED_BYTES_MAX).contains(&element.type_length) => {
            Physical::Fixed(element.type_length)
        }
        _ => return None,
    })
}

/// Finds the meaning of a column, from its logical type or the older converted type.
fn meaning(element: &Element<'_>, physical: Physical) -> std::result::Result<Meaning, String> {
    if let Some(logical) = element.logical
        && let Some(meaning) = of_logical(logical)
    {
        return meaning.map_err(str::to_owned);
    }
    let Some(converted) = element.converted else {
        return Ok(match physical {
            Physical::Int96 => Meaning::Timestamp(NANOS),
            _ => Meaning::Plain,
        });
    };
    Ok(match converted {
        0 | 4 | 19 => Meaning::Text,
        5 => decimal(element.precision, element.scale)?,
        6 => Meaning::Date,
        7 => Meaning::Time(MILLIS),
        8 => Meaning::Time(MICROS),
        9 => Meaning::Timestamp(MILLIS),
        10 => Meaning::Timestamp(MICROS),
        bits @ 11..=14 => Meaning::Int(8 << (bits - 11), false),
        bits @ 15..=18 => Meaning::Int(8 << (bits - 15), true),
        20 => return Err("BSON".to_owned()),
        21 => return Err("INTERVAL".to_owned()),
        1..=3 => return Err("MAP or LIST".to_owned()),
        _ => return Err("that is not known".to_owned()),
    })
}

/// Converts a logical type; `None` for an unknown one, which readers may ignore.
fn of_logical(logical: Logical) -> Option<std::result::Result<Meaning, &'static str>> {
    let unit = match logical.first {
        1 => MILLIS,
        2 => MICROS,
        _ => NANOS,
    };
    Some(Ok(match logical.id {
        1 | 4 | 12 => Meaning::Text,
        5 => return Some(decimal(logical.second, logical.first)),
        6 => Meaning::Date,
        7 => Meaning::Time(unit),
        8 => Meaning::Timestamp(unit),
        10 => Meaning::Int(logical.bits, logical.is_signed),
        11 => Meaning::Plain,
        13 => return Some(Err("BSON")),
        14 => Meaning::Uuid,
        15 => Meaning::Float16,
        16 => return Some(Err("VARIANT")),
        17 => return Some(Err("GEOMETRY")),
        18 => return Some(Err("GEOGRAPHY")),
        _ => return None,
    }))
}

/// The largest precision of T-SQL's decimal.
const PRECISION_MAX: u8 = 38;

fn decimal(precision: i32, scale: i32) -> std::result::Result<Meaning, &'static str> {
    match (u8::try_from(precision), u8::try_from(scale)) {
        (Ok(precision @ 1..=PRECISION_MAX), Ok(scale)) if scale <= precision => {
            Ok(Meaning::Decimal(precision, scale))
        }
        _ => Err("DECIMAL of more than 38 digits"),
    }
}

/// The longest string type of limited length, in bytes.
const STRING: Length = Length::Limited(8_000);

/// Returns the T-SQL type; `None` if the meaning does not fit the physical type.
fn data_type(physical: Physical, meaning: Meaning) -> Option<DataType> {
    use Meaning as M;
    use Physical as P;
    Some(match (physical, meaning) {
        (P::Boolean, M::Plain) => DataType::Bit,
        (P::Int32, M::Plain | M::Int(32, true) | M::Int(16, false)) => DataType::Int,
        (P::Int32, M::Int(8 | 16, true)) => DataType::SmallInt,
        (P::Int32, M::Int(8, false)) => DataType::TinyInt,
        (P::Int32, M::Int(32, false)) => DataType::BigInt,
        (P::Int64, M::Plain | M::Int(64, true)) => DataType::BigInt,
        (P::Int64, M::Int(64, false)) => DataType::Decimal { precision: 20, scale: 0 },
        (P::Int32, M::Date) => DataType::Date,
        (P::Int32, M::Time(MILLIS)) | (P::Int64, M::Time(MICROS | NANOS)) => DataType::Time(7),
        (P::Int64 | P::Int96, M::Timestamp(_)) => DataType::DateTime2(7),
        (P::Int32 | P::Int64 | P::Bytes | P::Fixed(_), M::Decimal(precision, scale)) => {
            DataType::Decimal { precision, scale }
        }
        (P::Float, M::Plain) | (P::Fixed(2), M::Float16) => DataType::Real,
        (P::Double, M::Plain) => DataType::Float,
        (P::Bytes, M::Text) => DataType::VarChar(STRING),
        (P::Bytes | P::Fixed(_), M::Plain) => DataType::VarBinary(STRING),
        (P::Fixed(16), M::Uuid) => DataType::UniqueIdentifier,
        _ => return None,
    })
}
