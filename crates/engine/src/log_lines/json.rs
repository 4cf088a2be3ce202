//! Parts of a JSON text.

use std::fmt::Write as _;

use types::convert::Mode;
use types::value::ColumnType;
use types::{Collation, ConvertOptions, DataType, Length, Value};

/// Units of 100 ns in a second.
const SECOND: u64 = 10_000_000;

/// Returns a string with its quotes.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns bytes as a string of hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::from("\"0x");
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text.push('"');
    text
}

/// Returns a value: a number, true or false, null, or a string.
pub(super) fn value(value: &Value, of: &ColumnType) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bit(bit) => bit.to_string(),
        Value::TinyInt(n) => n.to_string(),
        Value::SmallInt(n) => n.to_string(),
        Value::Int(n) => n.to_string(),
        Value::BigInt(n) => n.to_string(),
        Value::VarBinary(bytes) => hex(bytes),
        other => match other.as_text(of.collation) {
            Some(text) => quote(&text),
            None => quote(&converted(other, of)),
        },
    }
}

/// Returns a value as CONVERT shows it with all its digits.
fn converted(value: &Value, of: &ColumnType) -> String {
    let target = ColumnType {
        data_type: DataType::NVarChar(Length::Limited(4_000)),
        collation: Collation::default(),
        nullable: true,
    };
    let style = match of.data_type {
        // All digits, so that the number comes back.
        DataType::Real | DataType::Float => 3,
        DataType::Money | DataType::SmallMoney => 2,
        // As ISO 8601 has it.
        _ => 126,
    };
    let to = |style| {
        types::convert(value, of, &target, style, Mode::Explicit, &ConvertOptions::default())
    };
    // Types without styles know 0 only.
    let text = to(style).or_else(|_| to(0)).ok().and_then(|text| text.as_text(target.collation));
    text.unwrap_or_else(|| format!("{value:?}"))
}

/// Returns a time in UTC, given in units of 100 ns since 0001-01-01.
pub(super) fn time(utc_100ns: u64) -> String {
    let (days, rest) = (utc_100ns / (86_400 * SECOND), utc_100ns % (86_400 * SECOND));
    let days = i32::try_from(days).unwrap_or(i32::MAX);
    let ticks = i64::try_from(rest).unwrap_or_default();
    let data_type = DataType::DateTime2(7);
    let of = ColumnType { data_type, collation: Collation::default(), nullable: false };
    format!("{}Z", converted(&Value::DateTime2 { days, ticks }, &of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_iso_8601_in_utc() {
        assert_eq!(time(0), "0001-01-01T00:00:00.0000000Z");
        let noon = (730_178 * 86_400 + 43_200) * SECOND + 1;
        assert_eq!(time(noon), "2000-02-29T12:00:00.0000001Z");
    }

    #[test]
    fn values_are_json() {
        let of =
            |data_type| ColumnType { data_type, collation: Collation::default(), nullable: true };
        let int = of(DataType::Int);
        assert_eq!(value(&Value::Null, &int), "null");
        assert_eq!(value(&Value::Int(-7), &int), "-7");
        let text = of(DataType::NVarChar(Length::Max));
        assert_eq!(value(&Value::nvarchar("a\"\n"), &text), "\"a\\\"\\u000a\"");
        let binary = of(DataType::VarBinary(Length::Max));
        assert_eq!(
            value(&Value::VarBinary(types::Bytes::copy_from(&[1, 254])), &binary),
            "\"0x01fe\""
        );
        let float = of(DataType::Float);
        assert_eq!(value(&Value::Float(0.1), &float), "\"1.0000000000000001e-001\"");
    }
}
