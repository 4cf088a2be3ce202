//! Converts fields of text files to values of columns.

use std::borrow::Cow;

use files::option::{self, Options};
use types::value::ColumnType;
use types::{DataType, Length, Mode, Msg, Result, Value};

use crate::Cx;
use plan::stop::is_about_resources;

/// The place of a field, for messages.
#[derive(Clone, Copy)]
pub struct Place<'c> {
    /// Number of the row in the file, from 1.
    pub row: i64,
    /// Number of the column, from 1.
    pub column: i64,
    /// Name of the column.
    pub name: &'c str,
}

/// Converts a field for a column.
///
/// # Errors
/// 4863 for text that is too long, 4867 for a number that is too large, 4864 for text that is not a
/// value of the type; all with row and column.
pub fn converted(
    options: &Options,
    bytes: &[u8],
    at: Place<'_>,
    to: &ColumnType,
    cx: &Cx<'_>,
) -> Result<Value> {
    let Place { row, column, name } = at;
    value(options, bytes, to, cx).map_err(|error| match error.number {
        _ if is_about_resources(&error) => error,
        2_628 | 8_152 => Msg::BulkTruncation(row, column, name).into(),
        220 | 232 | 236 | 244 | 248 | 294 | 8_115 => Msg::BulkOverflow(row, column, name).into(),
        _ => Msg::BulkConversion(row, column, name).into(),
    })
}

fn value(options: &Options, bytes: &[u8], to: &ColumnType, cx: &Cx<'_>) -> Result<Value> {
    if let Some(number) = whole_number(bytes, to.data_type) {
        return Ok(number);
    }
    let text = options.decode(bytes, to)?;
    let is_binary =
        matches!(to.data_type, DataType::Binary(_) | DataType::VarBinary(_) | DataType::Image);
    if is_binary {
        let digits = text.strip_prefix("0x").unwrap_or(&text);
        let bytes = option::hex(digits).ok_or(Msg::InternalError)?;
        let from = ColumnType::nullable(DataType::VarBinary(Length::Max));
        let value = Value::VarBinary(types::Bytes::copy_from(&bytes));
        return types::convert(&value, &from, to, 0, Mode::Assignment, &cx.convert_options());
    }
    let mut from = cx.session.text_type();
    let value = match &text {
        // ASCII is the same in every code page.
        Cow::Borrowed(ascii) if is_text_or_number(to.data_type) => {
            let length = u16::try_from(ascii.len().max(1)).map_or(Length::Max, Length::Limited);
            from.data_type = DataType::VarChar(length);
            Value::varchar(ascii, from.collation)
        }
        _ => Value::nvarchar(&text),
    };
    types::convert(&value, &from, to, 0, Mode::Assignment, &cx.convert_options())
}

/// Digits of a number that always fits `int`, and of one that always fits `bigint`.
const INT_DIGITS: usize = 9;
const BIGINT_DIGITS: usize = 18;

/// Parses a field of few digits for `int` or `bigint`, the usual case. `None` for any other field,
/// which is converted as text.
fn whole_number(bytes: &[u8], to: DataType) -> Option<Value> {
    let digits_max = match to {
        DataType::Int => INT_DIGITS,
        DataType::BigInt => BIGINT_DIGITS,
        _ => return None,
    };
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    if digits.is_empty() || digits.len() > digits_max || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    let number = if digits.len() < bytes.len() { -number } else { number };
    match to {
        DataType::Int => i32::try_from(number).ok().map(Value::Int),
        _ => Some(Value::BigInt(number)),
    }
}

/// Returns true if `varchar` converts to a type exactly as `nvarchar` does.
fn is_text_or_number(to: DataType) -> bool {
    matches!(
        to,
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
            | DataType::Char(_)
            | DataType::VarChar(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_whole_numbers_are_read_and_nothing_else_is() {
        assert_eq!(whole_number(b"-123456789", DataType::Int), Some(Value::Int(-123_456_789)));
        assert_eq!(whole_number(b"0", DataType::BigInt), Some(Value::BigInt(0)));
        let most = whole_number(b"999999999999999999", DataType::BigInt);
        assert_eq!(most, Some(Value::BigInt(999_999_999_999_999_999)));
        for other in ["", "-", "+1", " 1", "1.0", "1e3", "1234567890", "--1", "x"] {
            assert_eq!(whole_number(other.as_bytes(), DataType::Int), None, "{other}");
        }
        assert_eq!(whole_number(b"1", DataType::SmallInt), None);
    }
}
