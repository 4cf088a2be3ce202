//! `WireType`: a data type as TDS sends it, TYPE_INFO ([MS-TDS] 2.2.5.6), encoded and decoded.
//!
//! A [`DataType`] is the type of a value; its `Form` is how the value's length is written before
//! it. The same `int` may be fixed (INT4TYPE, never NULL) or nullable (INTNTYPE, after a length
//! byte). To clients a NOT NULL column has the fixed form, a parameter the nullable one. Old
//! clients get the types that they know: before 7.2 `text` for `varchar(max)`, before 7.3 dates as
//! text.

use types::data_type::{DataType, Length};
use types::{Collation, ColumnType};

use crate::cursor::Cursor;
use crate::error::{ProtocolError, Result};
use crate::sink::Sink;
use crate::version::TdsVersion;

/// The length in TYPE_INFO that means `(max)`.
const PARTIAL: u16 = 0xFFFF;
/// The longest `varchar`, `nvarchar`, `varbinary` that is not `(max)`, in bytes.
pub(crate) const SHORT_BYTES_MAX: u16 = 8_000;
/// The length that `sql_variant` announces, in bytes.
pub(crate) const VARIANT_BYTES_MAX: u32 = 8_009;

/// A data type and the form in which its values are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WireType {
    /// The type of the values.
    pub column_type: ColumnType,
    pub(crate) form: Form,
    /// Whether a `decimal` is sent as `numeric`.
    pub(crate) numeric: bool,
}

/// How a value's length is written before it ([MS-TDS] 2.2.5.2.2, 2.2.5.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// No length: the type has one size.
    Fixed,
    /// One byte; 0 is NULL.
    Byte,
    /// Two bytes; 0xFFFF is NULL.
    Short,
    /// Four bytes, with a text pointer before them in rows; -1 (no pointer) is NULL.
    Long,
    /// Eight bytes of total length, then chunks (PLP).
    Partial,
    /// `sql_variant`: four bytes of length, then the type of this value.
    Variant,
    /// NULLTYPE: always NULL, no bytes.
    Null,
    /// A date as `nvarchar`, for clients without date types. Sent, never received.
    Rendered,
}

/// The context of a type or value, which changes the encoding of some types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a row, described by COLMETADATA.
    Row,
    /// In an RPC parameter or a RETURNVALUE.
    Parameter,
}

/// The token of a type on the wire (2.2.5.4).
pub(crate) mod token {
    pub(crate) const NULL: u8 = 0x1F;
    pub(crate) const INT1: u8 = 0x30;
    pub(crate) const BIT: u8 = 0x32;
    pub(crate) const INT2: u8 = 0x34;
    pub(crate) const INT4: u8 = 0x38;
    pub(crate) const SMALL_DATE_TIME: u8 = 0x3A;
    pub(crate) const REAL: u8 = 0x3B;
    pub(crate) const MONEY: u8 = 0x3C;
    pub(crate) const DATE_TIME: u8 = 0x3D;
    pub(crate) const FLOAT: u8 = 0x3E;
    pub(crate) const SMALL_MONEY: u8 = 0x7A;
    pub(crate) const INT8: u8 = 0x7F;
    pub(crate) const GUID: u8 = 0x24;
    pub(crate) const INT_N: u8 = 0x26;
    pub(crate) const DATE: u8 = 0x28;
    pub(crate) const TIME: u8 = 0x29;
    pub(crate) const DATE_TIME2: u8 = 0x2A;
    pub(crate) const DATE_TIME_OFFSET: u8 = 0x2B;
    pub(crate) const OLD_DECIMAL: u8 = 0x37;
    pub(crate) const OLD_NUMERIC: u8 = 0x3F;
    pub(crate) const BIT_N: u8 = 0x68;
    pub(crate) const DECIMAL_N: u8 = 0x6A;
    pub(crate) const NUMERIC_N: u8 = 0x6C;
    pub(crate) const FLOAT_N: u8 = 0x6D;
    pub(crate) const MONEY_N: u8 = 0x6E;
    pub(crate) const DATE_TIME_N: u8 = 0x6F;
    pub(crate) const OLD_CHAR: u8 = 0x2F;
    pub(crate) const OLD_VAR_CHAR: u8 = 0x27;
    pub(crate) const OLD_BINARY: u8 = 0x2D;
    pub(crate) const OLD_VAR_BINARY: u8 = 0x25;
    pub(crate) const VAR_BINARY: u8 = 0xA5;
    pub(crate) const VAR_CHAR: u8 = 0xA7;
    pub(crate) const BINARY: u8 = 0xAD;
    pub(crate) const CHAR: u8 = 0xAF;
    pub(crate) const N_VAR_CHAR: u8 = 0xE7;
    pub(crate) const N_CHAR: u8 = 0xEF;
    pub(crate) const TEXT: u8 = 0x23;
    pub(crate) const IMAGE: u8 = 0x22;
    pub(crate) const N_TEXT: u8 = 0x63;
    pub(crate) const VARIANT: u8 = 0x62;
    pub(crate) const UDT: u8 = 0xF0;
    pub(crate) const XML: u8 = 0xF1;
    pub(crate) const JSON: u8 = 0xF4;
    pub(crate) const VECTOR: u8 = 0xF5;
}

impl WireType {
    /// Returns NULLTYPE: an untyped NULL, which counts as `nvarchar(1)`.
    pub fn null() -> Self {
        Self::new(DataType::NVarChar(Length::Limited(1)), Form::Null)
    }

    /// Returns the form in which a column's values are sent to a client of `version`: without a
    /// length if they are never NULL and have one size.
    pub(crate) fn for_column(column_type: ColumnType, numeric: bool, version: TdsVersion) -> Self {
        let wire = Self { numeric, ..Self::for_output(column_type, version) };
        match fixed_token(wire.column_type.data_type) {
            Some(_) if !column_type.nullable => Self { form: Form::Fixed, ..wire },
            _ => wire,
        }
    }

    /// Returns the type of a parameter; for NULLTYPE, one that accepts every value.
    pub(crate) const fn parameter_type(&self) -> ColumnType {
        match self.form {
            Form::Null => {
                ColumnType { data_type: DataType::NVarChar(Length::Max), ..self.column_type }
            }
            _ => self.column_type,
        }
    }

    /// Returns the form in which values of a type are sent to a client of `version`.
    pub fn for_output(mut column_type: ColumnType, version: TdsVersion) -> Self {
        column_type.data_type = downlevel(column_type.data_type, version);
        let form = match column_type.data_type {
            DataType::Date
            | DataType::Time(_)
            | DataType::DateTime2(_)
            | DataType::DateTimeOffset(_)
                if !version.has_dates() =>
            {
                Form::Rendered
            }
            other => form_of(other),
        };
        Self { column_type, form, numeric: false }
    }

    fn new(data_type: DataType, form: Form) -> Self {
        let nullable = form != Form::Fixed;
        let column_type = ColumnType { data_type, collation: Collation::default(), nullable };
        Self { column_type, form, numeric: false }
    }

    /// Reads a TYPE_INFO, all types.
    #[inline]
    pub fn decode(body: &mut Cursor<'_>) -> Result<Self> {
        let code = body.u8()?;
        let fixed = |data_type| Ok(Self::new(data_type, Form::Fixed));
        let short_lived = |data_type| Ok(Self::new(data_type, Form::Byte));
        match code {
            token::NULL => Ok(Self::null()),
            token::INT1 => fixed(DataType::TinyInt),
            token::BIT => fixed(DataType::Bit),
            token::INT2 => fixed(DataType::SmallInt),
            token::INT4 => fixed(DataType::Int),
            token::INT8 => fixed(DataType::BigInt),
            token::SMALL_DATE_TIME => fixed(DataType::SmallDateTime),
            token::DATE_TIME => fixed(DataType::DateTime),
            token::REAL => fixed(DataType::Real),
            token::FLOAT => fixed(DataType::Float),
            token::MONEY => fixed(DataType::Money),
            token::SMALL_MONEY => fixed(DataType::SmallMoney),
            token::DATE => short_lived(DataType::Date),
            token::TIME => short_lived(DataType::Time(scale(body, "time")?)),
            token::DATE_TIME2 => short_lived(DataType::DateTime2(scale(body, "datetime2")?)),
            token::DATE_TIME_OFFSET => {
                short_lived(DataType::DateTimeOffset(scale(body, "datetimeoffset")?))
            }
            token::GUID
            | token::INT_N
            | token::BIT_N
            | token::FLOAT_N
            | token::MONEY_N
            | token::DATE_TIME_N => short_lived(sized(code, body.u8()?)?),
            token::DECIMAL_N | token::NUMERIC_N | token::OLD_DECIMAL | token::OLD_NUMERIC => {
                let numeric = matches!(code, token::NUMERIC_N | token::OLD_NUMERIC);
                Ok(Self { numeric, ..Self::new(decimal(body)?, Form::Byte) })
            }
            _ => Self::decode_run(code, body),
        }
    }

    /// Reads the TYPE_INFO of a column of a table-valued parameter. tedious sends precision 0 for a
    /// decimal that is NULL in all rows; it is read as the largest.
    pub(crate) fn decode_of_table(body: &mut Cursor<'_>) -> Result<Self> {
        let mut ahead = body.clone();
        let code = ahead.u8()?;
        if matches!(code, token::DECIMAL_N | token::NUMERIC_N)
            && let [_, 0, scale] = ahead.array()?
        {
            *body = ahead;
            let numeric = code == token::NUMERIC_N;
            let data_type = DataType::Decimal { precision: PRECISION_MAX, scale };
            return match scale {
                0..=PRECISION_MAX => Ok(Self { numeric, ..Self::new(data_type, Form::Byte) }),
                _ => Err(ProtocolError::InvalidLength { what: "decimal", length: scale.into() }),
            };
        }
        Self::decode(body)
    }

    /// Reads the TYPE_INFO of a string or binary type.
    fn decode_run(code: u8, body: &mut Cursor<'_>) -> Result<Self> {
        match code {
            token::OLD_CHAR | token::OLD_VAR_CHAR | token::OLD_BINARY | token::OLD_VAR_BINARY => {
                Self::decode_old(code, body)
            }
            token::CHAR | token::VAR_CHAR | token::N_CHAR | token::N_VAR_CHAR => {
                let length = body.u16()?;
                let mut wire = run(code, length)?;
                wire.column_type.collation = Collation::from_wire(body.array()?);
                Ok(wire)
            }
            token::BINARY | token::VAR_BINARY => run(code, body.u16()?),
            token::TEXT | token::N_TEXT => {
                body.skip(4)?;
                let data_type = if code == token::TEXT { DataType::Text } else { DataType::NText };
                let mut wire = Self::new(data_type, Form::Long);
                wire.column_type.collation = Collation::from_wire(body.array()?);
                Ok(wire)
            }
            token::IMAGE => {
                body.skip(4)?;
                Ok(Self::new(DataType::Image, Form::Long))
            }
            token::VARIANT => {
                body.skip(4)?;
                Ok(Self::new(DataType::SqlVariant, Form::Variant))
            }
            token::XML => {
                skip_schema(body)?;
                Ok(Self::new(DataType::Xml, Form::Partial))
            }
            token::UDT => Err(ProtocolError::Unsupported("CLR user-defined types")),
            token::JSON => Err(ProtocolError::Unsupported("the type json")),
            token::VECTOR => Err(ProtocolError::Unsupported("the type vector")),
            unknown => Err(ProtocolError::UnknownType(unknown)),
        }
    }

    /// Reads a string type from before TDS 7.0, whose length is one byte.
    fn decode_old(code: u8, body: &mut Cursor<'_>) -> Result<Self> {
        let length = u16::from(body.u8()?).max(1);
        let data_type = match code {
            token::OLD_CHAR => DataType::Char(length),
            token::OLD_VAR_CHAR => DataType::VarChar(Length::Limited(length)),
            token::OLD_BINARY => DataType::Binary(length),
            _ => DataType::VarBinary(Length::Limited(length)),
        };
        let mut wire = Self::new(data_type, Form::Byte);
        if code == token::OLD_CHAR || code == token::OLD_VAR_CHAR {
            wire.column_type.collation = Collation::from_wire(body.array()?);
        }
        Ok(wire)
    }

    /// Writes TYPE_INFO of this type.
    pub fn encode(&self, target: &mut impl Sink) {
        let collation = self.column_type.collation;
        if self.form == Form::Rendered {
            let bytes = crate::value::render::units_max(self.column_type.data_type) * 2;
            return put_run(target, token::N_VAR_CHAR, bytes, Some(collation));
        }
        if self.form == Form::Fixed
            && let Some(token) = fixed_token(self.column_type.data_type)
        {
            return target.put(&[token]);
        }
        match self.column_type.data_type {
            DataType::Bit => target.put(&[token::BIT_N, 1]),
            DataType::TinyInt => target.put(&[token::INT_N, 1]),
            DataType::SmallInt => target.put(&[token::INT_N, 2]),
            DataType::Int => target.put(&[token::INT_N, 4]),
            DataType::BigInt => target.put(&[token::INT_N, 8]),
            DataType::Decimal { precision, scale } => {
                // The longest decimal's length, whatever the precision: SqlBulkCopy sends as many
                // bytes per value as this length announces.
                let name = if self.numeric { token::NUMERIC_N } else { token::DECIMAL_N };
                target.put(&[name, DECIMAL_BYTES_MAX, precision, scale]);
            }
            DataType::Money => target.put(&[token::MONEY_N, 8]),
            DataType::SmallMoney => target.put(&[token::MONEY_N, 4]),
            DataType::Real => target.put(&[token::FLOAT_N, 4]),
            DataType::Float => target.put(&[token::FLOAT_N, 8]),
            DataType::Date => target.put(&[token::DATE]),
            DataType::Time(scale) => target.put(&[token::TIME, scale]),
            DataType::DateTime => target.put(&[token::DATE_TIME_N, 8]),
            DataType::SmallDateTime => target.put(&[token::DATE_TIME_N, 4]),
            DataType::DateTime2(scale) => target.put(&[token::DATE_TIME2, scale]),
            DataType::DateTimeOffset(scale) => target.put(&[token::DATE_TIME_OFFSET, scale]),
            DataType::Char(n) => put_run(target, token::CHAR, n, Some(collation)),
            DataType::VarChar(l) => put_run(target, token::VAR_CHAR, bytes(l, 1), Some(collation)),
            DataType::NChar(n) => put_run(target, token::N_CHAR, n * 2, Some(collation)),
            DataType::NVarChar(l) => {
                put_run(target, token::N_VAR_CHAR, bytes(l, 2), Some(collation));
            }
            DataType::Text => put_long(target, token::TEXT, i32::MAX, Some(collation)),
            DataType::NText => put_long(target, token::N_TEXT, i32::MAX - 1, Some(collation)),
            DataType::Binary(n) => put_run(target, token::BINARY, n, None),
            DataType::VarBinary(l) => put_run(target, token::VAR_BINARY, bytes(l, 1), None),
            DataType::Image => put_long(target, token::IMAGE, i32::MAX, None),
            DataType::UniqueIdentifier => target.put(&[token::GUID, 16]),
            DataType::RowVersion => put_run(target, token::BINARY, 8, None),
            DataType::SqlVariant => {
                target.put(&[token::VARIANT]);
                target.put(&VARIANT_BYTES_MAX.to_le_bytes());
            }
            DataType::Xml => target.put(&[token::XML, 0]),
        }
    }
}

/// Returns the token of a type's fixed form (2.2.5.4.1), if it has one.
pub(crate) const fn fixed_token(data_type: DataType) -> Option<u8> {
    Some(match data_type {
        DataType::Bit => token::BIT,
        DataType::TinyInt => token::INT1,
        DataType::SmallInt => token::INT2,
        DataType::Int => token::INT4,
        DataType::BigInt => token::INT8,
        DataType::Money => token::MONEY,
        DataType::SmallMoney => token::SMALL_MONEY,
        DataType::Real => token::REAL,
        DataType::Float => token::FLOAT,
        DataType::DateTime => token::DATE_TIME,
        DataType::SmallDateTime => token::SMALL_DATE_TIME,
        _ => return None,
    })
}

/// Returns the type that a client of `version` gets for `data_type`: for a client without `(max)`
/// types, their predecessors.
fn downlevel(data_type: DataType, version: TdsVersion) -> DataType {
    if version.has_wide_fields() {
        return data_type;
    }
    match data_type {
        DataType::VarChar(Length::Max) => DataType::Text,
        DataType::NVarChar(Length::Max) | DataType::Xml => DataType::NText,
        DataType::VarBinary(Length::Max) => DataType::Image,
        other => other,
    }
}

fn form_of(data_type: DataType) -> Form {
    match data_type {
        DataType::Bit
        | DataType::TinyInt
        | DataType::SmallInt
        | DataType::Int
        | DataType::BigInt
        | DataType::Decimal { .. }
        | DataType::Money
        | DataType::SmallMoney
        | DataType::Real
        | DataType::Float
        | DataType::Date
        | DataType::Time(_)
        | DataType::DateTime
        | DataType::SmallDateTime
        | DataType::DateTime2(_)
        | DataType::DateTimeOffset(_)
        | DataType::UniqueIdentifier => Form::Byte,
        DataType::Char(_) | DataType::NChar(_) | DataType::Binary(_) | DataType::RowVersion => {
            Form::Short
        }
        DataType::VarChar(l) | DataType::NVarChar(l) | DataType::VarBinary(l) => match l {
            Length::Limited(_) => Form::Short,
            Length::Max => Form::Partial,
        },
        DataType::Text | DataType::NText | DataType::Image => Form::Long,
        DataType::SqlVariant => Form::Variant,
        DataType::Xml => Form::Partial,
    }
}

/// Most digits of a decimal.
const PRECISION_MAX: u8 = 38;
/// Most bytes of a decimal: a sign and 16 bytes.
const DECIMAL_BYTES_MAX: u8 = 17;

/// Returns the bytes of a decimal's value: a sign and 4 to 16 bytes (2.2.5.5.1.6).
pub(crate) const fn decimal_bytes(precision: u8) -> u8 {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        29..=u8::MAX => 17,
    }
}

fn scale(body: &mut Cursor<'_>, what: &'static str) -> Result<u8> {
    let scale = body.u8()?;
    if scale > 7 {
        return Err(ProtocolError::InvalidLength { what, length: scale.into() });
    }
    Ok(scale)
}

fn decimal(body: &mut Cursor<'_>) -> Result<DataType> {
    // The length is ignored: it follows from the precision, and some clients send a wrong one
    // (mssql-tds repeats the type's token in bulk loads); each value has its own length.
    let [_, precision, scale] = body.array()?;
    let invalid =
        |length: u8| ProtocolError::InvalidLength { what: "decimal", length: length.into() };
    if !matches!(precision, 1..=PRECISION_MAX) || scale > precision {
        return Err(invalid(precision));
    }
    Ok(DataType::Decimal { precision, scale })
}

/// Returns the type for a token that is shared by types of different sizes.
fn sized(code: u8, size: u8) -> Result<DataType> {
    let what = match (code, size) {
        // mssql-jdbc announces a NULL with a maximum length of 0.
        (token::GUID, 16 | 0) => return Ok(DataType::UniqueIdentifier),
        (token::INT_N, 1) => return Ok(DataType::TinyInt),
        (token::INT_N, 2) => return Ok(DataType::SmallInt),
        (token::INT_N, 4) => return Ok(DataType::Int),
        (token::INT_N, 8) => return Ok(DataType::BigInt),
        (token::BIT_N, 1) => return Ok(DataType::Bit),
        (token::FLOAT_N, 4) => return Ok(DataType::Real),
        (token::FLOAT_N, 8) => return Ok(DataType::Float),
        (token::MONEY_N, 4) => return Ok(DataType::SmallMoney),
        (token::MONEY_N, 8) => return Ok(DataType::Money),
        (token::DATE_TIME_N, 4) => return Ok(DataType::SmallDateTime),
        (token::DATE_TIME_N, 8) => return Ok(DataType::DateTime),
        (token::GUID, _) => "uniqueidentifier",
        (token::INT_N, _) => "int",
        (token::BIT_N, _) => "bit",
        (token::FLOAT_N, _) => "float",
        (token::MONEY_N, _) => "money",
        (_, _) => "datetime",
    };
    Err(ProtocolError::InvalidLength { what, length: size.into() })
}

/// Returns the type of a string or binary token with a length of two bytes.
pub(crate) fn run(code: u8, length: u16) -> Result<WireType> {
    let what = match code {
        token::CHAR => "char",
        token::VAR_CHAR => "varchar",
        token::N_CHAR => "nchar",
        token::N_VAR_CHAR => "nvarchar",
        token::BINARY => "binary",
        _ => "varbinary",
    };
    let can_be_max = matches!(code, token::VAR_CHAR | token::N_VAR_CHAR | token::VAR_BINARY);
    let is_max = length == PARTIAL && can_be_max;
    let is_unicode = matches!(code, token::N_CHAR | token::N_VAR_CHAR);
    if !is_max && (length > SHORT_BYTES_MAX || (is_unicode && !length.is_multiple_of(2))) {
        return Err(ProtocolError::InvalidLength { what, length: length.into() });
    }
    // Some drivers declare an empty string with length 0, which T-SQL does not have.
    let count = if is_unicode { (length / 2).max(1) } else { length.max(1) };
    let limit = if is_max { Length::Max } else { Length::Limited(count) };
    let data_type = match code {
        token::CHAR => DataType::Char(count),
        token::VAR_CHAR => DataType::VarChar(limit),
        token::N_CHAR => DataType::NChar(count),
        token::N_VAR_CHAR => DataType::NVarChar(limit),
        token::BINARY => DataType::Binary(count),
        _ => DataType::VarBinary(limit),
    };
    Ok(WireType::new(data_type, if is_max { Form::Partial } else { Form::Short }))
}

/// Skips the schema collection of an `xml` type (XML_INFO, 2.2.5.5.3).
fn skip_schema(body: &mut Cursor<'_>) -> Result<()> {
    match body.u8()? {
        0 => Ok(()),
        1 => {
            body.b_varchar()?;
            body.b_varchar()?;
            body.us_varchar().map(|_| ())
        }
        _ => Err(ProtocolError::InvalidValue("xml")),
    }
}

fn bytes(length: Length, unit: u16) -> u16 {
    match length {
        Length::Limited(count) => count * unit,
        Length::Max => PARTIAL,
    }
}

fn put_run(target: &mut impl Sink, code: u8, bytes: u16, collation: Option<Collation>) {
    let [low, high] = bytes.to_le_bytes();
    target.put(&[code, low, high]);
    put_collation(target, collation);
}

fn put_long(target: &mut impl Sink, code: u8, bytes: i32, collation: Option<Collation>) {
    target.put(&[code]);
    target.put(&bytes.to_le_bytes());
    put_collation(target, collation);
}

fn put_collation(target: &mut impl Sink, collation: Option<Collation>) {
    if let Some(collation) = collation {
        target.put(&collation.to_wire());
    }
}

/// The side that sends COLMETADATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// The server, for a result.
    Server,
    /// The client, for a bulk load: a table's name has one part in all versions (FreeTDS,
    /// SqlClient, tedious).
    Client,
}

/// Reads a column of COLMETADATA up to its name: user type, flags, type and, for the deprecated
/// large types, the table. Returns the type and the flags.
pub(crate) fn decode_column(
    body: &mut Cursor<'_>,
    version: TdsVersion,
    sender: Sender,
) -> Result<(WireType, u16)> {
    body.skip(if version.has_wide_fields() { 4 } else { 2 })?;
    let flags = body.u16()?;
    let mut wire = WireType::decode(body)?;
    wire.column_type.nullable = flags & 1 != 0;
    if wire.form == Form::Long {
        let has_parts = version.has_wide_fields() && sender == Sender::Server;
        let parts = if has_parts { body.u8()? } else { 1 };
        for _ in 0..parts {
            body.us_varchar()?;
        }
    }
    Ok((wire, flags))
}
