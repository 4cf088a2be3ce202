//! `sql_variant`: a value that is sent with its type ([MS-TDS] 2.2.5.5.4).
//!
//! ```text
//!   total: u32 │ type token │ properties: u8 │ its properties │ the value, to the end
//! ```

use types::data_type::{DataType, Length};
use types::{Collation, ColumnType, Value};

use super::{decode, encode};
use crate::cursor::Cursor;
use crate::error::{ProtocolError, Result};
use crate::sink::Sink;
use crate::wire_type::{VARIANT_BYTES_MAX, token};

/// Reads a variant with its type.
pub(crate) fn decode(body: &mut Cursor<'_>) -> Result<Value> {
    let total = body.u32()?;
    if total == 0 {
        return Ok(Value::Null);
    }
    let invalid = ProtocolError::InvalidLength { what: "sql_variant", length: total.into() };
    if !(2..=VARIANT_BYTES_MAX + 8).contains(&total) {
        return Err(invalid);
    }
    let [code, properties] = body.array()?;
    let total = usize::try_from(total).map_err(|_| invalid)?;
    let length = total.checked_sub(2 + usize::from(properties)).ok_or(invalid)?;
    let column_type = read_type(code, properties, body)?;
    let value = if decode::run_bytes_max(column_type.data_type).is_some() {
        decode::run(column_type.data_type, body.shared(length)?)?
    } else {
        decode::scalar(column_type.data_type, length, body)?
    };
    Ok(Value::Variant(Box::new((value, column_type))))
}

fn read_type(code: u8, properties: u8, body: &mut Cursor<'_>) -> Result<ColumnType> {
    let mut collation = Collation::default();
    let data_type = match (code, properties) {
        (token::INT1, 0) => DataType::TinyInt,
        (token::BIT, 0) => DataType::Bit,
        (token::INT2, 0) => DataType::SmallInt,
        (token::INT4, 0) => DataType::Int,
        (token::INT8, 0) => DataType::BigInt,
        (token::SMALL_DATE_TIME, 0) => DataType::SmallDateTime,
        (token::DATE_TIME, 0) => DataType::DateTime,
        (token::REAL, 0) => DataType::Real,
        (token::FLOAT, 0) => DataType::Float,
        (token::MONEY, 0) => DataType::Money,
        (token::SMALL_MONEY, 0) => DataType::SmallMoney,
        (token::GUID, 0) => DataType::UniqueIdentifier,
        (token::DATE, 0) => DataType::Date,
        (token::TIME, 1) => DataType::Time(scale(body)?),
        (token::DATE_TIME2, 1) => DataType::DateTime2(scale(body)?),
        (token::DATE_TIME_OFFSET, 1) => DataType::DateTimeOffset(scale(body)?),
        (token::DECIMAL_N | token::NUMERIC_N, 2) => {
            let [precision, scale] = body.array()?;
            if !(1..=38).contains(&precision) || scale > precision {
                return Err(ProtocolError::InvalidValue("sql_variant"));
            }
            DataType::Decimal { precision, scale }
        }
        (token::VAR_BINARY | token::BINARY, 2) => run_type(code, body.u16()?)?,
        (token::VAR_CHAR | token::CHAR | token::N_VAR_CHAR | token::N_CHAR, 7) => {
            collation = Collation::from_wire(body.array()?);
            run_type(code, body.u16()?)?
        }
        (_, _) => return Err(ProtocolError::InvalidValue("sql_variant")),
    };
    Ok(ColumnType { data_type, collation, nullable: true })
}

fn scale(body: &mut Cursor<'_>) -> Result<u8> {
    let scale = body.u8()?;
    (scale <= 7).then_some(scale).ok_or(ProtocolError::InvalidValue("sql_variant"))
}

fn run_type(code: u8, bytes: u16) -> Result<DataType> {
    crate::wire_type::run(code, bytes.min(crate::wire_type::SHORT_BYTES_MAX))
        .map(|wire| wire.column_type.data_type)
}

/// Writes a variant's content.
pub(crate) fn encode(target: &mut impl Sink, value: &Value, column_type: &ColumnType) {
    let mut content = Vec::with_capacity(32);
    put_type(&mut content, column_type);
    encode::put_bare(&mut content, column_type.data_type, value);
    let total = u32::try_from(content.len()).expect("a variant has at most 8,016 bytes");
    target.put(&total.to_le_bytes());
    target.put(&content);
}

fn put_type(content: &mut Vec<u8>, column_type: &ColumnType) {
    let data_type = column_type.data_type;
    let limit = |length: Length| match length {
        Length::Limited(count) => count,
        Length::Max => crate::wire_type::SHORT_BYTES_MAX,
    };
    let mut characters = |code: u8, bytes: u16| {
        content.extend_from_slice(&[code, 7]);
        content.extend_from_slice(&column_type.collation.to_wire());
        content.extend_from_slice(&bytes.to_le_bytes());
    };
    match data_type {
        DataType::Char(n) => return characters(token::CHAR, n),
        DataType::VarChar(l) => return characters(token::VAR_CHAR, limit(l)),
        DataType::NChar(n) => return characters(token::N_CHAR, n * 2),
        DataType::NVarChar(l) => return characters(token::N_VAR_CHAR, limit(l).min(4_000) * 2),
        _ => {}
    }
    let bytes = |code: u8, count: u16| {
        let [low, high] = count.to_le_bytes();
        vec![code, 2, low, high]
    };
    let head = match data_type {
        DataType::Bit => vec![token::BIT, 0],
        DataType::TinyInt => vec![token::INT1, 0],
        DataType::SmallInt => vec![token::INT2, 0],
        DataType::Int => vec![token::INT4, 0],
        DataType::BigInt => vec![token::INT8, 0],
        DataType::Decimal { precision, scale } => vec![token::DECIMAL_N, 2, precision, scale],
        DataType::Money => vec![token::MONEY, 0],
        DataType::SmallMoney => vec![token::SMALL_MONEY, 0],
        DataType::Real => vec![token::REAL, 0],
        DataType::Float => vec![token::FLOAT, 0],
        DataType::Date => vec![token::DATE, 0],
        DataType::Time(scale) => vec![token::TIME, 1, scale],
        DataType::DateTime => vec![token::DATE_TIME, 0],
        DataType::SmallDateTime => vec![token::SMALL_DATE_TIME, 0],
        DataType::DateTime2(scale) => vec![token::DATE_TIME2, 1, scale],
        DataType::DateTimeOffset(scale) => vec![token::DATE_TIME_OFFSET, 1, scale],
        DataType::UniqueIdentifier => vec![token::GUID, 0],
        DataType::Binary(n) => bytes(token::BINARY, n),
        DataType::RowVersion => bytes(token::BINARY, 8),
        DataType::VarBinary(l) => bytes(token::VAR_BINARY, limit(l)),
        DataType::Char(_)
        | DataType::VarChar(_)
        | DataType::NChar(_)
        | DataType::NVarChar(_)
        | DataType::Text
        | DataType::NText
        | DataType::Image
        | DataType::SqlVariant
        | DataType::Xml => panic!("a sql_variant holds no {data_type}"),
    };
    content.extend_from_slice(&head);
}
